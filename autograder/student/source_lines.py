"""Finds where a module's line comes from: a line in a file, or a line in a notebook's cell."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import SubmissionError
from ..submission.notebook import cells_of, notebook_of, source_of
from ..submission.text import first_line_of
from .own_lines import Locate


def locator(path: Path, text: str) -> Locate:
    """Returns a function that locates lines of `text`, a module, in the file at `path`."""
    lines = text.splitlines()

    def locate(filename: str, line: int) -> tuple[str, str]:
        source = "".join(lines[line - 1 : line]).strip()
        if path.suffix != ".ipynb":
            return f"{path.name}:{line}", source
        cell = _cell_of(path, text, line)
        return f"{path.name}, {cell}" if cell else path.name, source

    return locate


def _cell_of(path: Path, text: str, line: int) -> str:
    """Returns the place of a module's line in its notebook, such as "cell In[4], line 3".

    Searches the cells for the statement that contains the line.
    """
    statement, first = _statement_at(text, line)
    for name, source in reversed(_cells(path, path.stat().st_mtime_ns)):
        before, found, _ = source.partition(statement)
        if statement and found:
            return f"{name}, line {before.count(chr(10)) + line - first + 1}"
    return ""


def _statement_at(text: str, line: int) -> tuple[str, int]:
    """Returns the text of the top-level statement at a line, and the number of its first line."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        body = []
    lines = text.splitlines()
    for node in body:
        first = first_line_of(node)
        if first <= line <= (node.end_lineno or node.lineno):
            return "\n".join(lines[first - 1 : node.end_lineno]), first
    return "".join(lines[line - 1 : line]), line


@lru_cache(maxsize=8)
def _cells(path: Path, changed: int) -> tuple[tuple[str, str], ...]:
    """Returns the name of each code cell, such as `cell In[4]`, and the cell's source."""
    try:
        cells = cells_of(notebook_of(path.read_bytes())[0])
    except (OSError, SubmissionError):
        return ()
    code = [cell for cell in cells if cell.get("cell_type") == "code"]
    return tuple(
        (_name(cell, n), source_of(cell).replace("\r\n", "\n")) for n, cell in enumerate(code, 1)
    )


def _name(cell: dict[str, Any], number: int) -> str:
    count = cell.get("execution_count")
    return f"cell In[{count}]" if isinstance(count, int) else f"code cell {number}"
