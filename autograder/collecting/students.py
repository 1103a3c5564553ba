"""Finds the name of the folder in `submitted/` in which each person's files should be stored.

Platforms use different names for the same people. If the class's roster identifies somebody with
certainty, the roster's name is used, so that a person has the same folder for every platform.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from ..classroom import Origin, Person, Roster, normal, squashed, without_group
from ..escaping import for_file_name
from ..records import Key
from .platform_times import Times
from .platforms import CANVAS, CLASSROOM, GRADESCOPE, MOODLE, Owner


class Students:
    """Finds the name of the student who owns a file; students who have a folder keep their folder.

    This also holds if a student's name has changed, because people marry and misspelled names are
    corrected. In that case, the number that the platform gives must prove that the old and the new
    name belong to the same person.
    """

    def __init__(
        self, origins: Mapping[Key, Origin], roster: Roster, table: Times, submitted: Path
    ) -> None:
        self._submitted = submitted
        self._origins = origins
        self._roster = roster
        self._table = table
        self._before = {origin.student for origin in origins.values()}
        self._entries: defaultdict[str, set[str]] = defaultdict(set)
        self._keys: defaultdict[str, set[str]] = defaultdict(set)
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        self._named: defaultdict[str, set[str]] = defaultdict(set)
        self._owner_of: dict[str, tuple[str, str]] = {}
        self._renamed: dict[str, tuple[str, str]] = {}
        self._split: dict[str, str] = {}
        self._whole: dict[str, Path] = {}
        self._groups: defaultdict[str, list[Person]] = defaultdict(list)
        for person in roster.people:
            for group in filter(None, map(squashed, person.group.split(";"))):
                self._groups[group].append(person)

    def members(self, owner: Owner) -> tuple[Owner, ...]:
        """Returns an owner for each member of a group or, if `owner` is not a group, only `owner`.

        A group must be on the roster, and must not have the same name as a person on the roster. A
        clone never counts as a group's work, because students choose the names of their
        repositories. In Canvas, students can change their own names, so the number must belong to a
        member of the group.
        """
        group = self._groups.get(squashed(owner.student), ())
        is_named = owner.platform in (CANVAS, MOODLE, "") and not owner.email
        if not group or not is_named:
            return (owner,)
        numbers = {person.number for person in group} - {""}
        is_another = owner.platform == CANVAS and numbers and owner.number not in numbers
        if is_another or self._roster.person(owner.student):
            return (owner,)
        if (folder := self._submitted / for_file_name(owner.student)).exists():
            self._whole[owner.student] = folder
            return (owner,)
        self._split[owner.student] = ", ".join(person.student for person in group)
        return tuple(
            replace(
                owner,
                student=person.student,
                key=f"{owner.key} {person.student}",
                number=self._number_of(owner.platform, person),
            )
            for person in group
        )

    def _number_of(self, platform: str, person: Person) -> str:
        """Returns a person's own number in Moodle or Canvas, or "" if the number is unknown.

        In Moodle, people have a different number in each assignment, so only the assignment's
        worksheet contains the number.
        """
        if platform == MOODLE:
            return self._table.number_of(person)
        return person.number if platform == CANVAS and person.number.isdigit() else ""

    def know(self, owners: Iterable[Owner]) -> None:
        """Registers a download's owners, so that people with the same name get separate folders."""
        for owner in owners:
            self._entries[owner.key].add(owner.entry)
            if owner.name:
                self._named[owner.name].add(owner.student)
            if owner.number and not owner.email:
                self._keys[owner.student].add(owner.key)
                self._names[owner.number].add(owner.student)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about group work, and about students whose name on the platform has changed."""
        renamed = (
            f"{theirs!r} has the {what} of {ours!r}, so the work is in the folder {ours!r}"
            for theirs, (what, ours) in sorted(self._renamed.items())
        )
        split = (
            f"{group!r} is a group on the roster, so each member has the work: {members}"
            for group, members in sorted(self._split.items())
        )
        whole = (
            f"{group!r} is a group on the roster, but its work has been collected as that of one "
            f"student: withdraw {group!r}, remove {folder}, and collect again, so that each "
            "member has it"
            for group, folder in sorted(self._whole.items())
        )
        return (*renamed, *split, *whole)

    def name(self, owner: Owner, assignment: str) -> str:
        """Returns a student's name: the one used so far, or else the roster's or the platform's."""
        own = self._platforms(owner, assignment)
        if for_file_name(own) in self._before:
            return own
        if earlier := self._earlier_name(owner, assignment):
            return earlier
        person = self._person(owner)
        if person is None:
            return own
        number = "" if owner.email else owner.number  # on Gradescope, addresses identify people
        key = owner.student, number
        is_free = self._owner_of.setdefault(person.student, key) == key
        return person.student if is_free else own

    def has_other_work(self, owner: Owner, assignment: str) -> bool:
        """Returns whether an owner has a submission that came from a different upload."""
        folder = for_file_name(self.name(owner, assignment))
        origin = self._origins.get((folder, assignment))
        is_there = (self._submitted / folder / assignment).exists()
        # an upload may have an entry for each file, but the origin names only one of them
        return is_there and (origin is None or origin.entry not in self._entries[owner.key])

    def _platforms(self, owner: Owner, assignment: str) -> str:
        """Returns the platform's name for an owner; a number is added if others have the same name.

        Students who had the name without a number in an earlier collection keep the name without a
        number.
        """
        if not owner.number or owner.email or owner.platform == CLASSROOM:
            return owner.student
        folder = for_file_name(owner.student)
        known = self._origins.get((folder, assignment))
        if owner.platform != MOODLE and known is None:  # Moodle's numbers change
            same = (o for o in self._origins.values() if o.student == folder)
            known = next(same, None)
        if known is not None and known.number and known.platform == owner.platform:
            is_alone = known.number == owner.number
        else:
            is_alone = self._is_alone(owner)
        return owner.student if is_alone else f"{owner.student}_{owner.number}"

    def _earlier_name(self, owner: Owner, assignment: str) -> str:
        """Returns the name used earlier for the same number or login, or "" if it is uncertain.

        A Canvas number or a login always belongs to the same person, but a Moodle number belongs to
        the same person only within one assignment.
        """
        is_number = owner.platform in (CANVAS, MOODLE) and owner.number.isdigit()
        if not is_number and owner.platform != CLASSROOM:
            return ""
        own = [
            origin
            for origin in self._origins.values()
            if (origin.platform, origin.number) == (owner.platform, owner.number)
            and (owner.platform != MOODLE or origin.assignment == assignment)
        ]
        folders = {origin.student for origin in own}
        if len(folders) != 1 or len(self._names[owner.number]) > 1:
            return ""
        folder = folders.pop()
        name = unquote(folder)  # names that a folder can't have are encoded
        if for_file_name(name) != folder:
            return ""
        if owner.student not in {origin.name for origin in own}:
            what = "login" if owner.platform == CLASSROOM else "number"
            self._renamed[owner.student] = what, name
        return name

    def _is_alone(self, owner: Owner) -> bool:
        return len(self._keys[owner.student]) < 2

    def _person(self, owner: Owner) -> Person | None:
        """Returns the person on the roster who is the owner, or None if that is uncertain."""
        if owner.platform == GRADESCOPE:
            by_address = self._roster.person(owner.email) if owner.email else None
            return by_address or self._by_identifier(owner.number) or self._by_full_name(owner)
        if owner.platform == CANVAS:
            return self._by_number(owner) or self._by_name(owner)
        if owner.platform == MOODLE:
            email = self._table.email_of(owner)
            by_address = self._roster.person(email) if email else None
            return by_address or self._by_name(owner) or self._without_group(owner)
        if owner.platform == CLASSROOM and owner.name:
            # students choose their logins, so only the identifier in the classroom's roster counts
            return self._roster.person(owner.name)
        return None if owner.platform else self._by_name(owner)

    def _by_number(self, owner: Owner) -> Person | None:
        """Finds a person by Canvas's number, which never changes, unlike names."""
        same = [person for person in self._roster.people if person.number == owner.number]
        return same[0] if owner.number and len(same) == 1 else None

    def _without_group(self, owner: Owner) -> Person | None:
        """Finds a person by the name after a group's name, as in Moodle's `Blue Team-Orla Vell`."""
        tails = without_group(owner.student)
        found = [p for tail in tails if (p := self._by_name(replace(owner, student=tail)))]
        return found[0] if found else None

    def _by_identifier(self, text: str) -> Person | None:
        person = self._roster.person(text) if text else None
        return person if person and normal(person.student) == normal(text) else None

    def _by_full_name(self, owner: Owner) -> Person | None:
        """Finds a person by a unique full name, unless both roster and export have an address."""
        if len(self._named[owner.name]) != 1:
            return None
        person = self._roster.person(owner.name)
        has_own_address = person is not None and person.email and owner.email
        return None if has_own_address else person

    def _by_name(self, owner: Owner) -> Person | None:
        """Finds a person by a name that is unique in both the download and the roster."""
        if not self._is_alone(owner) or not any(map(str.isalpha, owner.student)):
            return None
        person = self._roster.person(owner.student)
        is_another = (
            person is not None
            and owner.platform == CANVAS
            and person.number not in ("", owner.number)
        )
        return None if is_another else person
