"""Reads a class's due dates and rules from `due.csv` and `class.toml`.

These files override the course's due dates and rules, so two classes or sections can share a
course. A row of `due.csv` contains an assignment, a section (empty for everybody) and a date.
`class.toml` sets the budget of late days, and says which submission counts.
"""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from ..counts import number_of
from ..course import Course
from ..deadlines import DateError, days_late, parse_duedate
from ..errors import ContentError, UserError
from ..records import Assignment, DueDate, Key
from ..submission.class_files import DUE_FILE
from .people import Person, Roster
from .tables import Row, change_table, read_own_csv, read_table, write_table

RULES_FILE = "class.toml"
LATE_DAYS_FILE = "late_days.csv"
_COLUMNS = ("assignment", "section", "date")
_LATE_COLUMNS = ("student", "assignment", "days", "left")


class CountingRule(enum.StrEnum):
    """The rule that says which of a student's submissions for an assignment counts."""

    LAST = "last"
    #: the last one that is on time or, if all are late, the last one
    IN_TIME = "last in time"
    #: the one with the most points after the late penalty
    BEST = "best"


@dataclass(frozen=True, slots=True)
class ClassRules:
    late_days: int = 0
    counts: CountingRule = CountingRule.LAST


@dataclass(frozen=True, slots=True)
class ClassDates:
    """The dates in `due.csv`, keyed by assignment and section, and errors, keyed by assignment."""

    dates: Mapping[tuple[str, str], DueDate] = field(default_factory=dict)
    wrong: Mapping[str, ContentError] = field(default_factory=dict)

    def of_all(self, assignment: Assignment) -> DueDate | None:
        """Returns the default due date of an assignment.

        The result is the class's date for everybody, or else the course's date, or else the latest
        date of any section.
        """
        if (found := self.dates.get((assignment.name, ""))) or (found := assignment.duedate):
            return found
        sections = [due for (name, _), due in self.dates.items() if name == assignment.name]
        return max(sections, key=lambda due: due.at, default=None)

    def of_person(
        self, person: Person | None, assignment: str, due: DueDate | None
    ) -> DueDate | None:
        """Returns the due date for a person's section, or `due` if the section has none.

        If the person is in several sections, the latest date counts.
        """
        sections = person.sections if person else ()
        found = [d for s in sections if (d := self.dates.get((assignment, s)))]
        return max(found, key=lambda one: one.naive_utc, default=due)


def read_dates(class_folder: Path) -> ClassDates:
    """Returns the due dates of a class; raises `UserError` if a column is missing."""
    path = class_folder / DUE_FILE
    if not path.exists():
        return ClassDates()
    columns, rows = read_own_csv(path, _COLUMNS)
    if missing := [name for name in ("assignment", "date") if name not in columns]:
        raise UserError(
            f"{path}: no column {missing[0]!r}; expected the columns {', '.join(_COLUMNS)}"
        )
    dates: dict[tuple[str, str], DueDate] = {}
    wrong: dict[str, ContentError] = {}
    for number, row in enumerate(rows, start=2):
        name, section = row["assignment"].strip(), row.get("section", "").strip()
        if (name, section) in dates:
            whom = f"the section {section!r}" if section else "everybody"
            problem = f"due date: {name} has two dates for {whom}"
            wrong[name] = ContentError(path, number, problem, "remove one of the rows")
            continue
        try:
            dates[name, section] = parse_duedate(row["date"])
        except DateError as error:
            fix = f"write {error.remedy()}"
            wrong[name] = ContentError(path, number, f"due date: {error}", fix)
    return ClassDates(dates, wrong)


def unused_dates(class_folder: Path, course: Course, roster: Roster) -> tuple[str, ...]:
    """Returns a sentence about each date in `due.csv` with an unknown assignment or section."""
    found = read_dates(class_folder)
    path = class_folder / DUE_FILE
    source = course.root / "source"  # `broken` also contains unknown assignments with a wrong date
    broken = {name for name in course.broken if (source / name).is_dir()}
    names = {assignment.name for assignment in course.assignments} | broken
    sections = {section for person in roster.people for section in person.sections}
    unknown = sorted(({name for name, _ in found.dates} | found.wrong.keys()) - names)
    notes = [
        f"{path}: no assignment is called {name!r}, so its date is not used; known: "
        f"{', '.join(sorted(names))}"
        for name in unknown
    ]
    for name, section in sorted(found.dates):
        if section and section not in sections and name in names:
            known = ", ".join(sorted(s for s in sections if ";" not in s)) or "none"
            notes.append(
                f"{path}: nobody on the roster is in the section {section!r}, so its date for "
                f"{name} is not used; sections on the roster: {known}"
            )
    return tuple(notes)


