"""Creates notebooks as plain JSON that is formatted the same way on every machine."""

from __future__ import annotations

import json
from typing import Any

import nbformat

Cell = dict[str, Any]
Notebook = dict[str, Any]

_METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def code_cell(name: str, source: str, metadata: dict[str, Any] | None = None) -> Cell:
    """Returns a code cell that has not been run; `name` is its id."""
    return {
        **markdown_cell(name, source, metadata),
        "cell_type": "code",
        "execution_count": None,
        "outputs": [],
    }


def markdown_cell(name: str, source: str, metadata: dict[str, Any] | None = None) -> Cell:
    """Returns a Markdown cell; `name` is its id."""
    return {"cell_type": "markdown", "id": name, "metadata": metadata or {}, "source": source}


def notebook_of(cells: list[Cell]) -> Notebook:
    """Returns a notebook that any version of the Python kernel can run."""
    return {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}


def notebook_json(notebook: Notebook) -> str:
    """Formats a notebook without outputs; keys are sorted, and source is split into lines."""
    cells = [_as_lines(cell) for cell in notebook["cells"]]
    document = notebook_of(cells)
    nbformat.validate(document)
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _as_lines(cell: Cell) -> Cell:
    cell = {**cell, "source": "".join(cell["source"]).splitlines(keepends=True)}
    if cell["cell_type"] == "code":
        cell |= {"outputs": [], "execution_count": None}
    return cell
