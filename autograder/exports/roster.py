"""Reads a learning platform's list of students, and matches it with the class's students."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..classroom import (
    Columns,
    Identity,
    Index,
    Role,
    canvas_number,
    in_english,
    is_number,
    moodle_number,
    normal,
    number_in,
    only_item,
    read_csv,
    without_group,
)
from ..errors import UserError
from ..results.last import keys_of
from .class_grades import Grades

Row = Mapping[str, str]
#: the assignments in which each student has a result
Works = Mapping[str, frozenset[str]]

#: the name of the row that contains the maxima in a Canvas gradebook
POINTS_POSSIBLE = "Points Possible"
_CANVAS_IDS = ("Student", "ID", "SIS User ID", "SIS Login ID")
#: if more people than this are in only one list, a single note names some of them
_MOST_LINES, _MOST_NAMES = 5, 10
_NOBODY = ("Points Possible", "Manual Posting", "Student, Test")
#: columns that reliably identify a person, on either platform
_IDENTIFIERS = (
    *("SIS Login ID", "SIS User ID", "Integration ID"),
    *("ID number", "Username", "Email address"),
)


class Platform(enum.StrEnum):
    CANVAS = "Canvas"
    MOODLE = "Moodle"


@dataclass(frozen=True, slots=True)
class Roster:
    """A platform's table: its columns, the rows about people, and the other rows.

    `headings` maps the columns' English names to the headings in the file's language.
    """

    path: Path
    platform: Platform
    columns: tuple[str, ...]
    people: tuple[Row, ...]
    other: tuple[Row, ...] = ()
    headings: Mapping[str, str] = field(default_factory=dict)

    def must_be_of(self, platform: Platform) -> None:
        """Raises `UserError` if the roster comes from a different platform."""
        if self.platform is not platform:
            raise UserError(
                f"{self.path} is a table from {self.platform}, but this format is for {platform}: "
                f"export with the format {str(self.platform).lower()!r}, or give {platform}'s table"
            )


@dataclass(frozen=True, slots=True)
class Matching:
    """The students who match each row, keyed by row number, and a note about every mismatch.

    A person whose name differs on two platforms has several folders, each with different
    assignments; `works` contains each student's assignments. `left_over` contains students without
    a row, `doubts` says why they have no row, and `in_doubt` contains the rows that may be theirs.
    `waiting` contains the rows for people in the class who have no result.
    """

    students_of: Mapping[int, Sequence[str]]
    works: Works
    notes: tuple[str, ...]
    left_over: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    in_doubt: frozenset[int] = frozenset()
    waiting: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def name_of(self, row: int, assignment: str) -> str | None:
        """Returns the name of the student in the given row, or "" if the class has no such student.

        A person with several folders has a different name in each; `assignment` selects one of
        these names. Returns None if the row may belong to a student whose grade can't be assigned,
        because it is then uncertain whether the grade is missing.
        """
        found = self.students_of.get(row) or self.waiting.get(row, ())
        has_work = (name for name in found if assignment in self.works.get(name, ()))
        first = found[0] if found else None if row in self.in_doubt else ""
        return next(has_work, first)


def read_roster(path: Path) -> Roster:
    """Reads a table exported from Canvas or Moodle; raises `UserError` for any other table.

    Accepts the column separators of both platforms, and Moodle's worksheet in any language.
    """
    theirs, rows = read_csv(path)
    columns, rows = in_english(theirs, rows)
    platform = _platform(path, columns)
    return Roster(
        path=path,
        platform=platform,
        columns=columns,
        people=tuple(row for row in rows if not _is_nobody(row)),
        other=tuple(row for row in rows if _is_nobody(row)),
        headings=dict(zip(columns, theirs, strict=True)),
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
        "download it again."
    )


def _is_nobody(row: Row) -> bool:
    if "Student" not in row:
        return False
    # a row without a name or number is not about a person: it contains posting policies
    ids = [row.get(column, "").strip() for column in _CANVAS_IDS]
    return row["Student"].strip() in _NOBODY or not any(ids)


def match_grades(roster: Roster, grades: Grades) -> Matching:
    """Finds a roster's rows for the students with grades and for the people without grades."""
    works: dict[str, frozenset[str]] = {}
    for student, assignment in keys_of(grades.results):
        works[student] = works.get(student, frozenset()) | {assignment}
    matching = match(roster, works, grades.known_as)
    without = match(roster, dict.fromkeys(grades.people_without, frozenset()), grades.known_as)
    return replace(matching, waiting=without.students_of)


