"""Converts a notebook to a module, which contains the Python code of its code cells, in order.

Magic lines are left out, and a cell that is not valid Python affects only its own question. As with
any module, `worker/statements.py` decides which statements are executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import SubmissionError
from ..untrusted_json import read_untrusted_json
from .magic import is_other_language, python_of
from .near_names import hints
from .opened import check_cells, check_code, check_json
from .text import (
    NOT_PYTHON,
    Statement,
    compiled,
    decoded,
    explained,
    fault_of,
    is_surely_defined,
    parsed,
    statements_of,
    with_unix_lines,
    without_copies,
)

_WORD = re.compile(r"\w+")
_DEFINITION = re.compile(r"^[ \t]*+(?:async[ \t]++)?(?:def|class)[ \t]++([^\W\d]\w*)", re.MULTILINE)
#: how many cells may be joined with the previous cell, and how many characters a joined cell may
#: have
_MOST_JOINS, _LONGEST_JOIN = 20, 20_000
#: names that have a different meaning in a cell than in a module
_SPECIAL = ("__name__", "__future__")


@dataclass(frozen=True, slots=True)
class NotebookModule:
    """A notebook as the text of a module.

    `broken` maps names that are defined in invalid cells to the cells' errors; `hints` maps missing
    questions to possible reasons.
    """

    text: str
    broken: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)


class GivenCells:
    """The cells that all students get in a released notebook, parsed only once for the whole class.

    A submitted notebook contains all given cells, but its answers need only a few of them.
    """

    def __init__(self, data: bytes = b"", questions: Collection[str] = ()) -> None:
        """`data` is the released notebook. Cells that define `questions` do not count as given."""
        self._statements: dict[str, list[Statement]] = {}
        cells = code_cells(notebook_of(data)[0]) if data else []
        for cell in cells:
            if cell.is_whole and not set(names_defined_in(cell.source)) & set(questions):
                self._statements[cell.source] = cell.statements

    def __contains__(self, source: str) -> bool:
        return source in self._statements

    def needed(self, sources: Sequence[str], words: set[str]) -> list[str]:
        """Returns the given cells as strings, without the statements that no other code needs.

        `words` contains all words in the student's own cells; names that the kept statements use
        are added to `words`.
        """
        texts: list[str] = []
        for source in reversed(sources):
            kept = []
            for statement in reversed(self._statements[source]):
                names = statement.names
                written = statement.binds | names.sets | names.asked
                if statement.is_future or statement.is_star_import or written & words:
                    kept.append(statement.text)
                    words |= names.reads
            texts.append("\n".join(reversed(kept)))
        return texts[::-1]


_NONE_GIVEN = GivenCells()


def module_of_notebook(
    data: bytes, names: Sequence[str], given: GivenCells = _NONE_GIVEN
) -> NotebookModule:
    """Converts a notebook to a module with the answers to the questions in `names`.

    Raises `SubmissionError` if `data` is not a notebook, or exceeds a limit.
    """
    document, notes = notebook_of(data)
    try:
        cells = code_cells(document, given)
        text, copies = without_copies(module_text(cells), names)
        broken = {name: fault for cell in cells for name, fault in cell.broken.items()}
        if not broken and all(is_surely_defined(name, text) for name in names):
            return NotebookModule(text, notes=(*notes, *copies))
        statements = statements_of(text, parsed(text).body)
    except RecursionError as error:
        raise SubmissionError("contains code that is nested too deeply; simplify it") from error
    defined = {name for statement in statements for name in statement.binds}
    return NotebookModule(
        text,
        {name: fault for name, fault in broken.items() if name not in defined},
        (*notes, *copies),
        _hints(document, statements, [n for n in names if n not in defined | broken.keys()], names),
    )


def _hints(
    document: dict[str, Any],
    statements: Sequence[Statement],
    missing: Sequence[str],
    names: Sequence[str],
) -> dict[str, str]:
    if not missing:
        return {}
    others = {name for statement in statements for name in statement.defines}
    no_code: list[str] = []
    by_magic: dict[str, str] = {}
    for cell in cells_of(document):
        source = source_of(cell)
        if cell.get("cell_type") != "code":
            no_code += names_defined_in(source)
        elif magic := is_other_language(source):
            by_magic |= dict.fromkeys(names_defined_in(source), magic)
    return hints(missing, others - set(names), no_code, by_magic)


def code_cells(document: dict[str, Any], given: GivenCells | None = None) -> list[CodeCell]:
    """Reads the code cells of a notebook; raises `SubmissionError` if they exceed the limits.

    In given cells, keeps only the statements that other cells need. Also raises `RecursionError`
    for code that is nested too deeply.
    """
    sources = [source_of(cell) for cell in cells_of(document) if cell.get("cell_type") == "code"]
    if given is None:
        check_code(sources)
        return read_cells(sources)
    own = [source for source in sources if source not in given and source]
    check_code(own)
    # An empty cell marks the position of each given cell.
    cells = read_cells([source if source not in given else "" for source in sources if source])
    places = [cell for cell in cells if not cell.source]
    words = set[str]().union(*map(_WORD.findall, own))
    texts = given.needed([source for source in sources if source in given], words)
    for cell, text in zip(places, texts, strict=True):
        cell.text = text
    return cells


def notebook_of(data: bytes) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns a notebook's document and notes about its encoding.

    Raises `SubmissionError` if the file is not a notebook or has too many cells.
    """
    if not data.strip():
        raise SubmissionError("is empty; save the notebook in Jupyter and submit it again")
    text, notes = _decoded(data)
    check_json(data, text)
    try:
        document = read_untrusted_json(text)
    except ValueError as error:
        raise SubmissionError(
            f"is not a notebook, or is only part of one (not valid JSON: {error}); save it in "
            "Jupyter and submit the .ipynb file"
        ) from error
    cells = _cells(document) if isinstance(document, dict) else None
    if cells is None:
        raise SubmissionError("is not a notebook (it has no cells); submit the .ipynb file")
    check_cells(len(cells))
    return document, notes


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    try:  # notebooks should be in UTF-8, and JSON has no coding line
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return decoded(data)


