"""Selects a class's results, except withdrawn ones; replaces names with pseudonyms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import UserError
from ..records import Key, SubmissionResult
from ..results.last import LastResults, keys_of, results_of
from .decisions import Withdrawals
from .people import Person, Roster


@dataclass(frozen=True, slots=True)
class Selection:
    """Criteria for selecting results; a criterion that is None selects all results.

    `section` and `grader` are compared with the sections and graders on the roster.
    """

    assignment: str | None = None
    student: str | None = None
    section: str | None = None
    grader: str | None = None

    @property
    def is_of_people(self) -> bool:
        """True if the roster is needed to decide who is selected."""
        return self.section is not None or self.grader is not None

    def fits(self, person: Person | None) -> bool:
        """Returns whether a person has the selected section and grader.

        None stands for a person who is not on the roster.
        """
        if person is None:
            return not self.is_of_people
        in_section = self.section is None or self.section in person.sections
        return in_section and self.grader in (None, person.grader)


def select(
    results: Sequence[SubmissionResult],
    roster: Roster,
    withdrawn: Withdrawals,
    selection: Selection,
) -> Sequence[SubmissionResult]:
    """Returns the selected results, without withdrawn submissions.

    Does not load all results into memory if they are in a file. Raises `UserError` for a section or
    grader that is not on the roster, and for an assignment or student without results.
    """
    _must_be_there(roster, selection)

    def is_wanted(key: Key) -> bool:
        student, assignment = key
        return (
            key not in withdrawn
            and selection.assignment in (None, assignment)
            and selection.student in (None, student)
            and (not selection.is_of_people or selection.fits(roster.person(student)))
        )

    found = results_of(results, is_wanted)
    asked = (selection.assignment, selection.student)
    if results and not found and any(name is not None for name in asked):
        wanted = " by ".join(repr(name) for name in asked if name is not None)
        assignments = ", ".join(sorted({assignment for _, assignment in keys_of(results)}))
        raise UserError(f"there is no result for {wanted}; assignments with results: {assignments}")
    return found


def _must_be_there(roster: Roster, selection: Selection) -> None:
    of_all = {
        "section": {one for p in roster.people for one in p.sections},
        "grader": {person.grader for person in roster.people} - {""},
    }
    for name, wanted in (("section", selection.section), ("grader", selection.grader)):
        known = of_all[name]
        if wanted is not None and wanted not in known:
            there = (
                ", ".join(sorted(k for k in known if ";" not in k))
                or f"none (add a column {name!r} to the roster)"
            )
            raise UserError(f"no {name} is called {wanted!r}; the class's roster has: {there}")


def pseudonyms(students: Iterable[str]) -> Mapping[str, str]:
    """Returns a pseudonym for each student, in an order that reveals nothing about the names."""
    ordered = sorted(
        set(students), key=lambda name: hashlib.sha256(name.encode("utf-8", "replace")).digest()
    )
    width = len(str(len(ordered)))
    return {name: f"Student {place:0{width}}" for place, name in enumerate(ordered, start=1)}


def anonymous(
    results: Sequence[SubmissionResult], names: Mapping[str, str]
) -> Sequence[SubmissionResult]:
    """Returns the results with `names` instead of students' names, sorted by the new names.

    Does not load all results into memory if they are in a file.
    """

    def renamed(result: SubmissionResult) -> SubmissionResult:
        return replace(result, student=names[result.student])

    if isinstance(results, LastResults):
        return results.renamed(lambda key: (names[key[0]], key[1]), renamed)
    return sorted(map(renamed, results), key=lambda result: result.key)
