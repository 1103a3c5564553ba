"""Defines records of the results of public checks, for notebooks and the command line."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..suite.message import CodeLine


class Standing(enum.StrEnum):
    """A student's progress with one question."""

    PASSED = "passed"
    FIX = "fix"
    #: the checks pass, but the checked definition differs from the cell's current text
    STALE = "stale"
    NOT_IMPLEMENTED = "not_implemented"
    MISSING = "missing"
    #: unknown, because the file does not run
    HIDDEN = "hidden"
    STOPPED = "stopped"
    TOO_SLOW = "too_slow"


#: the cause of a failure if the answer uses a call that the question does not allow
NOT_ALLOWED = "not allowed"
#: the cause of a failure if a layer has weights that it must not have
SUPERFLUOUS = "superfluous weights"


@dataclass(frozen=True, slots=True)
class CheckedTest:
    """The result of one public check.

    `message` describes a failure and suggests how to fix it. `call` is the failing call as code
    that can be pasted. `places` contains the outermost and the innermost line of the student's own
    code through which an error passed. If several failures for a question have the same `cause`,
    only one needs to be shown.
    """

    name: str
    passed: bool
    message: str = ""
    call: str = ""
    places: tuple[CodeLine, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class CheckedQuestion:
    """One question, its public checks, and the first lines that the answer printed.

    `note` is a remark, for example about a different name or a cell that has since been changed.
    `mistake` says what the answer seems to confuse, if a known mistake gives the same results.
    `ran` says which run of the notebook cell was checked, such as `In[7]`, and what to do after an
    edit.
    """

    question: str
    standing: Standing
    tests: tuple[CheckedTest, ...] = ()
    printed: str = ""
    note: str = ""
    mistake: str = ""
    ran: str = ""


@dataclass(frozen=True, slots=True)
class CheckedExercise:
    """One exercise in a student's folder: the file that counts and its questions.

    `problem` says why the file can't be read or run. `note` is a remark for the student. `printed`
    is the text that the file printed while it was loaded. `saved` is the time at which a notebook
    was last saved, in seconds; later edits were not checked.
    """

    exercise: str
    file: str | None
    questions: tuple[CheckedQuestion, ...] = ()
    problem: str = ""
    note: str = ""
    printed: str = ""
    saved: float | None = None

    @property
    def passed(self) -> int:
        return sum(question.standing is Standing.PASSED for question in self.questions)

    @property
    def finished(self) -> bool:
        return bool(self.questions) and self.passed == len(self.questions)


@dataclass(frozen=True, slots=True)
class Progress:
    """All exercises in a folder, in teaching order.

    `points` contains the points for each question, if the bundle gives them; `due` is the due date.
    """

    title: str
    exercises: tuple[CheckedExercise, ...]
    points: dict[str, float]
    due: str | None = None

    @property
    def passed(self) -> int:
        return sum(exercise.passed for exercise in self.exercises)

    @property
    def questions(self) -> int:
        return sum(len(exercise.questions) for exercise in self.exercises)

    @property
    def next(self) -> CheckedExercise | None:
        """The first exercise that is not finished, or None if all are finished."""
        return next((item for item in self.exercises if not item.finished), None)

    def worth(self, exercise: CheckedExercise) -> tuple[float, float]:
        """Returns the points for an exercise's passing questions, and for all its questions."""
        names = [item.question for item in exercise.questions]
        passed = [i.question for i in exercise.questions if i.standing is Standing.PASSED]
        return self._sum(passed), self._sum(names)

    def _sum(self, names: list[str]) -> float:
        return sum(self.points.get(name, 0.0) for name in names)


def standing_of(tests: tuple[CheckedTest, ...], faults: list[str]) -> Standing:
    """Returns a question's standing; `faults` contains names such as `not_implemented`."""
    if all(test.passed for test in tests) and tests:
        return Standing.PASSED
    for standing in (Standing.NOT_IMPLEMENTED, Standing.MISSING):
        if standing.value in faults:
            return standing
    return Standing.FIX


def failures_to_show(tests: Sequence[CheckedTest]) -> list[CheckedTest]:
    """Returns the failed checks in the most helpful order, because students see only the first one.

    A call that is not allowed comes first, because the code around it must be rewritten anyway.
    Next are weights that a layer must not have, because such weights make values wrong. Failures
    with a known cause follow, and then all others.
    """
    failed = (test for test in tests if not test.passed)
    causes = (NOT_ALLOWED, SUPERFLUOUS)
    return sorted(failed, key=lambda test: (*(test.cause != one for one in causes), not test.cause))


def with_graded(result: CheckedQuestion, graded: str, missing: str) -> CheckedQuestion:
    """Adds notes about grading to a question's result if it passes.

    `graded` describes the additional tests during grading; `missing` is a note about packages that
    may not be available during grading.
    """
    if result.standing is not Standing.PASSED:
        return result
    also = f"grading also tries: {graded}" if graded and not result.note else ""
    return replace(result, note="\n".join(filter(None, (result.note, also, missing))))
