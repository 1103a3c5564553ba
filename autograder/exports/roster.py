"""A learning platform's own list of students, and which of ours each of them is."""

from __future__ import annotations

import csv
import enum
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError

Row = Mapping[str, str]

#: in a Canvas gradebook: rows that are nobody's
POINTS_POSSIBLE = "Points Possible"
_CANVAS_IDS = ("Student", "ID", "SIS User ID", "SIS Login ID")
_NOBODY = ("Points Possible", "Manual Posting", "Student, Test")
PARTICIPANT = "Participant "
#: keys of a person come in so many steps of certainty
_TIERS = 3


class Platform(enum.StrEnum):
    """Where a roster comes from."""

    CANVAS = "Canvas"
    MOODLE = "Moodle"


@dataclass(frozen=True, slots=True)
class Roster:
    """A platform's table: its columns, the rows of people, and those of nobody."""

    path: Path
    platform: Platform
    columns: tuple[str, ...]
    people: tuple[Row, ...]
    other: tuple[Row, ...] = ()

    def must_be_of(self, platform: Platform) -> None:
        """Raises `UserError` where the roster comes from another platform."""
        if self.platform is not platform:
            raise UserError(
                f"{self.path} is a table of {self.platform}, and this format is for {platform}: "
                f"export with the format {str(self.platform).lower()!r}, or give {platform}'s table"
            )


@dataclass(frozen=True, slots=True)
class Matching:
    """Our student of each row of the people, by the row's number; and a note for all left over."""

    student_of: Mapping[int, str]
    notes: tuple[str, ...]
    left_over: tuple[str, ...]


def read_roster(path: Path) -> Roster:
    """The table that Canvas or Moodle exported; raises `UserError` that says which one it must be.

    Both separators that the platforms write are read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read as a CSV file in UTF-8: {error}") from error
    first = text.partition("\n")[0]
    separator = ";" if first.count(";") > first.count(",") else ","
    try:
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise UserError(f"{path}: not a CSV file: {error}; download it once more") from error
    columns = tuple(cell.strip() for cell in table[0]) if table else ()
    platform = _platform(path, columns)
    rows = [_row(columns, cells) for cells in table[1:] if any(cell.strip() for cell in cells)]
    return Roster(
        path=path,
        platform=platform,
        columns=columns,
        people=tuple(row for row in rows if not _is_nobody(row)),
        other=tuple(row for row in rows if _is_nobody(row)),
    )


def _platform(path: Path, columns: tuple[str, ...]) -> Platform:
    if {"Identifier", "Grade"} <= set(columns):
        return Platform.MOODLE
    if "Student" in columns and set(_CANVAS_IDS[1:]) & set(columns):
        return Platform.CANVAS
    raise UserError(
        f"{path}: neither a Canvas gradebook (columns Student, ID, SIS User ID, SIS Login ID, "
        "Section) nor a Moodle grading worksheet (Identifier, Full name, Grade); its columns are: "
        f"{', '.join(columns)[:200] or 'none'}. Set the platform's language to English and "
        "download it once more."
    )


def _row(columns: tuple[str, ...], cells: list[str]) -> Row:
    filled = [*cells, *[""] * (len(columns) - len(cells))]
    row: dict[str, str] = {}
    for column, cell in zip(columns, filled, strict=False):
        row.setdefault(column, cell)
    return row


def _is_nobody(row: Row) -> bool:
    if "Student" not in row:
        return False
    # without a name or number it is the row of posting policies
    said = [row.get(column, "").strip() for column in _CANVAS_IDS]
    return row["Student"].strip() in _NOBODY or not any(said)


def match(roster: Roster, students: Iterable[str]) -> Matching:
    """Finds each student of ours in a roster; who is not found, or not for certain, is noted."""
    tiers = [_index(roster, tier) for tier in range(_TIERS)]
    names, file = sorted(set(students)), roster.path.name
    claims: dict[int, list[str]] = {}
    notes: list[str] = []
    for student in names:
        found = _find(student, tiers)
        if len(found) == 1:
            claims.setdefault(found.pop(), []).append(student)
        elif found:
            notes.append(f"{student!r} may be any of {len(found)} people of {file}")
        else:
            notes.append(f"{student!r} is not in {file}")
    for number, rivals in claims.items():
        if len(rivals) > 1:
            same = ", ".join(map(repr, rivals))
            notes.append(f"{same} may all be {label(roster.people[number])} of {file}")
    student_of = {number: rivals[0] for number, rivals in claims.items() if len(rivals) == 1}
    notes += [
        f"{label(person)} of {file} has no result here"
        for number, person in enumerate(roster.people)
        if number not in claims
    ]
    matched = set(student_of.values())
    return Matching(student_of, tuple(notes), tuple(n for n in names if n not in matched))


def _index(roster: Roster, tier: int) -> dict[str, set[int]]:
    index: dict[str, set[int]] = {}
    for number, person in enumerate(roster.people):
        for key in _KEYS[roster.platform](person)[tier]:
            if key := normal(key):
                index.setdefault(key, set()).add(number)
    return index


def _find(student: str, tiers: list[dict[str, set[int]]]) -> set[int]:
    """Whom the surest kind of key knows a student as."""
    key = normal(student)
    return next((set(found) for tier in tiers if (found := tier.get(key))), set())


def label(person: Row) -> str:
    """A person as a roster calls them."""
    return repr(person.get("Student") or person.get("Full name") or person.get("Identifier", ""))


def normal(text: str) -> str:
    """A name or identifier without what differs by accident: case, accents' form, spaces around."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _canvas_keys(person: Row) -> tuple[list[str], ...]:
    """Surest first: identifiers, Canvas's own number, the name as its downloads write it."""
    name, number = person.get("Student", ""), person.get("ID", "")
    last, comma, first = (part.strip() for part in name.partition(","))
    joined = re.sub(r"[\W_]", "", f"{last}{first}".lower())
    login = person.get("SIS Login ID", "")
    return (
        [login, person.get("SIS User ID", ""), person.get("Integration ID", "")],
        [number, f"{joined}_{number}" if number else ""],
        [name, f"{first} {last}" if comma else "", joined, login.partition("@")[0]],
    )


def _moodle_keys(person: Row) -> tuple[list[str], ...]:
    """Surest first: identifiers, Moodle's number for this assignment, the name."""
    name, mail = person.get("Full name", ""), person.get("Email address", "")
    identifier = person.get("Identifier", "")
    number = identifier.removeprefix(PARTICIPANT).strip()
    return (
        [person.get("ID number", ""), person.get("Username", ""), mail],
        [identifier, f"{name}_{number}" if number else ""],
        [name, mail.partition("@")[0]],
    )


_KEYS: Mapping[Platform, Callable[[Row], tuple[list[str], ...]]] = {
    Platform.CANVAS: _canvas_keys,
    Platform.MOODLE: _moodle_keys,
}
