"""Finds the course of a class, and decides how each of its assignments is graded."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..classroom import with_class_dates
from ..course import Course, find_root, load_course
from ..errors import ContentError, UserError
from ..grading.sources import QuestionSelector, wanted_question
from ..records import Assignment, Limits
from ..submission.class_files import (
    CONFIG_FILE,
    SUBMITTED,
    class_home,
    configured_around,
    inside,
    outermost_of_students,
)
from ..submission.intake import FoundSubmissions, find_submissions

#: the folder at or above which to look for a course if none is named
HERE = Path()


@dataclass(frozen=True, slots=True)
class Courses:
    """The submissions below a folder, and the courses that grade them.

    `course` contains all of the class's assignments. `own` is the course with suites, if there is
    one; `notebooks` is the folder of a course with nbgrader's own tests, if there is one. At least
    one of these two courses exists. If `question` is given, only this question is graded. `stopped`
    maps each submitted assignment that can't be graded to the error.
    """

    course: Course
    own: Course | None
    notebooks: Path | None
    found: FoundSubmissions
    submitted: Path
    question: QuestionSelector | None = None
    stopped: Mapping[str, ContentError] = field(default_factory=dict)

    @property
    def whole(self) -> Path:
        """The class's folder of submissions, even if `submitted` is a single submission."""
        place = self.submitted.resolve()
        around = place.parent.parent
        own = {assignment.name for assignment in self.own.assignments} if self.own else set()
        return around if around.name == SUBMITTED and place.name in own else place

    @property
    def class_folder(self) -> Path:
        """The folder of the class, for its results and tables."""
        return self.notebooks or self.whole.parent


def course_at(folder: Path) -> Course:
    """Returns the course at or above a folder; raises `UserError` if there is none.

    Assignments that can't be read are listed in the course's `broken`; the other assignments can be
    used.
    """
    return load_course(find_root(folder), must_be_whole=False)


def whole_course(folder: Path) -> Course:
    """Does the same as `course_at`, but raises `ContentError` if an assignment can't be read."""
    return load_course(find_root(folder))


def find_courses(
    folder: Path,
    course_folder: Path,
    assignment: str | None = None,
    question: str | None = None,
) -> Courses:
    """Finds the submissions in a folder, and the courses that grade them.

    `folder` is a class folder, its folder of submissions, or a single submission. `question`, if
    given, names the only question to grade. Raises `UserError` if there is no course, no
    submission, or no question with that name.
    """
    submitted = inside(folder)
    theirs, home = outermost_of_students(submitted), class_home(submitted)
    configured = configured_around(theirs)
    course = _course_of(course_folder, configured, home)
    _refuse_a_students_course(course, theirs)
    chosen = course.assignments if assignment is None else (course.assignment(assignment),)
    wanted = wanted_question([a for a in chosen if a.exercises], question) if question else None
    known = sorted(one.name for one in course.assignments)
    listed = find_submissions(
        submitted, sorted({*known, *course.broken}), wanted.assignment if wanted else assignment
    ).or_refuse(submitted, known)
    found = tuple(s for s in listed.submissions if s.assignment not in course.broken)
    names = {submission.assignment for submission in listed.submissions}
    stopped = {name: error for name, error in course.broken.items() if name in names}
    if not found:
        raise next(iter(stopped.values()))
    own = tuple(one for one in course.assignments if one.exercises)
    with_suites = {one.name for one in own}
    return Courses(
        course,
        replace(course, assignments=own) if names & with_suites else None,
        configured if names - with_suites - stopped.keys() else None,
        replace(listed, submissions=found),
        submitted,
        wanted,
        stopped,
    )


def course_of_class(course_folder: Path, class_folder: Path) -> Course:
    """Returns the named course or the class's own course; raises `UserError` if neither exists."""
    found = _own_course(course_folder, class_folder) or course_at(course_folder)
    return with_class_dates(found, class_folder)


def course_if_found(course_folder: Path, class_folder: Path) -> Course:
    """Does the same as `course_of_class`, but returns a course without assignments if none exists.

    Raises `UserError` if the named folder is not in a course.
    """
    try:
        return course_of_class(course_folder, class_folder)
    except UserError:
        if course_folder != HERE:
            raise
        return Course(class_folder, ())


def class_course(course_folder: Path, class_folder: Path) -> Course:
    """Returns a class's course, including nbgrader's own assignments, which have no exercises.

    Raises `UserError` if there is neither a course with suites nor any of nbgrader's own
    assignments.
    """
    return _course_of(course_folder, class_folder, class_folder)


def _course_of(course_folder: Path, configured: Path | None, class_folder: Path) -> Course:
    """Does the same as `class_course`; `configured` is the folder with nbgrader's configuration."""
    notebooks: set[str] = set()
    if configured and (configured / CONFIG_FILE).is_file():
        notebooks = {path.parent.name for path in configured.glob("source/*/*.ipynb")}
    own = _own_course(course_folder, configured)
    if own is None and not notebooks:
        own = course_at(course_folder)  # raise an error that says what is missing
    if own is None:
        course = Course((configured or class_folder).resolve(), ())
    else:
        course = with_class_dates(own, class_folder)
    others = notebooks - {one.name for one in course.assignments} - course.broken.keys()
    bare = (Assignment(name, name, (), Limits()) for name in sorted(others))
    return replace(course, assignments=(*course.assignments, *bare))


def chosen_assignments(course: Course, names: Collection[str]) -> list[Assignment]:
    """Returns the named assignments (default: all); raises `UserError` for an unknown name."""
    return [course.assignment(name) for name in names] or list(course.assignments)


def _refuse_a_students_course(course: Course, theirs: Path) -> None:
    """Raises `UserError` if the course is in a student's folder, because its tests would run."""
    if course.root.is_relative_to(theirs):
        raise UserError(
            f"{course.root} can't be the course, because it is inside the folder to grade\n"
            "  fix: name your own course with --course FOLDER"
        )


def _own_course(course_folder: Path, class_folder: Path | None) -> Course | None:
    """Returns the course at or above `course_folder`, or a default course if no folder was named.

    The default is the course at or above the current folder or the class folder. If there is no
    such course, the default is the course that nbgrader's configuration names, or else None. Raises
    `UserError` if the named folder is not in a course.
    """
    if course_folder != HERE:
        return course_at(course_folder)
    for folder in (HERE, class_folder):
        root = _root_of(folder) if folder else None
        if root is not None:
            return load_course(root, must_be_whole=False)
    if class_folder is None or not (class_folder / CONFIG_FILE).is_file():
        return None
    return _configured(class_folder)


def _root_of(folder: Path) -> Path | None:
    """Returns the root of the nearest course at or above a folder, or None if it has no suites."""
    with contextlib.suppress(UserError):
        root = find_root(folder)
        return root if any(root.glob("source/*/assignment.toml")) else None
    return None


def _configured(class_folder: Path) -> Course | None:
    from ..nbgrader import load_settings

    named = load_settings(class_folder).config.SandboxedExporter.get("course")
    return load_course(class_folder / named, must_be_whole=False) if named else None
