"""Grades a sample of the course's own cases, and checks the messages that students would read.

All solutions and stubs, a tenth of the alternatives and a sixteenth of the misconceptions for each
question are graded in the sandbox as modules, and one in 48 of all cases also as a notebook. The
sample is the same in every run. `make validate` grades all cases in both forms. Naming the
misconceptions reads the tables of all questions, so this is also where a missing table is noticed.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.grading.judging.verdicts import MAX_MESSAGE
from autograder.grading.naming import known
from autograder.grading.naming.store import Store
from autograder.grading.naming.table import Table
from autograder.grading.validation.cases import FORMS, Case, cases_of
from autograder.grading.validation.validate import ValidationReport, validate
from autograder.records import Exercise, QuestionResult, Verdict
from autograder.sandbox import ForkServer

_JOBS = 1
#: for these kinds, one in this many of a question's modules is graded, and at least `_FEWEST`
_SHARE = {"misconception": 16, "alternative": 10}
_FEWEST = 1
#: one in this many notebooks and combinations is graded
_OTHERS = 48
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
    #: the tables that naming used, and those of them that the course did not contain
    tables: frozenset[str]
    missing: frozenset[str]

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


class _ReportingStore(Store):
    """Writes the names of the tables that are used into a file, and makes no table.

    A file, because naming takes place in another process.
    """

    log: Path

    def get(
        self, question: str, key: str, make: Callable[[], Table], fits: Callable[[Table], bool]
    ) -> Table:
        def refuse() -> Table:
            self._note(f"missing {question}")
            raise LookupError(f"the course has no table for {question}")

        self._note(f"used {question}")
        return super().get(question, key, refuse, fits)

    def _note(self, line: str) -> None:
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(f"{line}\n")


@pytest.fixture(scope="module")
def matrix(
    course: Course, fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Matrix]:
    folder = tmp_path_factory.mktemp("tables")
    _ReportingStore.log = folder / "log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "Store", _ReportingStore)
        # tables that other tests have made are not the course's
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield _graded(course, fork_server)


def _graded(course: Course, fork_server: ForkServer) -> Matrix:
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
    notes = _ReportingStore.log.read_text(encoding="utf-8").splitlines()
    used, missing = (
        frozenset(note.removeprefix(word) for note in notes if note.startswith(word))
        for word in ("used ", "missing ")
    )
    return Matrix(report, tuple(failures), used, missing)


def test_right_answers_pass_stubs_fail_and_no_mistake_survives(matrix: Matrix) -> None:
    assert matrix.report.problems == ()


def test_there_are_enough_alternatives_and_all_are_accepted(matrix: Matrix) -> None:
    assert matrix.total("alternatives") >= 60
    assert matrix.total("accepted") == matrix.total("alternatives")


def test_there_are_enough_misconceptions_and_all_are_caught(matrix: Matrix) -> None:
    assert matrix.total("misconceptions") >= 110
    assert matrix.total("caught") == matrix.total("misconceptions")


def test_nearly_all_misconceptions_are_named(matrix: Matrix) -> None:
    assert matrix.total("named") >= 0.95 * matrix.total("misconceptions"), matrix.report.not_named


def test_every_question_has_misconceptions_and_alternatives(matrix: Matrix) -> None:
    questions = matrix.report.questions
    few = [q for q in questions if min(q.misconceptions, q.alternatives) < _FEWEST]
    assert not few


def test_the_course_has_all_its_tables(course: Course, matrix: Matrix) -> None:
    questions = {
        f"{exercise.name}-{question.name}"
        for assignment in course.assignments
        for exercise in assignment.exercises
        for question in exercise.questions
    }
    assert matrix.missing == set(), "make tables, and commit them with the suite"
    assert matrix.tables == questions


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
