"""Repairs of accidents in Jupyter that would end nbgrader's run; here they cost a cell at most."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import DeduplicateIds, OverwriteCells


class ForgetDuplicateIds(DeduplicateIds):  # type: ignore[misc]  # nbgrader ships no types
    """Removes the ids of copied cells, so that only the last copy keeps its id.

    nbgrader's own step leaves empty metadata, which its check then refuses.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Removes empty metadata; nbgrader calls it for each cell, the last one first."""
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.metadata.get("nbgrader") == {}:
            del cell.metadata["nbgrader"]
        return cell, resources


class RestoreCells(OverwriteCells):  # type: ignore[misc]  # nbgrader ships no types
    """Restores the type of a changed cell, such as a test that was turned into Markdown.

    nbgrader tries to do so, but then refuses cells without ids, as in notebooks of nbformat 4.0 to
    4.4.
    """

    def update_cell_type(self, cell: NotebookNode, cell_type: str) -> None:
        """Changes a cell's type; nbgrader calls it if the type differs from the released one."""
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
