"""Accidents in Jupyter that end nbgrader's run, and here cost their own cell at most."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import DeduplicateIds, OverwriteCells


class ForgetDuplicateIds(DeduplicateIds):  # type: ignore[misc]  # nbgrader ships no types
    """A cell that a student has copied: only the last one keeps its name.

    nbgrader's step leaves empty metadata behind, which its own check refuses afterwards.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Called by nbgrader for each cell, the last one first."""
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.metadata.get("nbgrader") == {}:
            del cell.metadata["nbgrader"]
        return cell, resources


class RestoreCells(OverwriteCells):  # type: ignore[misc]  # nbgrader ships no types
    """A cell whose type was changed, such as a test that was turned into Markdown, is turned back.

    nbgrader means to do so, and then refuses cells without ids, which notebooks of nbformat 4.0 to
    4.4 do not have.
    """

    def update_cell_type(self, cell: NotebookNode, cell_type: str) -> None:
        """Called by nbgrader for a cell whose type is not the released one."""
        before = cell.cell_type
        if before == cell_type:
            return
        cell.cell_type = cell_type
        for name, value in (("outputs", []), ("execution_count", None)):
            if cell_type == "code":
                cell[name] = value
            else:
                cell.pop(name, None)
        name = cell.metadata.nbgrader["grade_id"]
        self.log.warning(
            "look at the cell %s: it was turned into a %s cell, and counts as a %s cell",
            *(name, before, cell_type),
        )
