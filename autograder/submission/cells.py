"""Code cells become statements; a statement that is not valid Python breaks nothing but itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .bounds import check_statements
from .magic import python_of
from .remedies import explained
from .statement import Statement, statements_of
from .text import NOT_PYTHON, fault_of, parsed

_DEFINITION = re.compile(r"^[ \t]*+(?:async[ \t]++)?(?:def|class)[ \t]++([^\W\d]\w*)", re.MULTILINE)
#: how often a cell is tried together with the one before, and how long both may be: it is rare
_MOST_JOINS, _LONGEST_JOIN = 20, 20_000


@dataclass(slots=True)
class CodeCell:
    """One cell: its valid statements, and the names that its broken ones were to define."""

    source: str
    statements: list[Statement] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    is_whole: bool = True


def read_cells(sources: Iterable[str]) -> list[CodeCell]:
    """The cells in their order; a definition that was split across two cells is joined again.

    Raises `SubmissionError` for more statements than people write.
    """
    cells: list[CodeCell] = []
    joins = 0
    for source in sources:
        cell = _cell(source)
        if joins < _MOST_JOINS and cells and _goes_on(cells[-1], cell):
            joins += 1
            joined = _cell(f"{cells[-1].source}\n{source}")
            if joined.is_whole:
                cells[-1] = joined
                continue
        cells.append(cell)
    check_statements(sum(len(cell.statements) for cell in cells))
    return cells


def _goes_on(one: CodeCell, next_: CodeCell) -> bool:
    """Whether a cell looks like the rest of the one before."""
    is_indented = next_.source.lstrip("\r\n")[:1] in (" ", "\t")
    is_short = len(one.source) + len(next_.source) <= _LONGEST_JOIN
    return is_indented and is_short and not next_.is_whole


def _cell(source: str) -> CodeCell:
    text = python_of(source)
    try:
        statements = _with_guarded(statements_of(text, parsed(text).body))
    except NOT_PYTHON as error:
        broken = dict.fromkeys(names_defined_in(text), explained(error))
        return CodeCell(source, broken=broken, is_whole=False)
    return _without_faults(CodeCell(source), statements)


def _with_guarded(statements: Iterable[Statement]) -> list[Statement]:
    """Below `if __name__ == "__main__":` everything is executed in a notebook."""
    found: list[Statement] = []
    for statement in statements:
        match statement.node:
            case ast.If(
                ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]), body
            ):
                found += [Statement(node, ast.unparse(node)) for node in body]
            case _:
                found.append(statement)
    return found


def _without_faults(cell: CodeCell, statements: Sequence[Statement]) -> CodeCell:
    if fault_of([statement.node for statement in statements]) is None:
        cell.statements = list(statements)
        return cell
    cell.is_whole = False
    for statement in statements:
        fault = fault_of([statement.node])
        if fault is None:
            cell.statements.append(statement)
        elif not isinstance(statement.node, ast.Expr):
            cell.broken.update(dict.fromkeys(statement.binds, explained(fault)))
    return cell


def names_defined_in(text: str) -> list[str]:
    """Names that stand behind `def` and `class`, whatever surrounds them."""
    return _DEFINITION.findall(text)
