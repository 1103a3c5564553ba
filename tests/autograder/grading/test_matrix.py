"""Grades a sample of the course's own cases, and checks the messages that students would read.

All solutions and stubs, an eighth of the alternatives and a twelfth of the misconceptions for each
question are graded in the sandbox as modules, and one in 36 of all cases also as a notebook. The
sample is the same in every run. `make validate` grades all cases in both forms.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from dataclasses import dataclass

import pytest

from autograder.course import Course
from autograder.grading.judging.verdicts import MAX_MESSAGE
from autograder.grading.validation.cases import FORMS, Case, cases_of
from autograder.grading.validation.validate import ValidationReport, validate
from autograder.records import Exercise, QuestionResult, Verdict
from autograder.sandbox import ForkServer

_JOBS = 1
#: for these kinds, one in this many of a question's modules is graded, and at least `_FEWEST`
_SHARE = {"misconception": 12, "alternative": 8}
_FEWEST = 1
#: one in this many notebooks and combinations is graded
_OTHERS = 36
_MACHINE = re.compile(
    r'Traceback|File "|site-packages|(?<![\w.])/(?:work|home|root|usr|tmp)/|0x\w{6,}'
)


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """The message of a failed test about a known mistake."""

    case: str
    question: str
    verdict: Verdict
    test: str
    message: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """The report of the sample, with the messages of failed tests."""

    report: ValidationReport
    failures: tuple[FailureMessage, ...]

    def total(self, figure: str) -> int:
        return sum(getattr(question, figure) for question in self.report.questions)


def _drawn(course: Course) -> set[str]:
    """Returns the labels of the sample's cases, which are chosen by checksum."""
    drawn: set[str] = set()
    modules: dict[tuple[str, Exercise, str], list[str]] = {}
    exercises = [e for assignment in course.assignments for e in assignment.exercises]
    for case in (c for e in exercises for c in cases_of(course, e, FORMS)):
        if case.kind != "combination" and case.form == "module":
            modules.setdefault((case.kind, case.exercise, case.question), []).append(case.label)
        elif _number(case.label) % _OTHERS == 0:
            drawn.add(case.label)
    for (kind, _, _), labels in modules.items():
        few = max(_FEWEST, len(labels) // _SHARE.get(kind, 1))
        drawn.update(sorted(labels, key=_number)[:few])
    return drawn


def _number(label: str) -> int:
    return zlib.crc32(label.encode())


@pytest.fixture(scope="module")
def matrix(course: Course, fork_server: ForkServer) -> Matrix:
    failures: list[FailureMessage] = []
    drawn = _drawn(course)

    def on_question(case: Case, result: QuestionResult) -> None:
        if case.kind == "misconception" and result.question == case.question:
            failures.extend(
                FailureMessage(case.label, result.question, result.verdict, test.name, test.message)
                for test in result.tests
                if not test.passed
            )

    report = validate(
        course,
        jobs=_JOBS,
        wanted=lambda case: case.label in drawn,
        on_question=on_question,
        start_sandbox=lambda: contextlib.nullcontext(fork_server),
    )
    return Matrix(report, tuple(failures))


def test_right_answers_pass_stubs_fail_and_no_mistake_survives(matrix: Matrix) -> None:
    assert matrix.report.problems == ()


def test_there_are_enough_alternatives_and_all_are_accepted(matrix: Matrix) -> None:
    assert matrix.total("alternatives") >= 80
    assert matrix.total("accepted") == matrix.total("alternatives")


def test_there_are_enough_misconceptions_and_all_are_caught(matrix: Matrix) -> None:
    assert matrix.total("misconceptions") >= 150
    assert matrix.total("caught") == matrix.total("misconceptions")


def test_nearly_all_misconceptions_are_named(matrix: Matrix) -> None:
    assert matrix.total("named") >= 0.95 * matrix.total("misconceptions"), matrix.report.not_named


def test_every_question_has_misconceptions_and_alternatives(matrix: Matrix) -> None:
    questions = matrix.report.questions
    few = [q for q in questions if min(q.misconceptions, q.alternatives) < _FEWEST]
    assert not few


def test_every_message_names_the_call_with_its_arguments(matrix: Matrix) -> None:
    assert _where(matrix, lambda failure: f"{failure.question}(" in failure.message) == []


def test_every_message_says_what_came_and_what_was_expected(matrix: Matrix) -> None:
    assert (
        _where(matrix, lambda failure: re.search(r"\bgot\b.*\bexpected\b", failure.message, re.S))
        == []
    )


def test_every_message_ends_with_a_next_step(matrix: Matrix) -> None:
    # a second failure with the same cause refers to the first one
    step = re.compile("likely: |next step: |remember: |^The same as in ")
    assert [failure for failure in matrix.failures if not step.search(failure.message)] == []


def test_no_message_is_long(matrix: Matrix) -> None:
    assert [failure for failure in matrix.failures if len(failure.message) > MAX_MESSAGE] == []


def test_no_message_shows_the_machine(matrix: Matrix) -> None:
    assert [failure for failure in matrix.failures if _MACHINE.search(failure.message)] == []


def _where(matrix: Matrix, holds: object) -> list[FailureMessage]:
    """Returns the failures for which `holds` is false, except those caused by forbidden calls."""
    assert callable(holds)
    return [
        failure
        for failure in matrix.failures
        if failure.verdict is not Verdict.FORBIDDEN and not holds(failure)
    ]
