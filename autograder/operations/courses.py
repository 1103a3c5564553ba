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

#: the folder at or above which a course is searched for, unless one is named
HERE = Path()


@dataclass(frozen=True, slots=True)
class Courses:
    """The submissions below a folder, and the courses that grade them.

    `own` grades with its suites; the nbgrader course in the folder `notebooks` grades by executing
    notebooks unchanged. There is at least one of the two. `submitted` is the folder that was named,
    and `whole` is the class's folder of submissions around it. If `question` is given, only this
    question is graded. `stopped` are the submitted assignments that can't be graded.
    """

    own: Course | None
    notebooks: Path | None
    found: FoundSubmissions
    submitted: Path = HERE
    whole: Path = HERE
    question: QuestionSelector | None = None
    stopped: Mapping[str, ContentError] = field(default_factory=dict)

    @property
    def class_folder(self) -> Path:
        """The folder of the class, for its results and tables."""
        return self.notebooks or self.whole.parent


def course_at(folder: Path) -> Course:
    """Returns the course at or above a folder; raises `UserError` if there is none.

    Assignments that can't be read are listed in the course's `broken`, so that the others can be
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
    """Finds the submissions in a folder, their course, and any nbgrader course around them.

    `folder` is a class folder, its folder of submissions, or a single submission. `question`, if
    given, is the name of the only question that is graded. Raises `UserError` if there is no course
    of either kind, no submission, or no question with that name.
    """
    submitted = inside(folder)
    theirs, home = outermost_of_students(submitted), class_home(submitted)
    class_folder = configured_around(theirs)
    sources = class_folder.glob("source/*/*.ipynb") if class_folder else ()
    names = {path.parent.name for path in sources}
    own = _own_course(course_folder, class_folder)
    if own is None and not names:
        own = course_at(course_folder)  # raises an error that says what is missing
    if own is not None:
        _refuse_a_students_course(own, theirs)
        own = with_class_dates(own, home)
    others, broken = names - _names(own), own.broken if own else {}
    known = sorted(_names(own) | others)
    if assignment is not None and assignment in broken:
        raise broken[assignment]
    if assignment not in (None, *known):
        raise UserError(f"there is no assignment {assignment!r}; known: {', '.join(known)}")
    wanted = _wanted(own, assignment, question) if question else None
    listed = find_submissions(
        submitted, sorted({*known, *broken}), wanted.assignment if wanted else assignment
    )
    listed = listed.or_refuse(submitted, known)
    found = replace(
        listed, submissions=tuple(s for s in listed.submissions if s.assignment in known)
    )
    stopped = {
        s.assignment: broken[s.assignment] for s in listed.submissions if s.assignment not in known
    }
    if not found.submissions:
        raise next(iter(stopped.values()))
    submitted_names = {s.assignment for s in found.submissions}
    graded = own if submitted_names & _names(own) else None
    return Courses(
        graded,
        class_folder if submitted_names & others and not wanted else None,
        found,
        submitted,
        submissions_around(submitted, graded),
        wanted,
        stopped,
    )


def _wanted(own: Course | None, assignment: str | None, question: str) -> QuestionSelector:
    assignments = own.assignments if own else ()
    return wanted_question([a for a in assignments if assignment in (None, a.name)], question)


def course_of_class(course_folder: Path, class_folder: Path) -> Course:
    """Returns the named course, or else the class's own; raises `UserError` if neither exists."""
    found = _own_course(course_folder, class_folder) or course_at(course_folder)
    return with_class_dates(found, class_folder)


def class_course(course_folder: Path, class_folder: Path) -> Course:
    """Returns the course of a class with nbgrader's own assignments, which have no exercises.

    Raises `UserError` if there is neither a course nor such an assignment.
    """
    notebooks = class_folder.glob("source/*/*.ipynb")
    names = {path.parent.name for path in notebooks if (class_folder / CONFIG_FILE).is_file()}
    own = _own_course(course_folder, class_folder)
    if own is None and not names:
        own = course_at(course_folder)  # raises an error that says what is missing
    if own is not None:
        own = with_class_dates(own, class_folder)
    others = [Assignment(name, name, (), Limits()) for name in sorted(names - _names(own))]
    assignments = own.assignments if own else ()
    broken = own.broken if own else {}
    return Course(own.root if own else class_folder.resolve(), (*assignments, *others), broken)


def chosen_assignments(course: Course, names: Collection[str]) -> list[Assignment]:
    """Returns the named assignments (default: all); raises `UserError` for an unknown name."""
    return [course.assignment(name) for name in names] or list(course.assignments)


def submissions_around(submitted: Path, course: Course | None) -> Path:
    """Returns the class's folder of submissions, even if `submitted` is one submission."""
    place = submitted.resolve()
    around = place.parent.parent
    return around if around.name == SUBMITTED and place.name in _names(course) else place


def _refuse_a_students_course(course: Course, theirs: Path) -> None:
    """Raises `UserError` for a course among submissions, because the grader would run its tests."""
    if course.root.is_relative_to(theirs):
        raise UserError(
            f"{course.root} contains source/ and solutions/, and is part of what is graded\n"
            "  fix: name your own course with --course FOLDER"
        )


def _names(course: Course | None) -> set[str]:
    return {assignment.name for assignment in course.assignments} if course else set()


def _own_course(course_folder: Path, class_folder: Path | None) -> Course | None:
    """Returns the course at or above `course_folder`, if one was named.

    Otherwise returns the course at or above the current folder or the class folder, or else the one
    in nbgrader's configuration; None if there is none. Raises `UserError` if the named folder is in
    no course.
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
    """Returns the root of the nearest course with suites, or None; nbgrader's courses have none."""
    with contextlib.suppress(UserError):
        root = find_root(folder)
        return root if any(root.glob("source/*/assignment.toml")) else None
    return None


def _configured(class_folder: Path) -> Course | None:
    from ..nbgrader import load_settings

    named = load_settings(class_folder).config.SandboxedExporter.get("course")
    return load_course(class_folder / named, must_be_whole=False) if named else None
