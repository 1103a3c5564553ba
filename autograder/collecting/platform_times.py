"""Reads the submission times from a column of a platform's worksheet or export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path

from ..classroom import (
    Columns,
    Identity,
    Index,
    MissingZone,
    Person,
    Role,
    RoleValues,
    certain_time,
    in_english,
    number_in,
    only_item,
    read_csv,
    squashed,
    without_group,
)
from ..counts import number_of
from ..deadlines import DateError
from ..errors import UserError
from .platforms import MOODLE, Owner

#: the columns with times in Moodle's worksheet, in Gradescope's and GitHub Classroom's tables, and
#: in tables that instructors write
_COLUMNS = (
    *("Last modified (submission)", "Submission Time", "submission_timestamp"),
    *("submitted_at", "submitted", "time", "timestamp"),
)
_NOTHING = ("", "-", "Never")
#: how many students a note names
_MOST_NAMED = 5
_QUOTED = "'{}'"
#: Moodle's column of numbers such as `Participant 17`; names in Moodle's downloads contain these
#: numbers
_MOODLES_NUMBER = "Identifier"


@dataclass(frozen=True, slots=True)
class Times:
    """The submission times of the people in a table; if there is no table, all fields are empty."""

    index: Index = field(default_factory=lambda: Index(()))
    times: tuple[datetime | None, ...] = ()
    emails: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    #: the number in each row of Moodle's own worksheet; there are none for other tables
    numbers: tuple[str, ...] = ()
    is_named: tuple[bool, ...] = ()
    #: the names and identifiers in each row, and whether its time is empty
    names: tuple[tuple[str, ...], ...] = ()
    is_empty: tuple[bool, ...] = ()

    def of(self, owner: Owner, person: Person | None = None) -> datetime | None:
        """Returns the time of an owner's submission, or None if the time is uncertain.

        `person` is the owner's entry on the class's roster.
        """
        row = self._row_for(owner, person)
        return None if row is None or self._is_anothers(row, owner) else self.times[row]

    def _row_for(self, owner: Owner, person: Person | None) -> int | None:
        row = self._row_of(owner)
        keys = (*_keys(owner), *(_names(person) if person else ()))
        return self._row(keys) if row is None else row

    def about(self, found: Sequence[tuple[Owner, Person | None]], of_class: Index) -> Iterator[str]:
        """Yields notes about times that are missing or can't be used.

        `found` contains the owners of the collected submissions and their entries on the class's
        roster; `of_class` finds everybody in the class.
        """
        rows = [row for one in found if (row := self._row_for(*one)) is not None]
        unknown = [
            ", ".join(self.names[row][:1]) or f"row {row + 2}"
            for row, time in enumerate(self.times)
            if time is not None and row not in rows and not any(map(of_class.find, self.names[row]))
        ]
        if unknown:
            yield (
                f"{self.source}: {number_of(len(unknown), 'row')} with a time for nobody in the "
                f"class: {_some(unknown)}: are the names written correctly?"
            )
        if empty := [", ".join(self.names[row][:1]) for row in rows if self.is_empty[row]]:
            yield (
                f"{self.source}: the time is empty for {number_of(len(empty), 'student')} with a "
                f"submission: {_some(empty)}"
            )
        known = [(owner, self._row(_keys(owner))) for owner, _ in found]
        others = [o for o, row in known if row is not None and self._is_anothers(row, o)]
        if others:
            yield (
                f"{self.source}: {len(others)} people have different numbers there and in the "
                f"download, such as {others[0].student!r} ({others[0].number}), so their times are "
                "unknown: is it the worksheet for another assignment?"
            )

    def _is_anothers(self, row: int, owner: Owner) -> bool:
        """Returns whether a row is for a different assignment.

        Moodle gives a student a different number in each assignment.
        """
        number = self.numbers[row] if self.numbers and owner.platform == MOODLE else ""
        return bool(number and owner.number and number != owner.number)

    def email_of(self, owner: Owner) -> str:
        """Returns an owner's email address in the table, or "" if the owner's row is uncertain."""
        row = self._row_of(owner)
        return "" if row is None else self.emails[row]

    def number_of(self, person: Person) -> str:
        """Returns a person's number in Moodle's worksheet, or "" if their row is uncertain."""
        row = self._row(_names(person)) if self.numbers else None
        return "" if row is None else self.numbers[row]

    def _row_of(self, owner: Owner) -> int | None:
        """Returns an owner's row, found by Moodle's number or, if that fails, by name.

        After a group's name, Moodle writes the group's number, which may also be a person's number.
        Therefore the name in the row must match as well.
        """
        if owner.platform != MOODLE or not owner.number or not self.numbers:
            return self._row(_keys(owner))
        rows = [row for row, number in enumerate(self.numbers) if number == owner.number]
        names = [owner.student, *without_group(owner.student)]
        row = only_item(rows)
        if row is not None and (
            not self.is_named[row] or any(row in self.index.find(name) for name in names)
        ):
            return row
        return self._row([owner.student])

    def _row(self, keys: Iterable[str]) -> int | None:
        rows = (only_item(self.index.find(key)) for key in keys if key)
        return next((row for row in rows if row is not None), None)


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(map(repr, names[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _names(person: Person) -> list[str]:
    return [person.student, person.email, person.login, person.sis_id, person.name]


def _keys(owner: Owner) -> list[str]:
    """Returns the names that a table may use for an owner, the most reliable first."""
    numbered = f"{owner.student}_{owner.number}" if owner.number else ""
    return [numbered, owner.student, owner.email, owner.number]


def read_times(path: Path, zone: tzinfo | None) -> Times:
    """Returns the times in a table; `zone` is the time zone of times that do not name their zone.

    A time that can't be read counts as unknown, and a note says so. Raises `UserError` if the table
    contains no people or no times, or if a time does not name its zone and `zone` is None.
    """
    columns, rows = in_english(*read_csv(path))
    headings = {squashed(name): name for name in reversed(columns)}
    column = next((headings[name] for name in map(squashed, _COLUMNS) if name in headings), None)
    of_people = Columns(columns, rows)
    people = [of_people.values_of(row) for row in rows]
    if column is None or not any(people):
        raise UserError(
            f"{path}: not a table of times: expected one of the columns {', '.join(_COLUMNS)} and "
            f"one that identifies the student; got: {', '.join(columns)[:200] or 'none'}. Set the "
            "platform's language to English and download it again, or write a table with these "
            "columns."
        )
    read = [_time(row.get(column, "").strip(), zone, path) for row in rows]
    times = [None if isinstance(time, DateError) else time for time in read]
    notes = _notes(path, zip(read, people, strict=True))
    identities = [person.identity if person else Identity() for person in people]
    emails = tuple(person.get(Role.EMAIL) if person else "" for person in people)
    is_moodles = column == _COLUMNS[0] and _MOODLES_NUMBER in columns
    numbers = tuple(number_in(row.get(_MOODLES_NUMBER, "")) for row in rows) if is_moodles else ()
    source = f"{column} of {path.name}"
    is_named = tuple(bool(identity.names) for identity in identities)
    names = tuple(tuple(filter(None, (*i.names, *i.ids, i.number))) for i in identities)
    is_empty = tuple(row.get(column, "").strip() in _NOTHING for row in rows)
    return Times(
        Index(identities), tuple(times), emails, source, notes, numbers, is_named, names, is_empty
    )


def _notes(
    path: Path, read: Iterable[tuple[datetime | DateError | None, RoleValues | None]]
) -> tuple[str, ...]:
    """Returns a note about each kind of problem, with its first example."""
    found: dict[str, list[tuple[DateError, RoleValues | None]]] = {}
    for error, person in read:
        if isinstance(error, DateError):
            found.setdefault(error.problem, []).append((error, person))
    return tuple(
        f"{path.name}: {number_of(len(own), 'time')} can't be read with certainty, such as "
        f"{error.text!r}{f' for {person.name or person.key}' if person else ''}, which "
        f"{error.problem}; such times do not count as late. Write them as "
        f"{error.remedy(_QUOTED)} and collect again"
        for own in found.values()
        for error, person in own[:1]
    )


def _time(text: str, zone: tzinfo | None, path: Path) -> datetime | DateError | None:
    """Returns a time, why it can't be read, or None if the cell is empty."""
    if text in _NOTHING:
        return None
    try:
        return certain_time(text, zone)
    except DateError as error:
        return error
    except MissingZone as error:
        raise UserError(
            f"{path}: {error}\n"
            "  fix: give the platform's own zone with --zone, such as --zone Europe/Berlin"
        ) from error
