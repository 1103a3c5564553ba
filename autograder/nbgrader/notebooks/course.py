"""Reads a course in nbgrader's own layout, and releases notebooks that nbgrader would omit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Application, Config

from ...course import load_course
from ...errors import UserError
from ...files import replace_file
from ...records import Assignment, Exercise, Limits, Question
from ...submission.class_files import CONFIG_FILE
from .. import use_sandboxed_steps


@dataclass(frozen=True, slots=True)
class NotebookCourse:
    """A course: its folder, its configuration and its assignments."""

    root: Path
    config: Config
    assignments: tuple[str, ...]

    def directories(self, student: str = "*", assignment: str = "*") -> CourseDirectory:
        """Returns nbgrader's `CourseDirectory` for a student and an assignment (default: all)."""
        found = CourseDirectory(config=self.config, root=str(self.root))
        found.student_id, found.assignment_id = student, assignment
        return found

    def sources(self, assignment: str) -> list[Path]:
        """Returns the instructor's notebooks for an assignment."""
        course = self.directories()
        folder = Path(course.format_path(course.source_directory, ".", assignment))
        return sorted(folder.glob("*.ipynb"))

    def gradebook(self) -> Gradebook:
        """Opens nbgrader's database; use the result as a context manager."""
        course = self.directories()
        return Gradebook(course.db_url, course.course_id)


def read_notebook_course(folder: Path) -> NotebookCourse:
    """Reads the course in a folder; raises `UserError` if its configuration can't be loaded."""
    root = folder.resolve()
    loader = Application()
    loader.raise_config_file_errors = True
    try:
        loader.load_config_file("nbgrader_config", path=[str(root)])
    except Exception as error:  # a Python file, which can fail in any way
        raise UserError(
            f"{root / CONFIG_FILE}: can't be loaded: {type(error).__name__}: {error}\n"
            "  fix: correct the file; `nbgrader autograde` can't load it either"
        ) from error
    names = {path.parent.name for path in root.glob("source/*/*.ipynb")}
    use_sandboxed_steps(loader.config)
    if path := loader.config.SandboxedExporter.get("course"):
        names -= {assignment.name for assignment in load_course(root / path).assignments}
    return NotebookCourse(root, loader.config, tuple(sorted(names)))


def read_assignment(course: NotebookCourse, name: str, seconds: float) -> Assignment:
    """Reads an assignment from the gradebook.

    Notebooks become exercises, and their cells become questions. Raises `UserError` if `nbgrader
    generate_assignment` has not been run.
    """
    with course.gradebook() as gradebook:
        try:
            found = gradebook.find_assignment(name)
        except MissingEntry:
            found = None
        if found is None or not found.notebooks:
            raise UserError(
                f"the gradebook does not contain {name} yet\n"
                f"  fix: run `nbgrader generate_assignment {name}` in {course.root}"
            )
        exercises = tuple(_exercise(course, name, notebook) for notebook in found.notebooks)
    return Assignment(name, name, exercises, Limits(seconds, seconds))


def _exercise(course: NotebookCourse, assignment: str, notebook: object) -> Exercise:
    name = str(notebook.name)  # type: ignore[attr-defined]
    path = course.root / "source" / assignment / f"{name}.ipynb"
    cells = tuple(
        Question(str(cell.name), False, 1)
        for cell in notebook.source_cells  # type: ignore[attr-defined]
    )
    return Exercise(assignment, name, cells, *(path,) * 5)


class ReleaseExtras(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader ships no types
    """Copies notebooks in subfolders, because `generate_assignment` copies only other files."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Copies notebooks in subfolders; called by nbgrader for each notebook of a release."""
        directories = self.parent.parent.coursedir  # from the exporter's converter
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
