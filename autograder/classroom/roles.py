"""Recognizes the columns in a list of people, whether a platform or a person made the list.

A column is recognized by its English or German heading; if the heading is ambiguous, the cells
below it decide. No other module interprets the columns of rosters, exports and tables of times.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .matching import Identity, number_in, squashed
from .tables import Row


class Role(enum.StrEnum):
    """The meaning of a column in a list of people."""

    STUDENT = "student"
    NAME = "name"
    FIRST = "first"
    LAST = "last"
    EMAIL = "email"
    LOGIN = "login"
    SIS = "sis_id"
    REPOSITORY = "repository"
    NUMBER = "number"
    SECTION = "section"
    GROUP = "group"
    ROLE = "role"
    EXTRA_TIME = "extra_time"
    GRADER = "grader"


#: the headings for each role, in lower case without punctuation; the first column with a value
#: counts, unless a person may have several values for the role
_HEADINGS: Mapping[Role, tuple[str, ...]] = {
    Role.STUDENT: ("student", "studentin", "studierende"),
    Role.NAME: (
        "name",
        "fullname",
        "studentname",
        "vollständigername",
        "displayname",
        "anzeigename",
        "vorundnachname",
        "nachundvorname",
    ),
    Role.FIRST: ("firstname", "givenname", "forename", "vorname"),
    Role.LAST: ("lastname", "surname", "familyname", "nachname", "familienname"),
    Role.EMAIL: ("email", "emailaddress", "mail", "emailadresse", "mailadresse"),
    Role.LOGIN: (
        *("sisloginid", "login", "loginid", "username", "benutzername", "anmeldename"),
        *("kennung", "benutzerkennung", "nutzername"),
    ),
    Role.SIS: (
        *("sisuserid", "sisid", "idnumber", "idnummer", "sid", "studentid", "integrationid"),
        *("matrikelnummer", "matriculationnumber", "matrikelnr"),
    ),
    Role.REPOSITORY: ("githubusername", "gitlabusername", "gitlogin"),
    Role.NUMBER: ("number", "nummer", "id", "identifier", "rosteridentifier", "id_"),
    Role.SECTION: ("section", "sections", "sektion", "sectionname", "abschnitt", "kurs"),
    Role.GROUP: ("group", "groups", "gruppe", "gruppen", "team"),
    Role.ROLE: ("role", "roles", "rolle", "rollen"),
    Role.EXTRA_TIME: (
        *("extratime", "zusatzzeit", "verlängerung", "zeitverlängerung", "zeitzuschlag"),
        "extrazeit",
    ),
    Role.GRADER: ("grader", "ta", "tutor", "tutorin", "marker"),
}
_SEVERAL = frozenset((Role.SECTION, Role.GROUP))
_ROLE_OF = {heading: role for role, headings in _HEADINGS.items() for heading in headings}
#: the unit in a heading such as `extra time (days)`, which applies to numbers without a unit
_UNIT = re.compile(
    f"({'|'.join(_HEADINGS[Role.EXTRA_TIME])})(?:in)?"
    "(?:(?P<d>days?|tagen?|d)|(?P<h>hours?|stunden?|h)|(?P<min>minutes?|minuten?|min))"
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
#: Canvas's gradebook, in which "Student" is a person's name, always has one of these columns
_CANVAS = frozenset(("sisuserid", "sisloginid"))
#: rows in Canvas's gradebook that are not about people
_NOBODY = ("Points Possible", "Manual Posting", "Student, Test")
_PARTICIPANT = re.compile(r"\D+\s?\d+")
_STAFF = re.compile(
    r"\b(teacher|instructor|lecturer|professor|ta|teaching ?assistant|tutor|manager|grader|"
    r"trainer|dozent|lehrend|lehrer|observer|reader|editingteacher|non-editing)",
    re.IGNORECASE,
)
#: separators between sections, in a string in which all white space is single spaces
_SEPARATORS = re.compile(r" ?[;,] ?(?:and )?| and | und ")


@dataclass(frozen=True, slots=True)
class RoleValues:
    """A person's values in a row, keyed by role; missing values are empty."""

    roles: Mapping[Role, str] = field(default_factory=dict)

    def get(self, role: Role) -> str:
        """Returns the value for a role, or "" if it is missing."""
        return self.roles.get(role, "")

    @property
    def name(self) -> str:
        """The person's name, joined from its parts if these have separate columns."""
        parts = f"{self.get(Role.FIRST)} {self.get(Role.LAST)}".strip()
        return self.get(Role.NAME) or parts

    @property
    def key(self) -> str:
        """The name to use below `submitted/` for a person who has no folder there yet."""
        roles = (Role.STUDENT, Role.LOGIN, Role.SIS, Role.EMAIL, Role.REPOSITORY)
        found = (self.get(role) for role in roles)
        return next(filter(None, found), "") or number_in(self.get(Role.NUMBER))

    @property
    def is_staff(self) -> bool:
        """True if the person teaches."""
        return bool(_STAFF.search(self.get(Role.ROLE)))

    @property
    def identity(self) -> Identity:
        """The identifiers and names by which other systems may identify this person."""
        ids = (self.get(r) for r in (Role.STUDENT, Role.EMAIL, Role.LOGIN, Role.SIS))
        names = tuple(filter(None, (self.name, self.get(Role.STUDENT))))
        return Identity(tuple(filter(None, ids)), number_in(self.get(Role.NUMBER)), names)