def match(
    roster: Roster, works: Works, known_as: Mapping[str, Sequence[str]] | None = None
) -> Matching:
    """Finds each of the class's students in a roster; notes who is missing or ambiguous.

    `known_as` contains each student's other names. A group that submitted together matches all its
    members.
    """
    index = Index([_identity(person) for person in roster.people])
    groups = _groups(roster)
    names, file = sorted(works), roster.path.name
    claims: dict[int, list[str]] = {}
    notes: list[str] = []
    strangers: list[str] = []
    in_doubt: set[int] = set()
    for student in names:
        others = (known_as or {}).get(student, ())
        numbers = [name for name in others if is_number(name)]
        names_of_student = [name for name in (student, *others) if name not in numbers]
        if another := _row_of_another(roster, index, numbers, names_of_student):
            notes.append(
                f"{student!r} has the number of {label(another)} in {file}: because the name "
                "does not match, this may be a group's number; import a roster with the "
                "groups, or with this person"
            )
            numbers = []
        found = _found(index, (*numbers, *names_of_student))
        members = groups.get(normal(student)) or groups.get(normal(student.rpartition("_")[0]), ())
        if len(found) == 1 or (not found and members):
            for number in found or members:
                claims.setdefault(number, []).append(student)
        elif found:
            in_doubt |= found
            notes.append(
                f"{student!r} may be any of {len(found)} people in {file}: write the number or "
                "login that the platform has for this student into the class's roster.csv"
            )
        else:
            strangers.append(repr(student))
    several = {number for number, rivals in claims.items() if _overlap(rivals, works)}
    for number, rivals in claims.items():
        if number in several:
            same = ", ".join(map(repr, rivals))
            notes.append(
                f"{same} may all be {label(roster.people[number])} in {file}: write the "
                "number or login of the right one into the class's roster.csv"
            )
    students_of = {number: found for number, found in claims.items() if number not in several}
    notes += _summed(strangers, f"is not in {file}", f"students are not in {file}")
    doubts = tuple(notes)
    notes += _summed(
        [label(person) for number, person in enumerate(roster.people) if number not in claims],
        f"in {file} has no result here", f"people in {file} have no result here",
    )  # fmt: skip
    matched = {name for found in students_of.values() for name in found}
    left_over = tuple(name for name in names if name not in matched)
    rows = frozenset(in_doubt | several)
    return Matching(students_of, works, tuple(notes), left_over, doubts, rows)


def _overlap(students: Sequence[str], works: Works) -> bool:
    """Returns whether several students share an assignment, or one of several has no assignment."""
    own = [works[student] for student in students]
    return len(own) > 1 and (not all(own) or len(frozenset().union(*own)) < sum(map(len, own)))


def _summed(labels: Sequence[str], of_one: str, of_many: str) -> list[str]:
    """Returns a note about each person or, if there are many, one note that names some of them."""
    if len(labels) <= _MOST_LINES:
        return [f"{person} {of_one}" for person in labels]
    some = ", ".join(labels[:_MOST_NAMES])
    more = f" and {len(labels) - _MOST_NAMES} more" if len(labels) > _MOST_NAMES else ""
    return [f"{len(labels)} {of_many}: {some}{more}"]


def _found(index: Index, names: Sequence[str]) -> frozenset[int]:
    """Returns the row that one of the names identifies, or all rows that a name may mean."""
    several = [found for name in names if (found := index.find(name))]
    certain = (found for found in several if len(found) == 1)
    return next(certain, several[0] if several else frozenset())


def _row_of_another(
    roster: Roster, index: Index, numbers: Sequence[str], names: Sequence[str]
) -> Row | None:
    """Returns the row that matches Moodle's number but none of the names, or None.

    Such a row may belong to somebody else: after a group's name, Moodle writes the group's number,
    which may also be a person's number in the assignment. With blind marking, rows have no names,
    so None is returned.
    """
    if roster.platform is not Platform.MOODLE:
        return None
    found = only_item({row for number in numbers for row in index.find(number)})
    if found is None or not roster.people[found].get("Full name"):
        return None
    every = [part for name in names for part in (name, *without_group(name))]
    fits = any(found in index.find(name) for name in every)
    return None if fits else roster.people[found]


def _groups(roster: Roster) -> Mapping[str, tuple[int, ...]]:
    """Returns the rows of each group's members, keyed by the group's name in Moodle's files."""
    found: dict[str, list[int]] = {}
    columns = Columns(roster.columns, roster.people)
    for number, person in enumerate(roster.people):
        values = columns.values_of(person)
        if group := values.get(Role.GROUP) if values else "":
            found.setdefault(normal(group.replace("_", " ")), []).append(number)
    return {group: tuple(members) for group, members in found.items()}


def label(person: Row) -> str:
    """Returns a person's name in the roster, in quotes."""
    return repr(person.get("Student") or person.get("Full name") or person.get("Identifier", ""))


def number_of(person: Row) -> str:
    """Returns a person's number in the Canvas course, or in the Moodle assignment."""
    text = person.get("ID") or person.get("Identifier", "")
    return number_in(text)


def _identity(person: Row) -> Identity:
    ids = [person.get(column, "") for column in _IDENTIFIERS]
    if person.get("ID") and "Student" in person:
        ids.append(canvas_number(person["ID"]))
    if person.get("Identifier"):
        ids.append(moodle_number(number_in(person["Identifier"])))
    names = (person.get("Student", ""), person.get("Full name", ""))
    return Identity(tuple(filter(None, ids)), number_of(person), tuple(filter(None, names)))