def cells_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the cells of a notebook in any format; formats 2 and 3 keep them in worksheets."""
    return [cell for cell in _cells(document) or () if isinstance(cell, dict)]


def _cells(document: dict[str, Any]) -> list[Any] | None:
    cells, sheets = document.get("cells"), document.get("worksheets")
    if cells is None and isinstance(sheets, list):
        found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for some in found if isinstance(some, list) for cell in some]
    return cells if isinstance(cells, list) else None


def source_of(cell: dict[str, Any]) -> str:
    """Returns a cell's source as a string; a notebook may store it as a list of lines."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    text = source if isinstance(source, str) else ""
    return text.encode("utf-8", "replace").decode()  # files can't contain lone surrogates


@dataclass(slots=True)
class CodeCell:
    """A cell's valid Python, and the names that its invalid statements would have defined."""

    source: str
    text: str = ""
    broken: dict[str, str] = field(default_factory=dict)
    is_whole: bool = True

    @property
    def statements(self) -> list[Statement]:
        return statements_of(self.text, parsed(self.text).body)


def read_cells(sources: Iterable[str]) -> list[CodeCell]:
    """Returns the cells in order; joins cells if a definition was split across them."""
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
    """Returns all valid Python in the cells, with `__future__` imports first, as in any module."""
    text = "\n\n".join(cell.text for cell in cells if cell.text) + "\n"
    if "__future__" not in text:
        return text
    statements = [statement for cell in cells for statement in cell.statements]
    ordered = sorted(statements, key=lambda statement: not statement.is_future)
    return "\n\n".join(statement.text for statement in ordered) + "\n"


def _continues(one: CodeCell, next_: CodeCell) -> bool:
    """Returns whether a cell looks like the rest of the previous cell."""
    is_indented = next_.source.lstrip("\r\n")[:1] in (" ", "\t")
    is_short = len(one.source) + len(next_.source) <= _LONGEST_JOIN
    return is_indented and is_short and not next_.is_whole


def _cell(source: str) -> CodeCell:
    text = with_unix_lines(source)
    # the usual case: plain Python
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
    """Yields statements; for `if __name__ == "__main__":`, yields only the statements inside it."""
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
