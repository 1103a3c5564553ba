"""Converts code cells to Python; an invalid statement affects no other statement."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .magic import python_of
from .text import (
    NOT_PYTHON,
    Statement,
    compiled,
    explained,
    fault_of,
    parsed,
    statements_of,
    with_unix_lines,
)

_DEFINITION = re.compile(r"^[ \t]*+(?:async[ \t]++)?(?:def|class)[ \t]++([^\W\d]\w*)", re.MULTILINE)
#: the maximum number of cells that are joined with the previous cell, and the maximum length of a
#: joined cell
_MOST_JOINS, _LONGEST_JOIN = 20, 20_000
#: names whose meaning differs between a cell and a module
_SPECIAL = ("__name__", "__future__")


@dataclass(slots=True)
class CodeCell:
    """One cell: its valid Python, and the names that its invalid statements would have defined."""

    source: str
    text: str = ""
    broken: dict[str, str] = field(default_factory=dict)
    is_whole: bool = True

    @property
    def statements(self) -> list[Statement]:
        """The statements of the cell's valid Python."""
        return statements_of(self.text, parsed(self.text).body)


def read_cells(sources: Iterable[str]) -> list[CodeCell]:
    """Returns the cells in order; a definition that was split across two cells is joined again."""
    cells: list[CodeCell] = []
    joins = 0
    for source in sources:
        cell = _cell(source)
        if joins < _MOST_JOINS and cells and _continues(cells[-1], cell):
            joins += 1
            joined = _cell(f"{cells[-1].source}\n{source}")
            if joined.is_whole:
                cells[-1] = joined
                continue
        cells.append(cell)
    return cells


def module_text(cells: Sequence[CodeCell]) -> str:
    """Returns all valid Python of the cells, with `__future__` imports first, as in any module."""
    text = "\n\n".join(cell.text for cell in cells if cell.text) + "\n"
    if "__future__" not in text:
        return text
    statements = [statement for cell in cells for statement in cell.statements]
    ordered = sorted(statements, key=lambda statement: not statement.is_future)
    return "\n\n".join(statement.text for statement in ordered) + "\n"


def _continues(one: CodeCell, next_: CodeCell) -> bool:
    """Returns whether a cell looks like the rest of the previous one."""
    is_indented = next_.source.lstrip("\r\n")[:1] in (" ", "\t")
    is_short = len(one.source) + len(next_.source) <= _LONGEST_JOIN
    return is_indented and is_short and not next_.is_whole


def _cell(source: str) -> CodeCell:
    text = with_unix_lines(source)
    # the usual case: the cell contains nothing that only notebooks have
    if not any(word in text for word in _SPECIAL) and compiled(text) is None:
        return CodeCell(source, text)
    text = python_of(source)
    try:
        statements = list(_with_guarded(statements_of(text, parsed(text).body)))
    except NOT_PYTHON as error:
        broken = dict.fromkeys(names_defined_in(text), explained(error))
        return CodeCell(source, broken=broken, is_whole=False)
    return _without_faults(CodeCell(source, text), statements)


def _with_guarded(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yields statements, and the body of `if __name__ == "__main__":` instead of the `if`."""
    for statement in statements:
        match statement.node:
            case ast.If(
                ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]), body
            ):
                yield from (Statement(node, ast.unparse(node)) for node in body)
            case _:
                yield statement


def _without_faults(cell: CodeCell, statements: Sequence[Statement]) -> CodeCell:
    valid = []
    cell.is_whole = fault_of([statement.node for statement in statements]) is None
    for statement in statements:
        fault = None if cell.is_whole else fault_of([statement.node])
        if fault is None:
            valid.append(statement.text)
        elif not isinstance(statement.node, ast.Expr):
            cell.broken.update(dict.fromkeys(statement.binds, explained(fault)))
    cell.text = "\n".join(valid)
    return cell


def names_defined_in(text: str) -> list[str]:
    """Returns the names that follow `def` and `class`, even if the text is not valid Python."""
    return _DEFINITION.findall(text)
