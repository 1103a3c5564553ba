"""The grades of a class as formats and pages show them: of whom, with what is missing, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..classroom import (
    Key,
    Lateness,
    Selection,
    anonymous,
    pseudonyms,
    read_origins,
    read_roster,
    read_withdrawals,
    select,
)
from ..exports import Grades, Missing
from ..nbgrader import class_lateness, human_work
from ..records import SubmissionResult


@dataclass(frozen=True, slots=True)
class Showing:
    """What is shown, how what is missing is shown, and whether names are."""

    selection: Selection = Selection()
    missing: Missing = Missing.KEEP
    is_anonymous: bool = False


def selected(
    class_folder: Path, results: Sequence[SubmissionResult], selection: Selection
) -> list[SubmissionResult]:
    """The results that were asked for, without withdrawn submissions; raises `UserError`.

    A results file in the place of a class folder has neither.
    """
    roster, withdrawn = read_roster(class_folder), read_withdrawals(class_folder)
    return select(results, roster, withdrawn.keys(), selection)


def class_grades(
    class_folder: Path, results: Sequence[SubmissionResult], showing: Showing | None = None
) -> Grades:
    """What formats write of a class's final results; raises `UserError`."""
    wanted = showing or Showing()
    chosen = selected(class_folder, results, wanted.selection)
    keys = [(result.student, result.assignment) for result in chosen]
    arrivals = class_lateness(class_folder, keys) if class_folder.is_dir() else {}
    penalties = human_work(class_folder).penalties if class_folder.is_dir() else {}
    if wanted.is_anonymous:
        names = pseudonyms(student for student, _ in keys)
        return Grades(
            results=tuple(anonymous(chosen, names)),
            arrivals={(names[s], a): late for (s, a), late in arrivals.items()},
            penalties={(names[s], a): off for (s, a), off in penalties.items() if s in names},
            missing=wanted.missing,
        )
    not_due = _not_due(arrivals)
    return Grades(
        results=tuple(chosen),
        arrivals=arrivals,
        penalties=penalties,
        absent=_absent(class_folder, results, wanted),
        missing=wanted.missing,
        zero_for=frozenset(result.assignment for result in chosen) - set(not_due),
        not_due=not_due,
        known_as=_known_as(class_folder, chosen),
    )


def _known_as(
    class_folder: Path, results: Sequence[SubmissionResult]
) -> Mapping[str, tuple[str, ...]]:
    """What else students are called: by the platform that they submitted to, by the roster."""
    if not class_folder.is_dir():
        return {}
    roster, origins = read_roster(class_folder), read_origins(class_folder)
    found: dict[str, dict[str, None]] = {}
    for result in results:
        names = found.setdefault(result.student, {})
        if (origin := origins.get((result.student, result.assignment))) and origin.number:
            names[f"{origin.name}_{origin.number}"] = None
    for student, names in found.items():
        if person := roster.person(student):
            names.update(dict.fromkeys((person.email, person.name)))
    return {student: tuple(filter(None, names)) for student, names in found.items()}


def not_due_note(grades: Grades) -> str:
    """What an export with zeros says of assignments that may still be submitted."""
    if grades.missing is not Missing.ZERO or not grades.not_due:
        return ""
    names = ", ".join(grades.not_due)
    return f"not due yet, so that nobody has a zero there for submitting nothing: {names}"


def _not_due(arrivals: Mapping[Key, Lateness]) -> tuple[str, ...]:
    """The assignments that somebody of the class may still submit in time."""
    now = datetime.now(UTC).replace(tzinfo=None)
    found = {name: None for (_, name), late in arrivals.items() if late.due and late.due > now}
    return tuple(sorted(found))


def missing_people(
    class_folder: Path, results: Sequence[SubmissionResult], wanted: Showing
) -> dict[str, tuple[str, ...]]:
    """Who of the roster has no result, by assignment; empty texts where names are left out."""
    roster, selection = read_roster(class_folder), wanted.selection
    by_assignment: dict[str, list[str]] = {}
    for result in results if roster.people and selection.student is None else ():
        if selection.assignment in (None, result.assignment):
            by_assignment.setdefault(result.assignment, []).append(result.student)
    missing = {
        name: tuple(
            "" if wanted.is_anonymous else person.name or person.student
            for person in roster.without(students)
            if selection.fits(person)
        )
        for name, students in by_assignment.items()
    }
    return {name: people for name, people in missing.items() if people}


def _absent(
    class_folder: Path, results: Sequence[SubmissionResult], wanted: Showing
) -> tuple[str, ...]:
    """The people of the roster without any result, where what is missing is shown at all."""
    if wanted.missing is Missing.KEEP or wanted.selection.student is not None:
        return ()
    missing = read_roster(class_folder).without(result.student for result in results)
    return tuple(person.student for person in missing if wanted.selection.fits(person))
