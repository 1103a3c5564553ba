"""What the public checks found: records for a notebook's cell and for the command line."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Standing(enum.StrEnum):
    """How far a student is with one question."""

    PASSED = "passed"
    MEND = "mend"
    NOT_IMPLEMENTED = "not_implemented"
    MISSING = "missing"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class CheckedTest:
    """One public check; `message` says what to mend."""

    name: str
    passed: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class CheckedQuestion:
    """One question, its public checks, and the first lines that the answer printed."""

    question: str
    standing: Standing
    tests: tuple[CheckedTest, ...] = ()
    printed: str = ""


@dataclass(frozen=True, slots=True)
class CheckedExercise:
    """One exercise of a student's folder: the file that counts and its questions.

    `problem` says why the file can't be read or run; `note` what else the student should know.
    """

    exercise: str
    file: str | None
    questions: tuple[CheckedQuestion, ...] = ()
    problem: str = ""
    note: str = ""

    @property
    def passed(self) -> int:
        """How many questions pass their public checks."""
        return sum(question.standing is Standing.PASSED for question in self.questions)

    @property
    def finished(self) -> bool:
        """Whether all questions pass."""
        return bool(self.questions) and self.passed == len(self.questions)


@dataclass(frozen=True, slots=True)
class Progress:
    """All exercises of a folder in teaching order."""

    title: str
    exercises: tuple[CheckedExercise, ...]

    @property
    def passed(self) -> int:
        """How many questions pass their public checks."""
        return sum(exercise.passed for exercise in self.exercises)

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return sum(len(exercise.questions) for exercise in self.exercises)

    @property
    def next(self) -> CheckedExercise | None:
        """The first exercise that is not finished; None where all are."""
        return next((item for item in self.exercises if not item.finished), None)


def standing_of(question: str, tests: tuple[CheckedTest, ...], faults: list[str]) -> Standing:
    """The question's standing from its tests and the kinds of faults (`not_implemented`, ...)."""
    if all(test.passed for test in tests) and tests:
        return Standing.PASSED
    for standing in (Standing.NOT_IMPLEMENTED, Standing.MISSING):
        if standing.value in faults:
            return standing
    return Standing.MEND
