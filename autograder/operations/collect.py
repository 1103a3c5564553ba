"""Collects submissions from platforms into a class folder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from ..classroom import (
    CountingRule,
    add_requests,
    read_allowances,
    read_rules,
    unused_columns_note,
    with_class_dates,
    write_roster,
)
from ..course import Course
from ..deadlines import zone_of
from ..errors import SubmissionError, UserError
from ..records import Key
from ..results.manual import Request
from ..submission import answers_nothing
from ..submission.bounded import BoundedReader
from ..submission.class_files import SUBMITTED, existing_class, submissions_of
from .courses import HERE, course_at
from .second_looks import question_named_in

if TYPE_CHECKING:  # an instructor's packages are imported when they are needed
    from ..collecting import CollectReport, Ends, FoundRequest, Owner, UndoReport


def collect(
    sources: Sequence[Path | str],
    *,
    into: Path | str = "course/submitted",
    course: Path | str = HERE,
    assignment: str | None = None,
    times: Path | str | None = None,
    zone: str | None = None,
    roster: Path | str | None = None,
) -> CollectReport:
    """Copies submissions from downloads and clones into `<into>/<student>/<assignment>/`.

    `into` is a class's folder of submissions, or the class folder. `times` is a platform's table of
    submission times, and `zone` is the time zone of times without a time zone (default: the due
    dates' time zone). `roster` is either GitHub Classroom's roster, which maps logins to students,
    or another platform's list of people. With such a list, the class's roster is updated first, as
    `set_roster` does.

        report = autograder.collect(["submissions.zip"], assignment="causal_attention")
        print(len(report.collected), report.missing)

    Raises `UserError`, before anything is collected, if it is unclear what a download contains.
    """
    from ..collecting import UNCLEAR, CollectOptions, Times, read_logins, read_times
    from ..collecting import collect as bring

    folder = submissions_of(into)
    of_course = with_class_dates(course_at(Path(course)), folder.parent)
    if assignment is not None:
        of_course.assignment(assignment)
    exercises = _exercises(of_course)
    logins = read_logins(Path(roster)) if roster else {}
    notes: list[str] = []
    if roster and not logins:
        notes.append(unused_columns_note(write_roster(folder.parent, Path(roster))))
    table = read_times(Path(times), _zone(zone, of_course, assignment)) if times else Times()
    with _stub_finder(of_course) as is_stub:
        ends = _ends(of_course, folder.parent)
        options = CollectOptions(assignment, logins, table, ends, is_stub=is_stub)
        report = bring([Path(source) for source in sources], folder, exercises, options)
    broken = [
        f"nothing is collected for {name}: {'; '.join(map(str.strip, str(why).splitlines()))}"
        for name, why in of_course.broken.items()
    ]
    report = _with_requests(report, folder.parent, of_course)
    skipped = report.skipped
    if broken:
        names = ", ".join(sorted(of_course.broken))
        unclear = (
            f"which assignment is it? {names} can't be collected now (see the note); for a "
            "different assignment, use --assignment"
        )
        skipped = tuple(replace(s, reason=unclear) if s.reason == UNCLEAR else s for s in skipped)
    return replace(report, skipped=skipped, notes=(*filter(None, notes), *report.notes, *broken))


def _with_requests(report: CollectReport, class_folder: Path, course: Course) -> CollectReport:
    """Stores the requests for a second look; returns the report with only the new requests."""
    requests = add_requests(class_folder, [_request(course, one) for one in report.asked])
    new = {(one.student, one.request) for one in requests}
    return replace(report, asked=tuple(one for one in report.asked if (one.who, one.text) in new))


def _request(course: Course, asked: FoundRequest) -> Request:
    question = question_named_in(course, asked.assignment, asked.text)
    return Request(asked.who, asked.assignment, question, asked.text, asked.source, asked.at)


def collect_owned(
    source: Path,
    class_folder: Path,
    course: Course,
    assignment: str,
    owners: Mapping[str, tuple[Owner, ...]],
) -> CollectReport:
    """Collects submissions for one assignment; `owners` maps subfolders of `source` to owners."""
    from ..collecting import CollectOptions
    from ..collecting import collect as bring

    with _stub_finder(course) as is_stub:
        ends = _ends(course, class_folder)
        options = CollectOptions(assignment, ends=ends, owners=owners, is_stub=is_stub)
        report = bring([source], class_folder / SUBMITTED, _exercises(course), options)
    return _with_requests(report, class_folder, course)


def _exercises(course: Course) -> Mapping[str, Sequence[str]]:
    return {a.name: [exercise.name for exercise in a.exercises] for a in course.assignments}


@contextlib.contextmanager
def _stub_finder(course: Course) -> Iterator[Callable[[str, Path], bool]]:
    """Yields a function that returns whether a file is an untouched stub of an assignment.

    Students' files are read in a child process; a file that can't be read there may be an answer.
    """
    exercises = {(a.name, exercise.name): exercise for a in course.assignments
                 for exercise in a.exercises}  # fmt: skip

    def read(assignment: str, path: Path) -> str:
        return "stub" if answers_nothing(path, exercises[assignment, path.stem]) else ""

    with BoundedReader(read) as reader:

        def is_stub(assignment: str, path: Path) -> bool:
            try:
                return bool(reader(assignment, path))
            except SubmissionError:
                return False

        yield is_stub


def undo_collect(class_folder: Path | str = "course") -> UndoReport:
    """Undoes the last collection that changed something in a class.

        undone = autograder.undo_collect("course")
        print(undone.began, undone.taken_back, undone.left)

    Keeps files that have been edited by hand since then. Raises `UserError` if there is nothing to
    undo.
    """
    from ..collecting import undo

    return undo(existing_class(class_folder))


def _ends(course: Course, class_folder: Path) -> Ends:
    """Returns a function that maps a submission to its deadline.

    The function returns None if the assignment has no due date, or if the class does not follow the
    rule that the last submission on time counts.
    """
    if read_rules(class_folder).counts is not CountingRule.IN_TIME:
        return lambda _: None
    dates = {assignment.name: assignment.duedate for assignment in course.assignments}
    allowances = read_allowances(class_folder)

    def end(key: Key) -> datetime | None:
        due = dates.get(key[1])
        more = allowances.of(*key, due) or timedelta()
        return due.naive_utc + more if due else None

    return end


def _zone(name: str | None, course: Course, assignment: str | None) -> tzinfo | None:
    """Returns the named time zone or, by default, the one that all due dates share, if any."""
    try:
        if name is not None:
            return zone_of(name)
    except ValueError as error:
        raise UserError(str(error)) from error
    own = [a for a in course.assignments if assignment in (None, a.name)]
    zones = {a.duedate.zone for a in own if a.duedate is not None}
    return zone_of(zones.pop()) if len(zones) == 1 else None
