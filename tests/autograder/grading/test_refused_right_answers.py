"""`validate` says what an author should do about refused answers, and which may be refused soon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder.course import load_course
from autograder.grading.validation.cases import FORMS, Case, cases_of, chosen_of
from autograder.grading.validation.validate import JudgedCase, _problem, _problems, _slow
from autograder.records import QuestionResult, SubmissionResult, TestResult, Verdict

ROOT = Path(__file__).resolve().parents[3]
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


def test_right_answers_that_need_much_of_their_limit_are_listed(
    make_result: Callable[..., SubmissionResult],
) -> None:
    chosen = chosen_of(load_course(ROOT), ["simplified_attention/scores"])
    limit = chosen[0].limits.cpu_seconds
    cases = {case.kind: case for case in cases_of(load_course(ROOT), chosen[0].exercises[0], FORMS)}
    kinds = ("alternative", "misconception")
    results = [
        (cases[kind], replace(make_result(), seconds=share * limit))
        for kind in kinds
        for share in (0.4, 0.6)
    ]
    (text,) = _slow(chosen, results)
    assert text.startswith(cases["alternative"].label)
    assert f"takes {0.6 * limit:.1f} s; the limit is {limit:g} s" in text


def test_a_rejected_solution_is_reported_once_and_others_counted() -> None:
    exercise = load_course(ROOT).assignment("simplified_attention").exercises[0]
    question = exercise.questions[0].name

    def judged(kind: str, name: str = "", problem: str = f"{question} rejected") -> JudgedCase:
        case = Case(kind, exercise, "", "module", question if name else "", name)
        return JudgedCase(case, question, Verdict.WRONG, None, problem)

    alternatives = [judged("alternative", name) for name in ("first", "second")]
    others = [judged("misconception", "third", "was not caught"), judged("stub")]
    listed = list(_problems([*others, *alternatives]))
    assert [text.partition(" ")[0] for text in listed] == [
        *("misconception", "stub"),
        *("alternative", "alternative"),
    ]
    listed = list(_problems([*alternatives, judged("solution"), *others]))
    assert listed[0] == (
        f"solution simplified_attention/{exercise.name} (module): {question} rejected\n"
        "  and 2 other right answers"
    )
    assert [text.partition(" ")[0] for text in listed[1:]] == ["misconception", "stub"]
    (alone,) = _problems([judged("solution")])
    assert alone.endswith("rejected")
