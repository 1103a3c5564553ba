"""Reads the people in a class from `roster.csv`, and finds the person whom a name identifies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path

from ..deadlines import parse_duration
from ..errors import UserError
from ..submission.class_files import ROSTER_FILE
from .matching import (
    Identity,
    Index,
    canvas_number,
    in_any_order,
    number_in,
    only_item,
    repository_login,
)
from .origins import read_origins
from .tables import read_table


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in the class; unknown fields are empty.

    `student` is the name below `submitted/`, or an identifier from a platform. `grader` is the
    teaching assistant or tutor who grades this person's work, and `extra_time` is added to every
    due date. Semicolons separate several sections or groups. `number` is the Canvas number, or the
    Moodle number with the word before it (`Participant 17`). `git_login` is the login in a code
    classroom.
    """

    student: str
    name: str = ""
    email: str = ""
    section: str = ""
    extra_time: str = ""
    number: str = ""
    grader: str = ""
    login: str = ""
    sis_id: str = ""
    group: str = ""
    git_login: str = ""

    @property
    def identity(self) -> Identity:
        """The identifiers and names by which other systems may identify this person."""
        ids = (self.student, self.email, self.login, self.sis_id)
        names = (self.name, self.student)
        numbers = [canvas_number(self.number)] if self.number.isdigit() else []
        numbers += [repository_login(self.git_login)] if self.git_login else []
        return Identity(tuple(filter(None, ids)), number_in(self.number), names, tuple(numbers))

    @property
    def sections(self) -> tuple[str, ...]:
        return tuple(
            part
            for text in (self.section, self.group)
            for part in dict.fromkeys((text, *(p.strip() for p in text.split(";"))))
            if part
        )

    @property
    def extra(self) -> timedelta:
        """The extra time; raises `ValueError` if the text is not a duration."""
        return parse_duration(self.extra_time) if self.extra_time else timedelta()


ROSTER_COLUMNS = tuple(field.name for field in fields(Person))


class Roster:
    """The people in a class; finds the person whom a student's name identifies."""

    def __init__(
        self, people: Sequence[Person], also: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """`also` contains the names that platforms used for students in their last submissions."""
        self.people = tuple(people)
        self._index = Index([person.identity for person in self.people])
        self._also = also or {}

    def person(self, student: str) -> Person | None:
        """Returns the person whom a student's name identifies, or None if that is not certain."""
        number = only_item(self._find(student))
        return None if number is None else self.people[number]

    @property
    def logins(self) -> Mapping[str, str]:
        """Maps logins in a code classroom, in lower case, to students."""
        return {p.git_login.casefold(): p.student for p in self.people if p.git_login}

    def namesake(self, student: str) -> Person | None:
        """Returns the only person whose name has the same parts, in any order, or None."""
        wanted = in_any_order(student)
        number = only_item(n for n, p in enumerate(self.people) if in_any_order(p.name) == wanted)
        return None if number is None else self.people[number]

    def without(self, students: Iterable[str]) -> tuple[Person, ...]:
        """Returns the people to whom no name in `students` can refer, in roster order."""
        known = {number for student in students for number in self._find(student)}
        return tuple(p for number, p in enumerate(self.people) if number not in known)

    def _find(self, student: str) -> frozenset[int]:
        names = (student, *self._also.get(student, ()))
        found = [people for name in names if (people := self._index.find(name))]
        return next((people for people in found if len(people) == 1), *found[:1] or [frozenset()])


def read_roster(class_folder: Path) -> Roster:
    """Returns a class's roster, or an empty one; raises `UserError` for a malformed table."""
    path = class_folder / ROSTER_FILE
    people = checked([Person(**row) for row in read_table(path, ROSTER_COLUMNS)], path)
    return Roster(people, _called_now(class_folder) if people else None)


def _called_now(class_folder: Path) -> Mapping[str, Sequence[str]]:
    """Returns the names that platforms used for each student in their latest submissions."""
    found: dict[str, list[str]] = {}
    for origin in read_origins(class_folder).values():
        found.setdefault(origin.student, []).extend(origin.lasting_names)
    return found


def checked(people: Sequence[Person], path: Path) -> tuple[Person, ...]:
    """Returns the people; raises `UserError` if two have the same name, or for bad extra time."""
    seen: set[str] = set()
    for person in people:
        if person.student in seen:
            same = [p for p in people if p.student == person.student]
            who = " and ".join(repr(p.name or p.email) for p in same[:2])
            raise UserError(
                f"{path}: {who} both have {person.student!r} as their identifier: correct one of "
                "the rows"
                if same[0].name != same[1].name
                else f"{path}: {person.student!r} occurs twice: remove one of the rows"
            )
        seen.add(person.student)
        try:
            _ = person.extra
        except ValueError as error:
            raise UserError(f"{path}: extra time for {person.student!r}: {error}") from error
    return tuple(people)