def write_dates(class_folder: Path, new: Mapping[tuple[str, str], str]) -> None:
    """Stores dates, keyed by assignment and section, in `due.csv`; other rows stay unchanged."""

    def change(rows: list[dict[str, str]]) -> list[Row]:
        kept = [r for r in rows if (r["assignment"].strip(), r["section"].strip()) not in new]
        added = [(name, section, text) for (name, section), text in sorted(new.items())]
        return [*kept, *(dict(zip(_COLUMNS, row, strict=True)) for row in added)]

    if new:
        change_table(class_folder / DUE_FILE, _COLUMNS, change)


def with_class_dates(course: Course, class_folder: Path) -> Course:
    """Returns the course with a class's due dates; those with invalid dates become `broken`."""
    found = read_dates(class_folder)
    if not found.dates and not found.wrong:
        return course
    for name, error in found.wrong.items():
        course = course.without(name, error)
    dated = (_dated(assignment, found) for assignment in course.assignments)
    return replace(course, assignments=tuple(dated))


def _dated(assignment: Assignment, dates: ClassDates) -> Assignment:
    due = dates.of_all(assignment)
    if due is None:
        return assignment
    grace = assignment.duedate.grace if assignment.duedate else timedelta()
    return replace(assignment, duedate=replace(due, grace=due.grace or grace))


def read_rules(class_folder: Path) -> ClassRules:
    """Returns a class's rules; raises `UserError` for an unknown or invalid setting."""
    path = class_folder / RULES_FILE
    if not path.exists():
        return ClassRules()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UserError(f"{path}: can't be read: {error}") from error
    if unknown := sorted(document.keys() - {"late_days", "counts"}):
        raise UserError(f"{path}: unknown setting {unknown[0]!r}; known: late_days, counts")
    days, counts = document.get("late_days", 0), document.get("counts", CountingRule.LAST)
    if isinstance(days, bool) or not isinstance(days, int) or days < 0:
        raise UserError(f"{path}: late_days = {days!r}: write a number of days, such as 3")
    if counts not in list(CountingRule):
        known = " or ".join(f'"{one}"' for one in CountingRule)
        raise UserError(f"{path}: counts = {counts!r}: write {known}")
    return ClassRules(days, CountingRule(counts))


def read_late_days(class_folder: Path) -> Mapping[Key, int]:
    """Returns how many late days each submission has taken from the budget, as last counted."""
    path = class_folder / LATE_DAYS_FILE
    rows = read_table(path, _LATE_COLUMNS)
    try:
        return {(row["student"], row["assignment"]): int(row["days"]) for row in rows}
    except ValueError as error:
        raise UserError(
            f"{path}: {error}; delete the file and grade again with --resume"
        ) from error


def count_late_days(
    class_folder: Path,
    budget: int,
    ends: Mapping[Key, tuple[datetime | None, datetime | None]],
    dates: Mapping[Key, DueDate | None],
) -> tuple[str, ...]:
    """Counts the days that late submissions take from students' budgets; stores them in a table.

    `ends` maps each submission to its arrival time and its deadline without late days, and `dates`
    maps it to the due date in whose time zone days are counted. In the order
    of their deadlines, late submissions take the days that they need, or none if too few are left.
    The table is replaced, so submissions that are not in `ends` give their days back. Returns a
    sentence about each late submission.
    """
    rows: list[dict[str, str]] = []
    lines: list[str] = []
    left: dict[str, int] = {}
    for (student, assignment), (arrived, end) in sorted(ends.items(), key=_by_end):
        if (
            arrived is None
            or end is None
            or not (days := days_late(arrived, end, dates.get((student, assignment))))
        ):
            continue
        has = left.setdefault(student, budget)
        if days > has:
            needs = f"{student} needs {number_of(days, 'late day')} for {assignment}"
            lines.append(f"{needs} but has only {has} left, so takes none")
            continue
        left[student] = has - days
        rows.append(_row(student, assignment, days, has - days))
        takes = f"{student} takes {number_of(days, 'late day')} for {assignment}"
        lines.append(f"{takes} and has {has - days} left")
    path = class_folder / LATE_DAYS_FILE
    if budget or path.exists():
        write_table(path, _LATE_COLUMNS, rows)
    return tuple(lines)


def _by_end(item: tuple[Key, tuple[datetime | None, datetime | None]]) -> tuple[datetime, Key]:
    return item[1][1] or datetime.max, item[0]


def _row(student: str, assignment: str, days: int, left: int) -> dict[str, str]:
    values: Iterable[str] = (student, assignment, str(days), str(left))
    return dict(zip(_LATE_COLUMNS, values, strict=True))
