"""Merges lists of people from platforms into a class's `roster.csv`.

A list is matched with the people on the roster. Merging a list can add people and update entries,
but never removes anybody or clears an entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..errors import UserError
from ..submission.class_files import ROSTER_FILE
from .matching import Index, in_any_order, normal, number_in, only_item, squashed
from .people import ROSTER_COLUMNS, Person, checked, read_roster
from .roles import Columns, Role, RoleValues, parts_of
from .tables import Row, change_table, read_csv
from .worksheets import in_english

_SEVERAL = "; "
#: how many unused columns a note names
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class RosterChange:
    """The changes that a list of people makes to the roster, and the `people` on the new roster.

    `added` contains people who are only in the list, and `not_in_list` contains people who are only
    on the roster. `staff` contains people who teach and are therefore not students. `doubts`
    contains sentences about two entries that may or may not be the same person. `updated` contains
    people whose entries change, and `replaced` contains the columns with replaced entries.
    `students` contains the roster's names for the people in the list, and `unused` the list's
    columns that were not used.
    """

    people: tuple[Person, ...]
    added: tuple[str, ...]
    not_in_list: tuple[str, ...]
    staff: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    students: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PeopleList:
    """A list of people from the file `source`, whose name appears in messages.

    If `has_sure_numbers` is true, the numbers come from Canvas itself, so equal numbers mean the
    same person even if the names differ. `unused` contains the columns that were not used.
    """

    people: tuple[Person, ...]
    source: Path
    staff: tuple[str, ...] = ()
    has_sure_numbers: bool = False
    unused: tuple[str, ...] = ()


def write_roster(class_folder: Path, source: Path) -> RosterChange:
    """Merges a list of people into the class's roster.

    The list is Canvas's gradebook, Moodle's worksheet or list of participants, the roster of GitHub
    Classroom or Gradescope, or any CSV file with columns about people, such as student, name,
    email, section, extra_time and grader. Raises `UserError` for a file that is not a list of
    people.
    """
    return write_people(class_folder, listed_people(*in_english(*read_csv(source)), source))


def unused_columns_note(change: RosterChange) -> str:
    """Returns a note that names the columns of a list that were not used, or "" if there are none.

    A list may have a column for each of many assignments, so only the first few are named.
    """
    more = len(change.unused) - _MOST_NAMED
    named = ", ".join(map(repr, change.unused[:_MOST_NAMED])) + (f" and {more} more" * (more > 0))
    return f"columns that were not used: {named}" if named else ""


def listed_people(columns: Sequence[str], rows: Sequence[Row], source: Path) -> PeopleList:
    """Returns the people in a table; raises `UserError` if no column identifies them."""
    roles = Columns(columns, rows)
    entries = [one for row in rows if (one := roles.values_of(row)) and one.key]
    staff = tuple(one.name or one.key for one in entries if one.is_staff)
    if not entries:
        raise UserError(
            f"{source}: not a list of people: expected a column such as 'student', 'SIS Login ID', "
            f"'Email address' or 'identifier'; got: {', '.join(columns)[:200] or 'none'}"
        )
    new = checked(people_of([one for one in entries if not one.is_staff]), source)
    return PeopleList(new, source, staff, unused=roles.unused)


def write_people(class_folder: Path, new: PeopleList) -> RosterChange:
    """Merges people into a class's roster; raises `UserError` if two people have the same name."""
    merges: list[_Merge] = []

    def change(old: list[dict[str, str]]) -> list[Row]:
        merges.append(_Merge([Person(**row) for row in old], new))
        return [asdict(person) for person in checked(merges[-1].people, new.source)]

    change_table(class_folder / ROSTER_FILE, ROSTER_COLUMNS, change)
    return replace(merges[-1].change, people=read_roster(class_folder).people)


def compare_people(class_folder: Path, new: PeopleList) -> RosterChange:
    """Returns the changes that `write_people` would make, without making them."""
    merge = _Merge(read_roster(class_folder).people, new)
    checked(merge.people, new.source)
    return merge.change


def people_of(entries: Sequence[RoleValues]) -> list[Person]:
    """Returns the people in the rows of a list; merges rows about the same person."""
    sections = {one.get(Role.SECTION) for one in entries}
    found: dict[str, Person] = {}
    others: list[Person] = []
    for person in (_person(one, sections) for one in entries):
        if (there := found.get(person.student)) is None:
            found[person.student] = person
        elif _is_same(there, person):
            found[person.student] = _in_both(there, person)
        else:
            others.append(person)
    return [*found.values(), *others]


def _is_same(one: Person, other: Person) -> bool:
    """Returns whether two rows with the same identifier are about the same person."""
    pairs = ((in_any_order(one.name), in_any_order(other.name)), (one.email, other.email))
    known = [(normal(p), normal(q)) for p, q in pairs if p and q]
    return bool(known) and all(p == q for p, q in known)


def _in_both(one: Person, other: Person) -> Person:
    """Merges two rows about one person; keeps the sections and groups of both."""
    several = {
        name: _SEVERAL.join(dict.fromkeys((*_parts(one, name), *_parts(other, name))))
        for name in ("section", "group")
    }
    return replace(_filled(other, one), **several)


def _parts(person: Person, column: str) -> list[str]:
    return [part for part in getattr(person, column).split(_SEVERAL) if part]


