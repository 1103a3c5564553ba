"""Which course a class belongs to, and which assignments of it are graded in which way."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..course import Course, find_root, load_course
from ..errors import UserError
from ..records import Assignment, Limits
from ..submission.find import find_submissions
from .class_folder import SUBMITTED

CONFIG_FILE = "nbgrader_config.py"
#: where a course is looked for, and above, if it is not named
HERE = Path()


@dataclass(frozen=True, slots=True)
class Courses:
    """What is to be graded: `own` by its suites, notebooks of the class in `notebooks` as they are.

    At least one of them is there.
    """

    own: Course | None
    notebooks: Path | None
    #: how often each assignment was submitted
    submitted: Mapping[str, int] = field(default_factory=dict)

    def owns(self, assignment: str) -> bool:
        """Whether an assignment is judged by suites."""
        return assignment in _names(self.own)


def asks_for_layers(assignments: Iterable[Assignment]) -> bool:
    """Whether a question is a class: of such an answer is asked that it can be moved."""
    return any(q.is_class for a in assignments for e in a.exercises for q in e.questions)


def course_at(folder: Path) -> Course:
    """The course at or above a folder; raises `UserError` where there is none."""
    return load_course(find_root(folder))


def find_courses(submitted: Path, course_folder: Path, assignment: str | None) -> Courses:
    """Looks at the submissions, and at the nbgrader course that they are in, if any.

    Raises `UserError` where there is neither a course of ours nor one of nbgrader's, or no
    submission.
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
    _suggest_folder(submitted, known)
    found = find_submissions(submitted, known, assignment).or_refuse(submitted)
    submitted_names = Counter(submission.assignment for submission in found.submissions)
    return Courses(
        own if submitted_names.keys() & _names(own) else None,
        class_folder if submitted_names.keys() & others else None,
        submitted_names,
    )


def course_of_class(course_folder: Path, class_folder: Path) -> Course:
    """The course that is named, else that of the class; raises `UserError` where there is none."""
    return _own_course(course_folder, class_folder) or course_at(course_folder)


def class_course(course_folder: Path, class_folder: Path) -> Course:
    """The course of a class with nbgrader's own assignments, too, which have no exercises.

    Raises `UserError` where there is neither.
    """
    notebooks = class_folder.glob("source/*/*.ipynb")
    names = {path.parent.name for path in notebooks if (class_folder / CONFIG_FILE).is_file()}
    own = _own_course(course_folder, class_folder)
    if own is None and not names:
        own = course_at(course_folder)  # says what is missing
    others = [Assignment(name, name, (), Limits()) for name in sorted(names - _names(own))]
    assignments = own.assignments if own else ()
    return Course(own.root if own else class_folder.resolve(), (*assignments, *others))


def chosen_assignments(course: Course, names: Collection[str]) -> list[Assignment]:
    """The assignments of these names, all of them by default; raises `UserError` for another."""
    return [course.assignment(name) for name in names] or list(course.assignments)


def submissions_around(submitted: Path, course: Course | None) -> Path:
    """The class's folder of submissions where `submitted` is one submission in it; else itself."""
    place = submitted.resolve()
    around = place.parent.parent
    return around if around.name == SUBMITTED and place.name in _names(course) else place


def _names(course: Course | None) -> set[str]:
    return {assignment.name for assignment in course.assignments} if course else set()


def _suggest_folder(submitted: Path, known: Collection[str]) -> None:
    """Raises `UserError` for a student's folder in the place of the submissions."""
    own = next((name for name in known if (submitted / name).is_dir()), None)
    if own and not find_submissions(submitted, known).submissions:
        raise UserError(
            f"{submitted} is the folder of one student: autograder grade {submitted / own} grades "
            f"one assignment of theirs, autograder grade {submitted.parent} the class"
        )


def _own_course(course_folder: Path, class_folder: Path | None) -> Course | None:
    """The course that is named, else that around the class, else that of its configuration.

    Raises `UserError` where the named one is not a course.
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
    from ..nbgrader import load_settings

    named = load_settings(class_folder).config.SandboxedExporter.get("course")
    return load_course(class_folder / named) if named else None
