"""Gathers selected grades of a class, with due dates and missing work, for exports and pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..classroom import (
    Person,
    Selection,
    anonymous,
    canvas_number,
    pseudonyms,
    read_allowances,
    read_extensions,
    read_origins,
    read_roster,
    read_withdrawals,
    select,
)
from ..deadlines import late_by
from ..exports import Grades, Missing
from ..records import DueDate, Key, SubmissionResult
from ..results.last import keys_of
from ..results.manual import HumanWork
from .reviews import reviewed_questions


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """The options for showing grades: the selection, the treatment of missing work, and anonymity.

    If `is_anonymous` is true, students' names are replaced with pseudonyms.
    """

    selection: Selection = Selection()
    missing: Missing = Missing.KEEP
    is_anonymous: bool = False


def selected(
    class_folder: Path, results: Sequence[SubmissionResult], selection: Selection
) -> Sequence[SubmissionResult]:
    """Returns the selected results, without withdrawn submissions.

    If `class_folder` is a results file, there is no roster, and nothing is withdrawn. Raises
    `UserError` if the selected section or grader is not on the roster, or if there are no results
    for the selected assignment or student.
    """
    roster, withdrawn = read_roster(class_folder), read_withdrawals(class_folder)
    return select(results, roster, withdrawn, selection)


def class_grades(
    class_folder: Path,
    results: Sequence[SubmissionResult],
    showing: DisplayOptions | None = None,
    dates: Mapping[str, DueDate] | None = None,
) -> Grades:
    """Returns a class's grades for export; raises the same errors as `selected`.

    `dates` contains due dates, which replace those in the gradebook.
    """
    from ..nbgrader import class_lateness, human_work

    wanted = showing or DisplayOptions()
    chosen = selected(class_folder, results, wanted.selection)
    keys = keys_of(chosen)
    arrivals = class_lateness(class_folder, keys) if class_folder.is_dir() else {}
    human = human_work(class_folder) if class_folder.is_dir() else HumanWork()
    reviewed = reviewed_questions(class_folder, human)
    if wanted.is_anonymous:
        names = pseudonyms(student for student, _ in keys)
        seen = {(names[s], a): places for (s, a), places in reviewed.items() if s in names}
        penalties = {(names[s], a): off for (s, a), off in human.penalties.items() if s in names}
        return Grades(
            results=anonymous(chosen, names),
            arrivals={(names[s], a): late for (s, a), late in arrivals.items()},
            human=HumanWork(penalties=penalties),  # a comment may contain a name
            missing=wanted.missing,
            reviewed=seen,
        )
    assignments = {assignment for _, assignment in keys}
    of_course = dates or {}
    due = _duedates(class_folder, assignments, of_course)
    now = datetime.now(UTC).replace(tzinfo=None)
    not_due = tuple(sorted(name for name, at in due.items() if not late_by(now, at)))
    waiting = _waiting_for(class_folder, due, of_course, now) - set(keys)
    absent, left = _absent(class_folder, results, wanted), _left(class_folder, results)
    without = [*waiting, *((student, "") for student in (*absent, *left))]
    return Grades(
        results=chosen,
        arrivals=arrivals,
        human=human,
        absent=absent,
        missing=wanted.missing,
        zero_for=frozenset(assignments - set(not_due)),
        not_due=not_due,
        waiting_for=waiting,
        known_as=_known_as(class_folder, keys, without),
        people=_people(class_folder, keys),
        left=left,
        chosen=_chosen(keys, absent, wanted.selection),
        reviewed=reviewed,
    )


def _left(class_folder: Path, results: Sequence[SubmissionResult]) -> frozenset[str]:
    """Returns the names of people who have left, both those on the roster and those in results."""
    withdrawn = read_withdrawals(class_folder)
    people = (person.student for person in read_roster(class_folder).people)
    names = {*people, *(student for student, _ in keys_of(results))}
    return frozenset(name for name in names if withdrawn.has_left(name))


def _chosen(
    keys: Iterable[Key], absent: Iterable[str], selection: Selection
) -> frozenset[str] | None:
    """Returns the selected people, or None if everybody is selected."""
    if not selection.is_of_people and selection.student is None:
        return None
    return frozenset((*(student for student, _ in keys), *absent))


def _duedates(
    class_folder: Path, names: Collection[str], dates: Mapping[str, DueDate]
) -> dict[str, datetime]:
    from ..nbgrader import class_duedates

    found = dict(class_duedates(class_folder)) if class_folder.is_dir() else {}
    found |= {name: due.naive_utc for name, due in dates.items()}
    return {name: due for name, due in found.items() if name in names}


def _waiting_for(
    class_folder: Path,
    due: Mapping[str, datetime],
    dates: Mapping[str, DueDate],
    now: datetime,
) -> frozenset[Key]:
    """Returns the (student, assignment) pairs for which extra time has not run out yet."""
    if not class_folder.is_dir():
        return frozenset()
    allowances, extended = read_allowances(class_folder), read_extensions(class_folder)
    people = {student for student, _ in extended}
    people |= {person.student for person in read_roster(class_folder).people if person.extra}
    return frozenset(
        (student, name)
        for student in people
        for name, at in due.items()
        if not late_by(now, at + (allowances.of(student, name, dates.get(name)) or timedelta()))
    )


def _people(class_folder: Path, keys: Iterable[Key]) -> Mapping[str, Person]:
    """Maps the students in `keys`, and the identifiers of everybody on the roster, to people."""
    roster = read_roster(class_folder)
    found = {person.student: person for person in roster.people}
    return found | {s: person for s, _ in keys if (person := roster.person(s))}


def _known_as(
    class_folder: Path, keys: Iterable[Key], waiting: Iterable[Key]
) -> Mapping[str, tuple[str, ...]]:
    """Maps students to the other names that they have on platforms and on the roster."""
    if not class_folder.is_dir():
        return {}
    roster, origins = read_roster(class_folder), read_origins(class_folder)
    found: dict[str, dict[str, None]] = {}
    for key in (*keys, *waiting):
        if (origin := origins.get(key)) and origin.number:
            found.setdefault(key[0], {}).update(dict.fromkeys(origin.names))
    for student, _ in (*keys, *waiting):
        if person := roster.person(student):
            number = canvas_number(person.number) if person.number.isdigit() else ""
            names = (number, person.login, person.sis_id, person.email, person.name)
            found.setdefault(student, {}).update(dict.fromkeys(filter(None, names)))
    return {student: tuple(names) for student, names in found.items()}


def not_due_note(grades: Grades) -> str:
    """Returns a note about zeros that exports do not contain yet, because work may still arrive."""
    if grades.missing is not Missing.ZERO:
        return ""
    names = ", ".join(grades.not_due)
    people = ", ".join(f"{s} ({name})" for s, name in sorted(grades.waiting_for))
    parts = (
        f"not due yet, so nobody gets a zero there for a missing submission: {names}",
        f"these students have more time, so they don't get a zero yet: {people}",
    )
    return "; ".join(text for text, some in zip(parts, (names, people), strict=True) if some)


def missing_people(
    class_folder: Path, results: Sequence[SubmissionResult], wanted: DisplayOptions
) -> dict[str, tuple[str, ...]]:
    """Returns the people on the roster who have no result, keyed by assignment.

    Each person is represented by a name with the identifier, or by "" if `wanted` hides names.
    """
    roster, selection = read_roster(class_folder), wanted.selection
    withdrawn = read_withdrawals(class_folder)
    by_assignment: dict[str, list[str]] = {}
    is_asked = roster.people and selection.student is None
    for student, assignment in keys_of(results) if is_asked else ():
        if selection.assignment in (None, assignment):
            by_assignment.setdefault(assignment, []).append(student)
    missing = {
        name: tuple(
            "" if wanted.is_anonymous else display_name(person)
            for person in roster.without(students)
            if selection.fits(person) and not withdrawn.has_left(person.student)
        )
        for name, students in by_assignment.items()
    }
    return {name: people for name, people in missing.items() if people}


def display_name(person: Person) -> str:
    """Returns the name with the identifier, or only the identifier if there is no name."""
    return f"{person.name} ({person.student})" if person.name else person.student


def _absent(
    class_folder: Path, results: Sequence[SubmissionResult], wanted: DisplayOptions
) -> tuple[str, ...]:
    if wanted.selection.student is not None:
        return ()
    missing = read_roster(class_folder).without(student for student, _ in keys_of(results))
    withdrawn = read_withdrawals(class_folder)
    return tuple(
        person.student
        for person in missing
        if wanted.selection.fits(person) and not withdrawn.has_left(person.student)
    )
