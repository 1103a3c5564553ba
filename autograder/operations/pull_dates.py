"""Finds the due dates and extensions that differ between a platform and a class."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..classroom import ClassDates, Person, read_dates, read_extensions
from ..deadlines import parse_duedate, time_between, zone_of
from ..live import PlatformAssignment
from ..records import Assignment, DueDate
from .connection import Connection

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class DateChange:
    """A change to a due date.

    `section` is "" for the general date, and `before` is "" if there was no date.
    """

    assignment: str
    section: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ExtensionChange:
    """A change to one student's extension; `before` is None if there was no extension."""

    student: str
    assignment: str
    before: timedelta | None
    after: timedelta
    due: str


@dataclass(frozen=True, slots=True)
class KnownMember:
    """A member of the class, with the name used in the class and the entry on the roster."""

    student: str
    person: Person


class NewDates:
    """Finds the dates that a pull will change for linked assignments."""

    def __init__(self, connection: Connection, class_folder: Path) -> None:
        self._there = connection
        self._dates = read_dates(class_folder)
        self._given = read_extensions(class_folder)
        self._zone = _zone(connection)
        self.notes: list[str] = []

    def changes(self) -> Sequence[DateChange]:
        """Returns changes to general due dates, and to the due dates of sections and groups."""
        return [
            change
            for name, work in self._there.works.items()
            for change in _date_changes(
                self._there.course.assignment(name), work, self._dates, self._zone
            )
        ]

    def extensions(self, known: Mapping[str, KnownMember]) -> Sequence[ExtensionChange]:
        """Returns the changed extensions; `known` maps numbers on the platform to members."""
        return [
            change
            for name, work in self._there.works.items()
            for number, due in work.people.items()
            if number in known
            for change in self._extension(name, work, known[number], due)
        ]

    def _extension(
        self, name: str, work: PlatformAssignment, known: KnownMember, due: datetime
    ) -> Iterable[ExtensionChange]:
        assignment, student = self._there.course.assignment(name), known.student
        base = _base(assignment, work, self._dates, known.person, self._zone)
        if base is None or due < base.at:
            why = "there is no due date" if base is None else "it is before the class's date"
            text = _date_text(due, self._zone)
            self.notes.append(f"{student}: the date {text} for {name} is ignored: {why}")
            return ()
        before = self._given.get((student, name), self._given.get((known.person.student, name)))
        until = due.astimezone(UTC).replace(tzinfo=None)
        after = time_between(base.naive_utc, until, base)
        if abs(after - (before or timedelta())) < _MINUTE:
            return ()
        return (ExtensionChange(student, name, before, after, _date_text(due, self._zone)),)


def _zone(connection: Connection) -> str:
    """Returns the platform's time zone or, if it is unknown, the time zone of the class's dates.

    If both are unknown, returns "UTC".
    """
    own = {a.duedate.zone for a in connection.course.assignments if a.duedate}
    zones: list[str] = [connection.platform.zone(), *(own if len(own) == 1 else ())]
    for zone in zones:
        with contextlib.suppress(ValueError):
            zone_of(zone)
            return zone
    return "UTC"


def _date_changes(
    assignment: Assignment, work: PlatformAssignment, dates: ClassDates, zone: str
) -> Iterator[DateChange]:
    """Yields the changes to an assignment's general due date and to the due dates of sections."""
    before = dates.of_all(assignment)
    if work.due is not None and not _same(before, work.due):
        text = _shown(before)
        yield DateChange(assignment.name, "", text, _date_text(work.due, zone))
    for section, due in sorted(work.sections.items()):
        there = dates.dates.get((assignment.name, section))
        if not _same(there, due) and not (there is None and due == work.due):
            text = _shown(there)
            yield DateChange(assignment.name, section, text, _date_text(due, zone))


def _same(due: DueDate | None, moment: datetime) -> bool:
    """Returns whether a due date is `moment`; a due date without seconds means the whole minute."""
    if due is None:
        return False
    return due.at == moment or (not due.at.second and 0 <= (moment - due.at).total_seconds() < 60)


def _shown(due: DueDate | None) -> str:
    return f"{due.at:%Y-%m-%d %H:%M:%S} {due.zone}" if due else ""


def _base(
    assignment: Assignment, work: PlatformAssignment, dates: ClassDates, person: Person, zone: str
) -> DueDate | None:
    """Returns the deadline that a person will have after the pull, not counting extensions."""
    own = [
        _pulled(dates.dates.get((assignment.name, section)), work.sections.get(section), zone)
        for section in person.sections
    ]
    return max(
        filter(None, own),
        key=lambda due: due.naive_utc,
        default=_pulled(dates.of_all(assignment), work.due, zone),
    )


def _pulled(there: DueDate | None, moment: datetime | None, zone: str) -> DueDate | None:
    """Returns the platform's date in the time zone that the class's table will name for it."""
    if moment is None:
        return there
    kept = there if there and _same(there, moment) else parse_duedate(_date_text(moment, zone))
    return DueDate(moment.astimezone(kept.at.tzinfo), kept.zone)


def _date_text(moment: datetime, zone: str) -> str:
    """Formats a moment as a due date in a time zone, or in UTC if the local time is ambiguous."""
    text = f"{moment.astimezone(zone_of(zone)):%Y-%m-%d %H:%M:%S} {zone}"
    with contextlib.suppress(ValueError):
        if parse_duedate(text).at == moment:
            return text
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
