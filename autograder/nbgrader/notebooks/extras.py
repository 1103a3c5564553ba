"""Notebooks that nobody grades go out with an assignment: nbgrader itself leaves them behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from ...files import replace_file


class ReleaseExtras(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader ships no types
    """A step of `generate_assignment`, which copies all files below folders but notebooks."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Called by nbgrader for each notebook next to which folders with others may stand."""
        directories = self.parent.parent.coursedir  # of the exporter's converter
        assignment = resources["nbgrader"]["assignment"]
        source, release = (
            Path(directories.format_path(step, ".", assignment))
            for step in (directories.source_directory, directories.release_directory)
        )
        for path in sorted(source.glob("*/*.ipynb")):
            if not path.parent.name.startswith("."):
                target = release / path.relative_to(source)
                target.parent.mkdir(exist_ok=True)
                replace_file(target, path.read_text(encoding="utf-8"))
        return nb, resources
