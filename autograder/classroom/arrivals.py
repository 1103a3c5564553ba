"""Computes how late submissions are; a submission with an unknown time is never late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..counts import number_of
from ..deadlines import duedate_text, duration_text, late_by, later, moment_text
from ..records import Assignment, DueDate, Key
from .dates import ClassDates, read_dates, read_late_days
from .decisions import read_extensions
from .origins import read_origins
from .people import Roster, read_roster
from .tables import change_rows, read_table

#: the table of submissions whose allowance in the gradebook came from the class's tables, so that
#: it can be removed again
ALLOWED_FILE = "allowed.csv"
_COLUMNS = ("student", "assignment")
#: the maximum number of names in a sentence; the exported table contains all of them
_MOST_NAMES = 20
#: the maximum number of dates in a sentence about sections and extensions; frequent ones come first
_MOST_DATES = 6


@dataclass(frozen=True, slots=True)
class Lateness:
    """A submission's time, due date and lateness; times are in UTC without a time zone.

    `late` is None if the time or the due date is unknown. `is_marked` is true if a platform reports
    the submission as late without saying by how much. `late_days` is the number of days that the
    submission took from the student's budget.
    """

    submitted: datetime | None = None
    due: datetime | None = None
    late: timedelta | None = None
    is_marked: bool = False
    late_days: int = 0

    @property
    def is_late(self) -> bool:
        """True if the submission is late, even if nobody knows by how much."""
        return bool(self.late) or (self.late is None and self.is_marked)

    @property
    def after(self) -> timedelta | None:
        """The time from the due date to the arrival, or None if either is unknown.

        The result is negative if the submission arrived before the due date, and zero if it arrived
        in the minute in which it was due.
        """
        if self.submitted is None or self.due is None:
            return None
        return self.late or min(self.submitted - self.due, timedelta())

    @property
    def text(self) -> str:
        """The lateness in words, or "" if the submission is not known to be late."""
        if self.late:
            return duration_text(self.late)
        return "by an unknown amount" if self.is_late else ""


def lateness(submitted: datetime | None, due: datetime | None, is_marked: bool = False) -> Lateness:
    """Compares a submission's time with a due date, both in UTC without a time zone."""
    if submitted is None or due is None:
        return Lateness(submitted, due, None, is_marked)
    return Lateness(submitted, due, late_by(submitted, due), is_marked)


class Allowances:
    """The extra time that each student in a class has after a due date."""

    def __init__(
        self,
        roster: Roster,
        extensions: Mapping[Key, timedelta],
        dates: ClassDates | None = None,
        late_days: Mapping[Key, int] | None = None,
        recorded: Collection[Key] = (),
    ) -> None:
        """`recorded` contains the submissions that have ever had an allowance in the gradebook."""
        self._roster = roster
        self._extensions = extensions
        self._dates = dates or ClassDates()
        self._late_days = late_days or {}
        self.recorded = frozenset(recorded)

    def late_days(self, key: Key) -> int:
        """Returns how many late days a submission has taken from the budget."""
        return self._late_days.get(key, 0)

    def duedate(self, key: Key, due: DueDate | None) -> DueDate | None:
        """Returns the date on which a submission is due for the student's section, or `due`."""
        return self._dates.of_person(self._roster.person(key[0]), key[1], due)

    def of(
        self, student: str, assignment: str, due: DueDate | None, *, with_late_days: bool = True
    ) -> timedelta | None:
        """Returns how long after `due` a submission still counts as on time, or None.

        The deadline is the section's due date, plus the grace period, extra time and extension, and
        then the late days. None means that the class has never given this submission any of these;
        nbgrader's gradebook then keeps its own extension. If the result is zero, an allowance that
        is no longer in the tables is removed from the gradebook.
        """
        key, person = (student, assignment), self._roster.person(student)
        extra = person.extra if person else timedelta()
        given = self._extensions.get(key)
        if given is None and person is not None:
            given = self._extensions.get((person.student, assignment))
        more = (due.grace if due else timedelta()) + extra + (given or timedelta())
        days = timedelta(days=self.late_days(key) if with_late_days else 0)
        total = more + days
        if due and (start := self.duedate(key, due)):
            end = later(later(start.naive_utc, more, start), days, start)
            total = end - due.naive_utc
        is_known = given is not None or self.late_days(key) or key in self.recorded
        return total if total or is_known else None


def read_allowances(class_folder: Path) -> Allowances:
    """Reads a class's allowances from its tables; raises `UserError` for a malformed table."""
    recorded = read_table(class_folder / ALLOWED_FILE, _COLUMNS)
    return Allowances(
        read_roster(class_folder),
        read_extensions(class_folder),
        read_dates(class_folder),
        read_late_days(class_folder),
        [(row["student"], row["assignment"]) for row in recorded],
    )


def keep_recorded(class_folder: Path, keys: Iterable[Key]) -> None:
    """Records the submissions whose allowance in the gradebook comes from the class's tables."""
    rows = {key: dict(zip(_COLUMNS, key, strict=True)) for key in keys}
    change_rows(class_folder / ALLOWED_FILE, _COLUMNS, rows)


def marked_late(class_folder: Path) -> frozenset[Key]:
    """Returns the submissions that a platform marks as late without reporting a time."""
    origins = read_origins(class_folder).values()
    return frozenset(origin.key for origin in origins if origin.is_marked_late)


def lateness_lines(
    assignments: Iterable[Assignment], found: Mapping[Key, Lateness]
) -> tuple[str, ...]:
    """Returns sentences about due dates and late students, to be read before penalties apply."""
    return tuple(
        line
        for assignment in assignments
        for line in _lines_of(
            assignment, {s: late for (s, name), late in found.items() if name == assignment.name}
        )
    )


def _lines_of(assignment: Assignment, found: Mapping[str, Lateness]) -> Iterator[str]:
    dues = {item.due for item in found.values()} - {None}
    if not dues and not any(item.is_late for item in found.values()):
        return
    when = "at the time set in formgrader"
    if assignment.duedate:
        when = duedate_text(assignment.duedate)
    ends = [item.due for item in found.values() if item.due]
    others = Counter(due for due in ends if due != _due(assignment))
    also = "".join(
        f", or {moment_text(due, assignment.duedate)} for {count} of the submissions"
        for due, count in sorted(others.most_common(_MOST_DATES))
    )
    unknown = sum(item.submitted is None for item in found.values())
    have = number_of(unknown, "has no known time and does", "have no known time and do")
    note = f"; {have} not count as late" if unknown else ""
    late = [
        f"{student} {'by ' if item.late else ''}{item.text}"
        for student, item in sorted(found.items())
        if item.is_late
    ]
    are = "is" if 1 in (len(late), len(found)) else "are"
    yield f"{assignment.name} is due {when}{also}; {len(late)} of {len(found)} {are} late{note}"
    if late:
        more = f", and {len(late) - _MOST_NAMES} more" if len(late) > _MOST_NAMES else ""
        yield f"late for {assignment.name}: {', '.join(late[:_MOST_NAMES])}{more}"


def _due(assignment: Assignment) -> datetime | None:
    return assignment.duedate.naive_utc if assignment.duedate else None


def utc_text(moment: datetime | None) -> str:
    """Formats a time for tables, in UTC; returns an empty string if it is unknown."""
    if moment is None:
        return ""
    naive = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return f"{naive:%Y-%m-%d %H:%M:%S} UTC"
