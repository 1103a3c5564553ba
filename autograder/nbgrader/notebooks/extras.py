"""Releases notebooks without graded cells with an assignment; nbgrader itself omits them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from ...files import replace_file


class ReleaseExtras(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader ships no types
    """Copies notebooks in subfolders: `generate_assignment` copies only the other files."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Copies them; nbgrader calls it for each notebook of an assignment."""
        directories = self.parent.parent.coursedir  # that of the exporter's converter
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
