"""Where a class folder keeps things, as its nbgrader configuration says."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from jupyter_core.paths import jupyter_config_path
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Application, Config

from ..course import Course
from ..errors import UserError
from ..presenting import replace_file

CONFIG_FILE = "nbgrader_config.py"

_CONFIG = '''\
"""nbgrader's settings of this class. Written once by autograder; yours to change.

`autograder record` reads them as well: the database, the folders, the penalty for late work.
"""

import os

c = get_config()  # noqa: F821
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))
c.CourseDirectory.course_id = {course_id!r}
# the released notebooks; formgrader lists an assignment when it finds its folder here
c.CourseDirectory.source_directory = {source!r}
# what a notebook shows in formgrader comes from students
c.HTMLExporter.sanitize_html = True
# "Autograde" in formgrader fills in the results of `autograder grade` and runs nothing
c.Autograde.autograde_preprocessors = ["autograder.gradebook.preprocessor.FillInResults"]
c.FillInResults.results = os.path.join(c.CourseDirectory.root, "results.jsonl")
# c.LateSubmissionPlugin.penalty_method = "zero"  # late work earns nothing
'''


@dataclass(frozen=True, slots=True)
class Settings:
    """The class folder as nbgrader sees it, and the configuration that plugins read."""

    db_url: str
    course_id: str
    directories: CourseDirectory
    config: Config

    def submitted(self, student: str, assignment: str) -> Path:
        """The folder of what a student handed in."""
        return self._folder(self.directories.submitted_directory, student, assignment)

    def autograded(self, student: str, assignment: str) -> Path:
        """The folder of a student's autograded notebooks."""
        return self._folder(self.directories.autograded_directory, student, assignment)

    def _folder(self, step: str, student: str, assignment: str) -> Path:
        return Path(self.directories.format_path(step, student, assignment))


def prepare_class_folder(course: Course, class_folder: Path) -> Path:
    """Makes a class folder that nbgrader's commands work in; returns its configuration file.

    A configuration that is there already stays as it is.
    """
    path = class_folder / CONFIG_FILE
    if path.exists():
        return path
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", course.root.resolve().name).strip("_") or "course"
    text = _CONFIG.format(course_id=name, source=_source_directory(course, class_folder))
    return replace_file(path, text)


def _source_directory(course: Course, class_folder: Path) -> str:
    released, folder = (course.root / "assignments").resolve(), class_folder.resolve()
    if folder.is_relative_to(course.root.resolve()):
        return os.path.relpath(released, folder)  # stays right when the course is moved
    return str(released)


def load_settings(class_folder: Path, db_url: str | None = None) -> Settings:
    """The settings of a class folder; raises `UserError` where its configuration is broken."""
    folder = class_folder.resolve()
    loader = Application()
    loader.raise_config_file_errors = True
    try:
        loader.load_config_file("nbgrader_config", path=[str(folder), *jupyter_config_path()])
        config = loader.config
        directories = CourseDirectory(config=config, root=str(folder))
    except Exception as error:  # the file is Python: it can fail in any way
        raise UserError(
            f"{folder / CONFIG_FILE}: can't be loaded: {type(error).__name__}: {error}\n"
            "  fix: mend the file, or move it away and let autograder write a new one"
        ) from error
    return Settings(db_url or directories.db_url, directories.course_id, directories, config)
