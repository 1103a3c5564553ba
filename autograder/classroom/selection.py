"""Which results of a class are looked at: of whom, without whom, and under which names."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import UserError
from ..records import SubmissionResult
from .decisions import Key
from .people import Person, Roster


@dataclass(frozen=True, slots=True)
class Selection:
    """What was asked for; None is all. `section` and `grader` are columns of the roster."""

    assignment: str | None = None
    student: str | None = None
    section: str | None = None
    grader: str | None = None

    @property
    def is_of_people(self) -> bool:
        """Whether the roster decides."""
        return self.section is not None or self.grader is not None

    def fits(self, person: Person | None) -> bool:
        """Whether somebody of the roster belongs to it; whoever is not on it belongs to none."""
        if person is None:
            return not self.is_of_people
        return self.section in (None, person.section) and self.grader in (None, person.grader)


def select(
    results: Sequence[SubmissionResult],
    roster: Roster,
    withdrawn: Collection[Key],
    selection: Selection,
) -> list[SubmissionResult]:
    """The results that were asked for, without withdrawn submissions.

    Raises `UserError` for a section, a grader, an assignment or a student without any.
    """
    _must_be_there(roster, selection)
    found = [
        result
        for result in results
        if (result.student, result.assignment) not in withdrawn
        and selection.assignment in (None, result.assignment)
        and selection.student in (None, result.student)
        and (not selection.is_of_people or selection.fits(roster.person(result.student)))
    ]
    asked = (selection.assignment, selection.student)
    if results and not found and any(name is not None for name in asked):
        wanted = " of ".join(repr(name) for name in asked if name is not None)
        assignments = ", ".join(sorted({result.assignment for result in results}))
        raise UserError(f"there is no result of {wanted}; assignments with results: {assignments}")
    return found


def _must_be_there(roster: Roster, selection: Selection) -> None:
    for name, wanted in (("section", selection.section), ("grader", selection.grader)):
        known = {str(getattr(person, name)) for person in roster.people} - {""}
        if wanted is not None and wanted not in known:
            there = ", ".join(sorted(known)) or f"none, give the roster a column {name!r}"
            raise UserError(f"no {name} is called {wanted!r}; the class's roster has: {there}")


def pseudonyms(students: Iterable[str]) -> Mapping[str, str]:
    """A name for each student that tells nothing, in an order that is not the alphabet's."""
    ordered = sorted(
        set(students), key=lambda name: hashlib.sha256(name.encode("utf-8", "replace")).digest()
    )
    width = len(str(len(ordered)))
    return {name: f"Student {place:0{width}}" for place, name in enumerate(ordered, start=1)}


def anonymous(
    results: Iterable[SubmissionResult], names: Mapping[str, str]
) -> list[SubmissionResult]:
    """The results under other names, in the order of these."""
    renamed = [replace(result, student=names[result.student]) for result in results]
    return sorted(renamed, key=lambda result: (result.student, result.assignment))
