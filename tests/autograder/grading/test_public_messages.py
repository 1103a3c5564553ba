"""The public checks give good messages about known mistakes.

Every twelfth misconception of each question is checked as in a student's folder. The checks run in
this process, because these answers are our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

import pytest
import torch

from autograder.course import Course
from autograder.records import Exercise
from autograder.student.check_results import NOT_ALLOWED, CheckedTest
from autograder.student.explaining import AnswerContext
from autograder.student.runner import run_checks
from autograder.suite.local import LocalImplementation
from autograder.suite.variants import Variant, variants_in

_EVERY = 12
_MACHINE = re.compile(
    r'Traceback|File "|site-packages|(?<![\w.])/(?:work|home|root|usr|tmp)/|0x\w{6,}'
)


@pytest.fixture(scope="module")
def failures(course: Course) -> list[tuple[str, CheckedTest]]:
    """Returns every failed check with the name of its question."""
    torch.set_num_threads(1)
    return [
        (question.question, test)
        for assignment in course.assignments
        for exercise in assignment.exercises
        for answers in _rounds(course, exercise)
        for question in run_checks(exercise.public_suite, answers, AnswerContext(answers.namespace))
        for test in question.tests
        if not test.passed
    ]


def _rounds(course: Course, exercise: Exercise) -> Iterator[LocalImplementation]:
    """Yields modules in which each question is answered by one of its misconceptions."""
    by_question: dict[str, list[Variant]] = {}
    for variant in variants_in(course.variants("misconceptions", exercise)):
        by_question.setdefault(variant.question, []).append(variant)
    solution = LocalImplementation.from_file(exercise.solution)
    for answers in list(zip_longest(*by_question.values()))[::_EVERY]:
        wrong = {v.question: v.implementation for v in answers if v is not None}
        yield LocalImplementation({**solution.namespace, **wrong}, "")


def test_some_mistakes_are_noticed(failures: list[tuple[str, CheckedTest]]) -> None:
    assert len({question for question, _ in failures}) > 30


def test_every_message_names_call_result_and_expected_result(
    failures: list[tuple[str, CheckedTest]],
) -> None:
    # a message about a call that is not allowed names the rule instead
    lacking = [
        (question, test)
        for question, test in failures
        if test.cause != NOT_ALLOWED
        if f"{question}(" not in test.message
        or not re.search(r"\bgot\b.*\bexpected\b", test.message, re.S)
    ]
    assert lacking == []


def test_every_message_ends_with_a_next_step(failures: list[tuple[str, CheckedTest]]) -> None:
    assert [
        test
        for _, test in failures
        if not re.search("likely: |next step: |remember: ", test.message)
    ] == []


def test_no_message_is_long_or_shows_the_machine(failures: list[tuple[str, CheckedTest]]) -> None:
    shown = [t for _, t in failures if len(t.message) > 2000 or _MACHINE.search(t.message)]
    assert shown == []
