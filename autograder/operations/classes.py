"""Manages the people in a class, and an instructor's decisions about individual submissions."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ..classroom import (
    EVERYTHING,
    CountingRule,
    Decision,
    Person,
    Roster,
    RosterChange,
    arrival,
    grant_extension,
    read_allowances,
    read_late_days,
    read_own_csv,
    read_roster,
    read_rules,
    read_withdrawals,
    write_roster,
)
from ..classroom import withdraw as keep_withdrawal
from ..course import Course
from ..deadlines import late_by, parse_duration, time_between
from ..errors import UserError
from ..records import Assignment, DueDate, Key, SubmissionResult
from ..results.last import LastResults, keys_of, results_of
from ..submission.class_files import EARLIER, RESULTS_FILE, SUBMITTED, existing_class
from ..submission.intake import find_submissions
from .courses import HERE, class_course

#: the columns in a table of extensions
_EXTENSIONS = ("student", "assignment", "extension", "why")


@dataclass(frozen=True, slots=True)
class Attendance:
    """The people in a class and, for each assignment, those who have not submitted it.

    `strangers` contains students who have submitted something but are not on the roster.
    """

    roster: Roster
    missing: dict[str, tuple[Person, ...]]
    strangers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredExtension:
    """An extension that has been stored. `until` is the latest time to submit, in UTC.

    `allowance` is the time from the due date until then, in which days are calendar days.
    `is_recorded` is true if the extension is already in nbgrader's gradebook; otherwise, the next
    `record` writes it there. `due` is the due date for everybody, if the course has one.
    `also_in_time` contains newer submissions that were set aside as late, but are on time with the
    extension. Collect these submissions again, so that the last one counts, as the class's rules
    require.
    """

    decision: Decision
    allowance: timedelta
    until: datetime | None
    is_recorded: bool
    due: DueDate | None = None
    also_in_time: tuple[Path, ...] = ()


def set_roster(class_folder: Path | str, file: Path | str) -> RosterChange:
    """Updates a class's roster from a platform's list or a table of your own.

    autograder.set_roster("course", "students.csv")

    Raises `UserError` if the file is not a list of people.
    """
    folder = Path(class_folder)
    return write_roster(existing_class(folder) if folder.exists() else folder, Path(file))


def attendance(class_folder: Path | str, *, course: Path | str = HERE) -> Attendance:
    """Returns the people in a class and, for each assignment, those who have not submitted it.

    Assignments that nobody has submitted are left out. If no course is found, every subfolder of a
    student's folder counts as an assignment.
    """
    folder = existing_class(class_folder)
    of_class = _course_or_none(Path(course), folder)
    roster, withdrawn = read_roster(folder), read_withdrawals(folder)
    keys = [key for key in _submitted(folder, of_class) if key not in withdrawn]
    by_assignment: dict[str, list[str]] = {}
    for student, assignment in keys:
        by_assignment.setdefault(assignment, []).append(student)
    students = dict.fromkeys(student for student, _ in keys)
    return Attendance(
        roster,
        {
            name: tuple(p for p in roster.without(own) if not withdrawn.has_left(p.student))
            for name, own in by_assignment.items()
        },
        tuple(s for s in students if roster.people and roster.person(s) is None),
    )


def extend(
    class_folder: Path | str,
    student: str,
    assignment: str,
    duration: timedelta | str,
    why: str,
    *,
    course: Path | str = HERE,
) -> StoredExtension:
    """Gives one student more time for one assignment; replaces any earlier extension.

    The extension is stored with its reason, and copied to nbgrader's gradebook, so that nbgrader
    computes the same penalty. No submission is graded again.

        autograder.extend("course", "ada", "causal_attention", "2d", why="ill")

    Raises `UserError` for an unknown student, an empty reason, or an invalid duration.
    """
    from ..nbgrader import class_lateness, take_late_days

    folder = existing_class(class_folder)
    of_class = class_course(Path(course), folder)
    found = of_class.assignment_called(assignment)
    assignment = found.name
    name = known_student(folder, of_class, student)
    decision = grant_extension(folder, (name, assignment), _duration(duration), why)
    before = read_late_days(folder)
    take_late_days(folder, [one for one in of_class.assignments if one.duedate])
    changed = {key for key, _ in before.items() ^ read_late_days(folder).items()}
    allowance = read_allowances(folder).of(name, assignment, found.duedate) or timedelta()
    is_recorded = _record_extension(folder, of_class, found, name)
    for who, other in sorted(changed - {(name, assignment)}):
        _record_extension(folder, of_class, of_class.assignment(other), who)
    until = found.duedate.naive_utc + allowance if found.duedate else None
    if until is None and is_recorded:
        until = class_lateness(folder, [(name, assignment)])[name, assignment].due
    if found.duedate and until:
        allowance = time_between(found.duedate.naive_utc, until, found.duedate)
    newer = _newer_in_time(folder, (name, assignment), until) if until else ()
    return StoredExtension(decision, allowance, until, is_recorded, found.duedate, newer)


def _newer_in_time(folder: Path, key: Key, until: datetime) -> tuple[Path, ...]:
    """Returns submissions that were set aside as late, but are on time if `until` is the deadline.

    Only submissions that are newer than the one that counts are returned.
    """
    counting = arrival(folder.joinpath(SUBMITTED, *key)).stamped
    if counting is None or read_rules(folder).counts is not CountingRule.IN_TIME:
        return ()
    kept = {path: arrival(path).stamped for path in folder.joinpath(EARLIER, *key).glob("*/")}
    in_time = (p for p, at in kept.items() if at and at > counting and not late_by(at, until))
    return tuple(sorted(in_time))


def extend_all(
    class_folder: Path | str, table: Path | str, *, course: Path | str = HERE
) -> list[StoredExtension]:
    """Grants the extensions in a table with the columns student, assignment, extension and why.

    The assignment is a name or a title; an empty cell means every assignment in the course. All
    rows are read before the first extension is stored. Raises `UserError` with all rows that can't
    be used.

        autograder.extend_all("course", "accommodations.csv")
    """
    folder, path = existing_class(class_folder), Path(table)
    of_class = class_course(Path(course), folder)
    columns, rows = read_own_csv(path, _EXTENSIONS)
    if missing := [name for name in ("student", "extension", "why") if name not in columns]:
        raise UserError(f"{path}: no column {missing[0]!r}: expected {', '.join(_EXTENSIONS)}")
    wanted: list[tuple[str, str, timedelta, str]] = []
    wrong: list[str] = []
    for number, row in enumerate(rows, start=2):
        try:
            name = known_student(folder, of_class, row["student"].strip())
            one, why = row.get("assignment", "").strip(), row["why"].strip()
            every = of_class.assignments
            names = [of_class.assignment_called(one).name] if one else [a.name for a in every]
            if not why:
                raise UserError("give a reason: people who look at the grades later will ask")
            wanted += [(name, a, _duration(row["extension"]), why) for a in names]
        except UserError as error:
            wrong.append(f"{path}:{number}: {error}")
    if wrong:
        raise UserError("\n".join([*wrong, "No extension was granted: correct the table first"]))
    return [extend(folder, *row, course=course) for row in wanted]


def withdraw(
    class_folder: Path | str,
    student: str,
    assignment: str | None,
    why: str,
    *,
    is_back: bool = False,
    course: Path | str = HERE,
) -> Decision:
    """Leaves a submission out of reports, exports and feedback, or includes it again.

    Nothing is deleted. Without an assignment, applies to all present and future work of a student
    who has left.

        autograder.withdraw("course", "ada", "causal_attention", "submitted by mistake")
        autograder.withdraw("course", "ben", None, "left the course")

    Raises `UserError` for an unknown student, for an assignment that the student has not submitted,
    or if work that should be included again was not left out.
    """
    folder = existing_class(class_folder)
    of_class = class_course(Path(course), folder)
    name = known_student(folder, of_class, student)
    key = name, EVERYTHING
    if assignment is not None:
        key = name, assignment
        if key not in (submitted := _submitted(folder, of_class)):
            of_class.assignment(assignment)
            own = ", ".join(a for who, a in submitted if who == name) or "nothing"
            raise UserError(f"{name} has not submitted {assignment}; submitted: {own}")
    shown = name if assignment is None else f"{name}/{assignment}"
    if is_back and key not in read_withdrawals(folder):
        raise UserError(f"{shown} is not withdrawn, so it already counts")
    return keep_withdrawal(folder, key, why, is_back=is_back)


def _course_or_none(course: Path, folder: Path) -> Course:
    """Returns the course of a class, or a course without assignments if none is found."""
    try:
        return class_course(course, folder)
    except UserError:
        if course != HERE:
            raise
        return Course(folder, ())


def _duration(duration: timedelta | str) -> timedelta:
    try:
        return duration if isinstance(duration, timedelta) else parse_duration(duration)
    except ValueError as error:
        raise UserError(str(error)) from error


def _submitted(folder: Path, course: Course) -> list[Key]:
    submitted = folder / SUBMITTED
    names = [*(assignment.name for assignment in course.assignments), *course.broken]
    names = names or sorted({path.name for path in submitted.glob("*/*") if path.is_dir()})
    found = find_submissions(submitted, names).submissions if submitted.is_dir() else ()
    keys = {(s.student, s.assignment): None for s in found}
    keys |= dict.fromkeys(keys_of(_results(folder)))
    return list(keys)


def _results(folder: Path) -> Sequence[SubmissionResult]:
    path = folder / RESULTS_FILE
    return LastResults(path) if path.is_file() else ()


def known_student(folder: Path, course: Course, student: str) -> str:
    """Returns the name under which a student has submitted or is on the roster.

    Raises `UserError` if there is no such student.
    """
    submitted = list(dict.fromkeys(name for name, _ in _submitted(folder, course)))
    roster = read_roster(folder)
    person = roster.person(student)
    if student in submitted:
        return student
    if person is not None:
        own = [name for name in submitted if roster.person(name) == person]
        return own[0] if len(own) == 1 else person.student
    strangers = roster.without((student,))
    if several := [person.student for person in roster.people if person not in strangers]:
        there = f"several people on the roster of {folder}"
        raise UserError(f"{student!r} means {there}: write {', '.join(map(repr, several))}")
    known = list(dict.fromkeys((*submitted, *(person.student for person in roster.people))))
    close = difflib.get_close_matches(student, known, n=3)
    lists = f"autograder roster {folder} lists the class"
    hint = f"; similar names: {', '.join(map(repr, close))}" if close else f"; {lists}"
    raise UserError(f"{student!r} has submitted nothing and is not on the roster of {folder}{hint}")


def _record_extension(folder: Path, course: Course, assignment: Assignment, student: str) -> bool:
    """Updates a submission's extension and penalty, if the gradebook contains the submission."""
    from ..nbgrader import record, set_extension

    due = assignment.duedate
    allowance = read_allowances(folder).of(student, assignment.name, due)
    is_there = set_extension(folder, student, assignment.name, allowance or timedelta())
    own = results_of(_results(folder), lambda key: key == (student, assignment.name))
    if is_there and own and assignment.exercises:
        record(course, folder, own)
    return is_there
