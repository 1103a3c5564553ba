"""Whose assignments a class has handed in: a course of ours, nbgrader's own notebooks, or both."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..course import Course, find_root, load_course
from ..errors import UserError
from ..submission.find import Found, find_submissions
from .output import HERE, course_at, instructor_part

if TYPE_CHECKING:
    from ..grading.run import RunReport

CONFIG_FILE = "nbgrader_config.py"


@dataclass(frozen=True, slots=True)
class Courses:
    """What is to be graded: `own` by its suites, the notebooks of the class in `cells` as they are.

    One of them is there, `found` is what was handed in of both.
    """

    own: Course | None
    cells: Path | None
    found: Found

    def owns(self, assignment: str) -> bool:
        """Whether an assignment is judged by suites."""
        return assignment in _names(self.own)

    def together(self, reports: Sequence[RunReport]) -> RunReport:
        """The report of a run over both, of the reports of each."""
        from ..grading.run import RunReport

        return RunReport(
            found=self.found,
            graded=tuple(result for report in reports for result in report.graded),
            already_graded=sum(report.already_graded for report in reports),
            tier=reports[0].tier,
            torn=next((report.torn for report in reports if report.torn), None),
        )


def courses_of(submitted: Path, course_folder: Path, assignment: str | None) -> Courses:
    """Looks at the hand-ins, and at the nbgrader course that they are in, if any.

    Raises `UserError` where there is neither a course of ours nor one of nbgrader's, or no hand-in.
    """
    folders = submitted.resolve().parents
    class_folder = next((folder for folder in folders if (folder / CONFIG_FILE).is_file()), None)
    sources = class_folder.glob("source/*/*.ipynb") if class_folder else ()
    names = {path.parent.name for path in sources}
    own = _own_course(course_folder, class_folder)
    if own is None and not names:
        own = course_at(course_folder)  # says what is missing
    others = names - _names(own)
    known = sorted(_names(own) | others)
    if assignment not in (None, *known):
        raise UserError(f"there is no assignment {assignment!r}; known: {', '.join(known)}")
    found = find_submissions(submitted, known, assignment).or_refuse(submitted)
    handed_in = {submission.assignment for submission in found.submissions}
    return Courses(
        own if handed_in & _names(own) else None,
        class_folder if handed_in & others else None,
        found,
    )


def course_of_class(course_folder: Path, class_folder: Path) -> Course:
    """The course that is named, else that of the class; raises `UserError` where there is none."""
    return _own_course(course_folder, class_folder) or course_at(course_folder)


def _names(course: Course | None) -> set[str]:
    return {assignment.name for assignment in course.assignments} if course else set()


def _own_course(course_folder: Path, class_folder: Path | None) -> Course | None:
    """The course that is named, else that around the class, else that of its configuration.

    Raises `UserError` where the named one is none.
    """
    if course_folder != HERE:
        return course_at(course_folder)
    for folder in (HERE, class_folder):
        root = _root_of(folder) if folder else None
        if root is not None:
            return load_course(root)
    if class_folder is None or not (class_folder / CONFIG_FILE).is_file():
        return None
    return _configured(class_folder)


def _root_of(folder: Path) -> Path | None:
    """The nearest folder of a course of ours, if there is one: others have a `source/` too."""
    with contextlib.suppress(UserError):
        root = find_root(folder)
        return root if any(root.glob("source/*/assignment.toml")) else None
    return None


def _configured(class_folder: Path) -> Course | None:
    settings = instructor_part("nbgrader").load_settings(class_folder)
    way = settings.config.SandboxedExporter.get("course")
    return load_course(class_folder / way) if way else None
