"""Who is in the class: `roster.csv` of the class folder, made from any platform's list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path

from ..deadlines import parse_duration
from ..errors import UserError
from .matching import Identity, Index, number_in, only, squashed
from .origins import read_origins
from .tables import Row, change_table, read_csv, read_table
from .worksheets import in_english

ROSTER_FILE = "roster.csv"

#: what platforms and people call the columns, by ours; the first that is there counts
_NAMES: Mapping[str, tuple[str, ...]] = {
    "student": (
        *("student", "SIS Login ID", "SIS User ID", "identifier", "roster_identifier", "Username"),
        *("ID number", "SID", "login", "username", "Email address", "Email", "github_username"),
        *("ID", "Identifier"),
    ),
    "name": ("name", "Student", "Full name", "Name", "full_name"),
    "email": ("email", "Email address", "Email", "e-mail", "E-mail", "SIS Login ID"),
    "section": ("section", "Section", "Sections", "Group", "Groups", "group"),
    "extra_time": ("extra_time", "extra time", "Extra time"),
    "number": ("number", "ID", "Identifier"),
    "grader": ("grader", "TA", "ta", "tutor", "Tutor", "marker"),
}
#: what was known stays where a newer list has no column for it
_KEPT = ("name", "email", "section", "extra_time", "number", "grader")
#: rows of Canvas's gradebook that are nobody's
_NOBODY = ("Points Possible", "Manual Posting", "Student, Test")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the class; what is not known is empty. `extra_time` is added to every due date.

    `grader` is who looks after this person's work: a teaching assistant, a tutor.
    `student` is the name below `submitted/`, or an identifier of the platform.
    """

    student: str
    name: str = ""
    email: str = ""
    section: str = ""
    extra_time: str = ""
    number: str = ""
    grader: str = ""

    @property
    def identity(self) -> Identity:
        """How other places may call this person."""
        return Identity((self.student, self.email), self.number, (self.name, self.student))

    @property
    def extra(self) -> timedelta:
        """The extra time; raises `ValueError` for a text that is not a duration."""
        return parse_duration(self.extra_time) if self.extra_time else timedelta()


_COLUMNS = tuple(field.name for field in fields(Person))


class Roster:
    """The people of a class, and which of them a student's name is."""

    def __init__(
        self, people: Sequence[Person], also: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """`also` is how a platform calls students now whose name here nobody of the list has."""
        self.people = tuple(people)
        self._index = Index([person.identity for person in self.people])
        self._also = also or {}

    def person(self, student: str) -> Person | None:
        """Whom a student's name stands for; None where that is not certain."""
        number = only(self._find(student))
        return None if number is None else self.people[number]

    def without(self, students: Iterable[str]) -> tuple[Person, ...]:
        """The people that none of these names may stand for, in the roster's order."""
        known = {number for student in students for number in self._find(student)}
        return tuple(p for number, p in enumerate(self.people) if number not in known)

    def _find(self, student: str) -> frozenset[int]:
        names = (student, *self._also.get(student, ()))
        return next(filter(None, map(self._index.find, names)), frozenset())


@dataclass(frozen=True, slots=True)
class RosterChange:
    """What a new list of the class changed."""

    people: tuple[Person, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


def read_roster(class_folder: Path) -> Roster:
    """The roster of a class, empty where none was given; raises `UserError` for a broken one."""
    path = class_folder / ROSTER_FILE
    people = _checked([Person(**row) for row in read_table(path, _COLUMNS)], path)
    return Roster(people, _called_now(class_folder) if people else None)


def _called_now(class_folder: Path) -> Mapping[str, Sequence[str]]:
    """What tells a student for certain on the platform that the last work came from."""
    found: dict[str, list[str]] = {}
    for origin in read_origins(class_folder).values():
        numbered = f"{squashed(origin.name)}_{origin.number}" if origin.is_canvas else ""
        names = filter(None, (numbered, origin.email))
        found.setdefault(origin.student, []).extend(names)
    return found


def write_roster(class_folder: Path, source: Path) -> RosterChange:
    """Makes a list of people the class's roster.

    The list is Canvas's gradebook, Moodle's worksheet, GitHub Classroom's roster, Gradescope's, or
    any CSV file with the columns student, name, email, section, extra_time, grader. What was
    known of people stays where the list has no such column. Raises `UserError`.
    """
    columns, rows = in_english(*read_csv(source))
    if not set(columns) & set(_NAMES["student"]):
        raise UserError(
            f"{source}: no list of people: expected a column such as 'student', 'SIS Login ID', "
            f"'Email address' or 'identifier'; got: {', '.join(columns)[:200] or 'none'}"
        )
    people = _checked([person for row in rows if (person := person_of(row))], source)
    before: dict[str, Person] = {}

    def change(old: list[dict[str, str]]) -> list[Row]:
        before.update({row["student"]: Person(**row) for row in old})
        kept = [name for name in _KEPT if not set(columns) & set(_NAMES[name])]
        return [_row(person, before.get(person.student), kept) for person in people]

    change_table(class_folder / ROSTER_FILE, _COLUMNS, change)
    now = {person.student for person in people}
    return RosterChange(
        tuple(read_roster(class_folder).people),
        added=tuple(person.student for person in people if person.student not in before),
        removed=tuple(student for student in before if student not in now),
    )


def _row(person: Person, before: Person | None, kept: Iterable[str]) -> Row:
    row = {column: str(getattr(person, column)) for column in _COLUMNS}
    return row | {column: str(getattr(before, column)) for column in kept if before}


def person_of(row: Row) -> Person | None:
    """The person of a row of any platform's table; None for rows of nobody."""
    said = {
        ours: next(filter(None, (row.get(name, "").strip() for name in names)), "")
        for ours, names in _NAMES.items()
    }
    if row.get("Student", "").strip() in _NOBODY or not said["student"]:
        return None
    mail = said["email"] if "@" in said["email"] else ""
    number = number_in(said["number"])
    return Person(**{**said, "email": mail, "number": number})


def _checked(people: Sequence[Person], path: Path) -> tuple[Person, ...]:
    seen: set[str] = set()
    for person in people:
        if person.student in seen:
            raise UserError(f"{path}: {person.student!r} is there twice: leave one of the rows")
        seen.add(person.student)
        try:
            _ = person.extra
        except ValueError as error:
            raise UserError(f"{path}: extra time of {person.student!r}: {error}") from error
    return tuple(people)