def _person(entry: RoleValues, sections: Iterable[str] = ()) -> Person:
    number = entry.get(Role.NUMBER)
    return Person(
        student=entry.key,
        name=entry.name,
        email=entry.get(Role.EMAIL),
        section=_SEVERAL.join(parts_of(entry.get(Role.SECTION), sections)),
        extra_time=entry.get(Role.EXTRA_TIME),
        number=number if number.isdigit() or not number else f"Participant {number_in(number)}",
        grader=entry.get(Role.GRADER),
        login=entry.get(Role.LOGIN),
        sis_id=entry.get(Role.SIS),
        group=_SEVERAL.join(parts_of(entry.get(Role.GROUP).replace(",", ";"), ())),
        git_login=entry.get(Role.REPOSITORY),
    )


class _Merge:
    def __init__(self, old: Sequence[Person], new: PeopleList) -> None:
        self._index = Index([person.identity for person in old])
        self._names = _names(old), _names(new.people)
        self._numbers = _numbers(old) if new.has_sure_numbers else {}
        self.people = list(old)
        self._doubts: list[str] = []
        students: list[str] = []
        added: list[Person] = []
        met: set[int] = set()
        for person in new.people:
            number = self._find(person)
            if number is None or number in met:
                added.append(person)
                students.append(person.student)
            else:
                met.add(number)
                self.people[number] = _filled(self.people[number], person)
                students.append(self.people[number].student)
        pairs = [(p, q) for p, q in zip(old, self.people, strict=True) if p != q]
        self.people += added
        self.change = RosterChange(
            people=tuple(self.people),
            added=tuple(person.student for person in added),
            not_in_list=tuple(p.student for n, p in enumerate(old) if n not in met),
            staff=new.staff,
            doubts=tuple(self._doubts),
            updated=tuple(there.student for there, _ in pairs),
            replaced=tuple(name for name in ROSTER_COLUMNS if _is_replaced(name, pairs)),
            students=tuple(students),
            unused=new.unused,
        )

    def _find(self, person: Person) -> int | None:
        """Returns the roster position of a person in the list, or None if that is uncertain."""
        if (number := self._numbers.get(person.number)) is not None:
            return number
        ids = (person.student, person.login, person.email, person.sis_id)
        accounts = (name.partition("@")[0] for name in ids if "@" in name)
        for name in filter(None, (*ids, *accounts)):
            if (number := only_item(self._index.find(name))) is not None and self._agrees(
                person, number, name
            ):
                return number
        if person.number and person.name:
            numbered = f"{squashed(person.name)}_{number_in(person.number)}"
            if (number := only_item(self._index.find(numbered))) is not None:
                return number
        return self._by_name(person)

    def _agrees(self, person: Person, number: int, name: str) -> bool:
        """Returns whether person `number` has the identifier `name` or a matching address."""
        there = self.people[number]
        ids = [*map(normal, (there.student, there.login, there.email, there.sis_id))]
        if normal(name) in ids:
            return True
        accounts = [text.partition("@")[0] for text in ids]
        has_other_address = there.email and person.email and there.email != person.email
        return normal(name) in accounts and not has_other_address

    def _by_name(self, person: Person) -> int | None:
        """Finds a person by a name unique in both lists, unless addresses or SIS IDs differ."""
        here, new = (names.get(in_any_order(person.name), ()) for names in self._names)
        same = [n for n in here if _may_be_one(self.people[n], person)]
        if len(here) == len(new) == len(same) == 1:
            return same[0]
        if others := same or (here if len(here) == len(new) == 1 else ()):
            who = " or ".join(repr(self.people[n].student) for n in others)
            self._doubts.append(
                f"{person.name!r} ({person.email or person.student}) may be {who}, but got a "
                "new row: if they are the same person, write the address and the SIS ID into the "
                "old row and remove the new one"
            )
        return None


def _may_be_one(one: Person, other: Person) -> bool:
    """Returns whether two people's email addresses, and their SIS IDs, are equal or unknown."""
    pairs = (one.email, other.email), (one.sis_id, other.sis_id)
    return all(not (p and q) or normal(p) == normal(q) for p, q in pairs)


def _numbers(people: Sequence[Person]) -> dict[str, int]:
    """Maps each Canvas number that belongs to only one person to that person's position."""
    found: dict[str, list[int]] = {}
    for place, person in enumerate(people):
        if person.number.isdigit():
            found.setdefault(person.number, []).append(place)
    return {number: places[0] for number, places in found.items() if len(places) == 1}


def _names(people: Sequence[Person]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, person in enumerate(people):
        if name := in_any_order(person.name):
            found.setdefault(name, []).append(number)
    return found


def _filled(there: Person, new: Person) -> Person:
    """Updates a person from a newer list; never clears an entry or changes `student`.

    A Canvas number is not replaced with a Moodle number, which belongs to only one assignment.
    """
    values = {name: text for name, text in asdict(new).items() if text and name != "student"}
    if there.number.isdigit() and not new.number.isdigit():
        values["number"] = there.number
    return replace(there, **values)


def _is_replaced(column: str, pairs: Iterable[tuple[Person, Person]]) -> bool:
    texts = ((getattr(p, column), getattr(q, column)) for p, q in pairs)
    return any(old and in_any_order(old) != in_any_order(new) for old, new in texts)
