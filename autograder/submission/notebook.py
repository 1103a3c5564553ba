"""From a notebook to a module: the definitions of the questions and all that they need.

Only what the answers need is executed. Plots, prints, experiments and magic lines stay out, and a
cell that is no valid Python costs its own question only.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import SubmissionError
from .closure import Statement, needed

_DEFINITION = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+([A-Za-z_]\w*)", re.MULTILINE)
_MAGIC_LINE = re.compile(r"^(\s*)(?:[%!?].*|.*[^#'\"\s]\s*\?{1,2}\s*)$")
#: cell magics whose body is still Python of this notebook
_TRANSPARENT = ("%%time", "%%timeit", "%%capture", "%%prun")


@dataclass(frozen=True, slots=True)
class NotebookModule:
    """The module text of a notebook; `broken` maps names in invalid cells to what is wrong."""

    text: str
    broken: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def module_of_notebook(data: bytes, names: Sequence[str]) -> NotebookModule:
    """The module that answers `names`; raises `SubmissionError` for bytes that are no notebook."""
    statements: list[Statement] = []
    broken: dict[str, str] = {}
    for source in _code_cells(data):
        text = _without_magic(source)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            for name in _DEFINITION.findall(text):
                broken[name] = _what_is_wrong(error)
            continue
        statements += [Statement(node, ast.get_source_segment(text, node)) for node in tree.body]
    chosen = needed(statements, names)
    defined = {name for statement in chosen for name in statement.binds}
    return NotebookModule(
        "\n\n".join(statement.text for statement in chosen) + "\n",
        {name: text for name, text in broken.items() if name not in defined},
    )


def _code_cells(data: bytes) -> list[str]:
    """Sources of the code cells, of notebook format 3 or 4."""
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SubmissionError(
            "is not a notebook (no valid JSON): save it in Jupyter and hand in the .ipynb file"
        ) from error
    cells = document.get("cells") if isinstance(document, dict) else None
    if cells is None and isinstance(document, dict):  # format 3 keeps cells in worksheets
        sheets = document.get("worksheets")
        if isinstance(sheets, list):
            cells = [
                cell
                for sheet in sheets
                if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
                for cell in sheet["cells"]
            ]
    if not isinstance(cells, list):
        raise SubmissionError("is not a notebook (it has no cells): hand in the .ipynb file")
    return [_source(cell) for cell in cells if _is_code(cell)]


def _is_code(cell: Any) -> bool:
    return isinstance(cell, dict) and cell.get("cell_type") == "code"


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def _without_magic(source: str) -> str:
    """The cell as Python: magic and shell lines become `pass`, other languages' cells nothing."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        if lines[first].split()[0] not in _TRANSPARENT:
            return ""
        lines[first] = ""
    text = "\n".join(lines)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # only now: a line that starts with % may also go on an expression
        return "\n".join(_MAGIC_LINE.sub(r"\1pass", line) for line in lines)
    return text


def _what_is_wrong(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        line = (error.text or "").strip()
        return f"SyntaxError: {error.msg}, at: {line[:120]}"
    return f"the cell is not valid Python: {error}"
