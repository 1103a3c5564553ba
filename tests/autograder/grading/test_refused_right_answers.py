"""For each problem that it reports, `validate` says what the author should do."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.grading.validation.cases import Case
from autograder.grading.validation.validate import _problem
from autograder.records import QuestionResult, TestResult, Verdict

RIGHT: Any = Case.__new__(Case)


@pytest.mark.parametrize(
    ("test", "has_hint"),
    [("test_norm_in_general[any size]", True), ("test_norm[any]", False), ("test_norm", False)],
)
def test_only_generated_tests_get_advice_about_rounding(test: str, has_hint: bool) -> None:
    object.__setattr__(RIGHT, "kind", "alternative")
    failed = TestResult(test, False, 0.0, 1.0, "expected 0, got -1.885e-05")
    question = QuestionResult("norm", 0.0, 1.0, Verdict.WRONG, tests=(failed,))
    problem = _problem(RIGHT, question)
    assert "expected 0, got -1.885e-05" in problem
    assert ("dtype=torch.float64" in problem) == has_hint


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.NOT_IMPLEMENTED, ""),
        (Verdict.MISSING, "the stub in assignments/ has no norm: run autograder release"),
        (Verdict.WRONG, "norm is wrong with 0 points"),
    ],
)
def test_a_question_that_is_not_released_yet_is_named(verdict: Verdict, words: str) -> None:
    stub: Any = Case.__new__(Case)
    object.__setattr__(stub, "kind", "stub")
    assert _problem(stub, QuestionResult("norm", 0.0, 1.0, verdict)) == words
