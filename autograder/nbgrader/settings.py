"""Reads a class's nbgrader configuration, and sets up the sandboxed steps in it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_config_path
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties, DeduplicateIds, Execute, OverwriteCells
from traitlets.config import Application, Config

from ..course import Course
from ..errors import UserError
from ..files import replace_file
from ..submission.class_files import CONFIG_FILE

_OURS = {
    AssignLatePenalties: f"{__package__}.gradebook.lateness.LatePenalties",
    DeduplicateIds: f"{__package__}.notebooks.autograding.ForgetDuplicateIds",
    OverwriteCells: f"{__package__}.notebooks.autograding.RestoreCells",
    Execute: f"{__package__}.notebooks.execute.SandboxedExecute",
}
_EXTRAS = f"{__package__}.notebooks.course.ReleaseExtras"


def use_sandboxed_steps(config: Config) -> None:
    """Replaces nbgrader's steps that run a kernel with steps that run in the sandbox.

    Also replaces steps that would stop at a copied cell or a changed cell type, and adds a step
    that releases the notebooks in subfolders. If the configuration does not list any steps,
    nbgrader's default list is used.
    """
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        steps = config.Autograde.get(name) or getattr(Autograde, name).default()
        config.Autograde[name] = [_ours(step) for step in steps]
    releasing = config.GenerateAssignment.get("preprocessors")
    releasing = list(releasing or GenerateAssignment.preprocessors.default())
    config.GenerateAssignment.preprocessors = [*releasing, *[_EXTRAS] * (_EXTRAS not in releasing)]


def _ours(step: Any) -> Any:
    """Returns the replacement for a step (a class or its name), or the step if there is none."""
    for theirs, ours in _OURS.items():
        if step in (theirs, f"nbgrader.preprocessors.{theirs.__name__}"):
            return ours
    return step


_EXPORTER = f"{__package__}.exporter.SandboxedExporter"

_CONFIG = '''\
"""nbgrader's settings for this class. autograder wrote this file; you may change it.

`autograder grade` and `record` also use its database, folders and late penalty.
"""

import os

from autograder.nbgrader import configure

c = get_config()  # noqa: F821
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))
c.CourseDirectory.course_id = {course_id!r}
# the folder with source/ and solutions/; its assignments are graded in the sandbox
configure(c, course={course!r})
c.ClearSolutions.code_stub = {{"python": "raise NotImplementedError"}}  # as in students' README
# c.LateSubmissionPlugin.penalty_method = "zero"  # late work earns nothing
# c.Exchange.root = "/srv/nbgrader/exchange"
'''


@dataclass(frozen=True, slots=True)
class Settings:
    """A class's nbgrader settings: its database, its folders, and the configuration for plugins."""

    db_url: str
    course_id: str
    directories: CourseDirectory
    config: Config

    def source(self, assignment: str) -> Path:
        """Returns the folder of notebooks that nbgrader's `generate_assignment` reads."""
        return self._folder(self.directories.source_directory, ".", assignment)

    def submitted(self, student: str, assignment: str) -> Path:
        return self._folder(self.directories.submitted_directory, student, assignment)

    def autograded(self, student: str, assignment: str) -> Path:
        return self._folder(self.directories.autograded_directory, student, assignment)

    def released(self, assignment: str) -> Path:
        """Returns nbgrader's release folder for an assignment; the folder may not exist yet."""
        return self._folder(self.directories.release_directory, ".", assignment)

    def _folder(self, step: str, student: str, assignment: str) -> Path:
        return Path(self.directories.format_path(step, student, assignment))


def configure(config: Config, course: str = "") -> None:
    """Makes nbgrader grade in the sandbox, with a course's suites or nbgrader's own test cells.

    `course` is the folder with source/ and solutions/, absolute or relative to the class folder. In
    an nbgrader_config.py, write `configure(c, course="/home/ada/attention")`, or `configure(c)` if
    all assignments have nbgrader's own test cells.
    """
    use_sandboxed_steps(config)
    config.Autograde.exporter_class = _EXPORTER
    config.SandboxedExporter.course = course
    # formgrader's notebooks contain text that students wrote
    config.HTMLExporter.sanitize_html = True


def prepare_class_folder(course: Course, class_folder: Path) -> Path:
    """Writes the configuration that nbgrader needs in a class folder; returns that file's path.

    An existing configuration is not changed.
    """
    path = class_folder / CONFIG_FILE
    if path.exists():
        return path
    root, folder = course.root.resolve(), class_folder.resolve()
    # a class folder inside the course is usually called `course`, which says nothing about it
    named = root if folder.is_relative_to(root) else folder
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", named.name).strip("_") or "course"
    return replace_file(
        path, _CONFIG.format(course_id=name, course=_course_path(course, class_folder))
    )


def missing_lines(course: Course, class_folder: Path, settings: Settings) -> list[str]:
    """Returns the lines that an instructor's configuration lacks for grading in the sandbox."""
    if settings.config.Autograde.get("exporter_class") == _EXPORTER:
        return []
    path = _course_path(course, class_folder)
    return ["from autograder.nbgrader import configure", f"configure(c, course={path!r})"]


def _course_path(course: Course, class_folder: Path) -> str:
    root, folder = course.root.resolve(), class_folder.resolve()
    # if the class folder is inside the course, a relative path stays valid when the course is moved
    return os.path.relpath(root, folder) if folder.is_relative_to(root) else str(root)


def load_settings(class_folder: Path, db_url: str | None = None) -> Settings:
    """Loads the settings of a class folder; raises `UserError` if its configuration is broken."""
    folder = class_folder.resolve()
    loader = Application()
    loader.raise_config_file_errors = True
    try:
        loader.load_config_file("nbgrader_config", path=[str(folder), *jupyter_config_path()])
        config = loader.config
        directories = CourseDirectory(config=config, root=str(folder))
    except Exception as error:  # a Python file, which can fail in any way
        raise UserError(
            f"{folder / CONFIG_FILE}: can't be loaded: {type(error).__name__}: {error}\n"
            "  fix: correct the file, or move it elsewhere and let autograder write a new one"
        ) from error
    return Settings(db_url or directories.db_url, directories.course_id, directories, config)