class Columns:
    """The columns of a table, and their roles."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self._columns: list[tuple[str, Role]] = []
        self._units = {c: unit[1] for c in columns if (unit := _heading_and_unit(c))[1]}
        headings = {column: _heading_and_unit(column)[0] for column in columns}
        self._headings = tuple(headings)
        self.is_canvas = bool(_CANVAS.intersection(headings.values()))
        for column, heading in headings.items():
            role = _ROLE_OF.get(heading)
            if role is Role.STUDENT and self.is_canvas:
                role = Role.NAME
            if role is Role.NUMBER and not _are_numbers(column, rows):
                role = Role.STUDENT
            if role is not None:
                self._columns.append((column, role))
        order = {name: n for names in _HEADINGS.values() for n, name in enumerate(names)}
        self._columns.sort(key=lambda found: order[headings[found[0]]])

    @property
    def unused(self) -> tuple[str, ...]:
        """The headings of the columns that are not used."""
        used = {column for column, _ in self._columns}
        return tuple(name for name in self._headings if name and name not in used)

    @property
    def roles(self) -> frozenset[Role]:
        """The roles for which the table has columns."""
        return frozenset(role for _, role in self._columns)

    def values_of(self, row: Row) -> RoleValues | None:
        """Returns the values in a row, or None if the row is not about a person."""
        roles: dict[Role, str] = {}
        for column, role in self._columns:
            if text := row.get(column, "").strip():
                if _NUMBER.fullmatch(text) and column in self._units:
                    text = f"{text.replace(',', '.')} {self._units[column]}"
                before = roles.setdefault(role, text)
                if role in _SEVERAL and text != before:
                    roles[role] = f"{before}; {text}"
        if self.is_canvas and roles.get(Role.NAME) in _NOBODY:
            return None
        if "@" in roles.get(Role.STUDENT, "") + roles.get(Role.LOGIN, ""):
            address = next(t for r in (Role.STUDENT, Role.LOGIN) if "@" in (t := roles.get(r, "")))
            roles.setdefault(Role.EMAIL, address)
        if "@" not in roles.get(Role.EMAIL, "@"):
            del roles[Role.EMAIL]
        values = RoleValues(roles)
        return values if values.key or values.name else None


def _heading_and_unit(column: str) -> tuple[str, str]:
    """Normalizes a heading, and returns the unit that it contains, or "".

    For example, `Section 2` becomes the heading for sections, without a unit.
    """
    squeezed = squashed(column)
    if found := _UNIT.fullmatch(squeezed):
        return found[1], str(found.lastgroup)
    unnumbered = squeezed.rstrip("0123456789")
    return (unnumbered if _ROLE_OF.get(unnumbered) in _SEVERAL else squeezed), ""


def _are_numbers(column: str, rows: Iterable[Row]) -> bool:
    """Returns whether a column contains platform numbers, such as `101` or `Participant 17`."""
    texts = [text for row in rows if (text := row.get(column, "").strip())]
    return all(text.isdigit() or _PARTICIPANT.fullmatch(text) for text in texts)


def parts_of(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Splits a cell into sections at `;`, or at a different separator if all parts are `known`."""
    whole = " ".join(text.split())
    parts = tuple(filter(None, _SEPARATORS.split(whole)))
    if len(parts) > 1 and (";" in whole or set(parts) <= set(known) - {whole}):
        return parts
    return (whole,) if whole else ()
