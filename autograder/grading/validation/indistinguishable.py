"""Which misconceptions of a question can't be distinguished; those must share a hint.

Only the ones that were not named need a look: a name is given where no other one answers alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...course import Course
from ...sandbox.batch import Batch
from ..judging.suites import collect_suites
from ..naming.diagnosis import Diagnosis
from .cases import Case


@dataclass(frozen=True, slots=True)
class Group:
    """Misconceptions of one question that answer alike on every call of its suite."""

    place: str
    names: tuple[str, ...]
    share_a_hint: bool

    def __str__(self) -> str:
        return f"{self.place}: {', '.join(self.names)}"


def groups_alike(course: Course, not_named: Iterable[Case]) -> tuple[Group, ...]:
    """The groups of misconceptions to which cases belong that were not named."""
    cases = {(case.exercise.hidden_suite, case.question, case.name): case for case in not_named}
    suites = sorted({suite for suite, _, _ in cases})
    if not cases:
        return ()
    runner = collect_suites(course.root, suites)
    diagnoses = {
        case.exercise.hidden_suite: Diagnosis(runner, course, case.exercise, _not_asked)
        for case in cases.values()
    }
    groups = (_group(diagnoses[case.exercise.hidden_suite], case) for case in cases.values())
    return tuple(dict.fromkeys(group for group in groups if len(group.names) > 1))


def _not_asked(text: str, batch: Batch) -> None:
    """Nothing is asked: what is wrong has been graded, so there are tables."""


def _group(diagnosis: Diagnosis, case: Case) -> Group:
    names, share_a_hint = diagnosis.alike(case.question, case.name)
    place = f"{case.exercise.assignment}/{case.exercise.name}/{case.question}"
    return Group(place, names, share_a_hint)
