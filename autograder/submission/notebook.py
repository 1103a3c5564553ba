"""From a notebook to a module: the definitions of the questions and all that they need.

Only what the answers need is executed. Plots, prints, experiments and magic lines stay out, and a
cell that is not valid Python costs its own question only.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import SubmissionError
from .bounds import check_cells, check_code, check_json
from .cells import CodeCell, names_defined_in, read_cells
from .closure import needed
from .similar import hints
from .text import decoded


@dataclass(frozen=True, slots=True)
class NotebookModule:
    """The module text of a notebook.

    `broken` maps names in invalid cells to what is wrong; `hints` maps questions that are not
    there to what may have become of them.
    """

    text: str
    broken: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict)


def module_of_notebook(data: bytes, names: Sequence[str]) -> NotebookModule:
    """The module that answers `names`; raises `SubmissionError` for what is not a notebook."""
    document, notes = notebook_of(data)
    every = cells_of(document)
    try:
        cells = code_cells(document)
        statements = [statement for cell in cells for statement in cell.statements]
        chosen = needed(statements, names)
    except RecursionError as error:
        raise SubmissionError("holds code that is nested too deeply; take it apart") from error
    broken = {name: text for cell in cells for name, text in cell.broken.items()}
    defined = {name for statement in chosen for name in statement.binds}
    others = {name for cell in cells for s in cell.statements for name in s.defines}
    elsewhere = [
        name
        for cell in every
        if cell.get("cell_type") != "code"
        for name in names_defined_in(source_of(cell))
    ]
    missing = [name for name in names if name not in defined and name not in broken]
    return NotebookModule(
        "\n\n".join(statement.text for statement in chosen) + "\n",
        {name: text for name, text in broken.items() if name not in defined},
        notes,
        hints(missing, others - set(names), elsewhere),
    )


def code_cells(document: dict[str, Any]) -> list[CodeCell]:
    """The code cells of a notebook, read; raises `SubmissionError` for what is out of bounds.

    Also `RecursionError` for code that is nested too deeply.
    """
    sources = [source_of(cell) for cell in cells_of(document) if cell.get("cell_type") == "code"]
    check_code(sources)
    return read_cells(sources)


def notebook_of(data: bytes) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The document and notes on how it was read; raises `SubmissionError` for no notebook."""
    if not data.strip():
        raise SubmissionError("is empty; save the notebook in Jupyter and submit it again")
    text, notes = _decoded(data)
    check_json(data, text)
    try:
        document = _loaded(text)
    except (ValueError, RecursionError) as error:
        raise SubmissionError(
            f"is not a notebook, or only a part of one (no valid JSON: {error}); save it in "
            "Jupyter and submit the .ipynb file"
        ) from error
    cells = _cells(document) if isinstance(document, dict) else None
    if cells is None:
        raise SubmissionError("is not a notebook (it has no cells); submit the .ipynb file")
    check_cells(len(cells))
    return document, notes


def _loaded(text: str) -> Any:
    """The document, of which nothing is garbage: looking for some would take most of the time."""
    looks = gc.isenabled()
    gc.disable()
    try:
        return json.loads(text)
    finally:
        if looks:
            gc.enable()


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    try:  # as all notebooks should be; a coding line means nothing in JSON
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return decoded(data)


def cells_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells of a notebook of any format; 2 and 3 keep them in worksheets."""
    return [cell for cell in _cells(document) or () if isinstance(cell, dict)]


def _cells(document: dict[str, Any]) -> list[Any] | None:
    cells, sheets = document.get("cells"), document.get("worksheets")
    if cells is None and isinstance(sheets, list):
        found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for some in found if isinstance(some, list) for cell in some]
    return cells if isinstance(cells, list) else None


def source_of(cell: dict[str, Any]) -> str:
    """A cell's source, which the format allows to be a text or a list of lines."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    text = source if isinstance(source, str) else ""
    return text.encode("utf-8", "replace").decode()  # a lone surrogate can't be written again
