"""Converts a notebook to a module: the Python of its code cells, in order.

Magic lines are left out, and a cell that is not valid Python affects only its own question. As for
any module, `worker/statements.py` decides which statements are executed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import SubmissionError
from ..untrusted_json import read_untrusted_json
from .cells import CodeCell, module_text, names_defined_in, read_cells
from .magic import is_other_language
from .near_names import hints
from .opened import check_cells, check_code, check_json
from .text import Statement, decoded, is_surely_defined, parsed, statements_of, without_copies

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class NotebookModule:
    """The module text of a notebook.

    `broken` maps names in invalid cells to the error; `hints` maps missing questions to the reason
    why they may be missing.
    """

    text: str
    broken: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)


class GivenCells:
    """The cells of a released notebook, which all students get, parsed once for a whole class.

    A submitted notebook contains all of them, but its answers need only a few.
    """

    def __init__(self, data: bytes = b"", questions: Collection[str] = ()) -> None:
        """`data` is the released notebook; cells that define `questions` do not count as given."""
        self._statements: dict[str, list[Statement]] = {}
        cells = code_cells(notebook_of(data)[0]) if data else []
        for cell in cells:
            if cell.is_whole and not set(names_defined_in(cell.source)) & set(questions):
                self._statements[cell.source] = cell.statements

    def __contains__(self, source: str) -> bool:
        return source in self._statements

    def needed(self, sources: Sequence[str], words: set[str]) -> list[str]:
        """Returns the texts of given cells, without the statements that no other code needs.

        `words` are all words in the student's own cells; the names that kept statements read are
        added to `words`.
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
    """Returns a notebook as a module that answers `names`.

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

    Given cells are reduced to what the other cells need. Also raises `RecursionError` for code that
    is nested too deeply.
    """
    sources = [source_of(cell) for cell in cells_of(document) if cell.get("cell_type") == "code"]
    if given is None:
        check_code(sources)
        return read_cells(sources)
    own = [source for source in sources if source not in given and source]
    check_code(own)
    # An empty cell marks the position of each given one.
    cells = read_cells([source if source not in given else "" for source in sources if source])
    places = [cell for cell in cells if not cell.source]
    words = set[str]().union(*map(_WORD.findall, own))
    texts = given.needed([source for source in sources if source in given], words)
    for cell, text in zip(places, texts, strict=True):
        cell.text = text
    return cells


def notebook_of(data: bytes) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns a notebook's document and notes on its encoding.

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
            f"is not a notebook, or only a part of one (not valid JSON: {error}); save it in "
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
    """Returns the cells of a notebook of any format; formats 2 and 3 keep them in worksheets."""
    return [cell for cell in _cells(document) or () if isinstance(cell, dict)]


def _cells(document: dict[str, Any]) -> list[Any] | None:
    cells, sheets = document.get("cells"), document.get("worksheets")
    if cells is None and isinstance(sheets, list):
        found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for some in found if isinstance(some, list) for cell in some]
    return cells if isinstance(cells, list) else None


def source_of(cell: dict[str, Any]) -> str:
    """Returns a cell's source, which may be a string or a list of lines."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    text = source if isinstance(source, str) else ""
    return text.encode("utf-8", "replace").decode()  # a lone surrogate can't be written to a file
