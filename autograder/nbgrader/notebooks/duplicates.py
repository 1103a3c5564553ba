"""A cell that a student has copied no longer stops nbgrader: only the last one keeps its name."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import DeduplicateIds


class ForgetDuplicateIds(DeduplicateIds):  # type: ignore[misc]  # nbgrader ships no types
    """nbgrader's step leaves empty metadata behind, which its own check refuses afterwards."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Called by nbgrader for each cell, the last one first."""
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.metadata.get("nbgrader") == {}:
            del cell.metadata["nbgrader"]
        return cell, resources
