"""Regrading one question leaves the rest of a result unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import autograder
from autograder.errors import UserError
from autograder.grading.one_question import OneQuestionGrader, with_question
from autograder.grading.secret import submitted_digest
from autograder.grading.sources import wanted_question
from autograder.submission import Submission

MakeResult = Callable[..., autograder.SubmissionResult]


@pytest.fixture
def masks(make_course: Callable[..., autograder.Course], tmp_path: Path) -> autograder.Course:
    return make_course(tmp_path / "masks")


def test_a_question_is_found_by_name_and_unknown_ones_named(
    masks: autograder.Course,
) -> None:
    found = wanted_question(masks.assignments, "mask_scores")
    assert (found.assignment, found.exercise, found.question) == ("masks", "masking", "mask_scores")
    assert wanted_question(masks.assignments, "masks/masking/mask_scores") == found
    with pytest.raises(UserError, match="use a full name, such as: masks/masking/mask_scores"):
        wanted_question(masks.assignments, "mask_score")


def test_one_regraded_question_replaces_only_its_earlier_result(
    make_result: MakeResult, masks: autograder.Course
) -> None:
    before = make_result("ada", (2.0, 0.0, 2.0))
    now = replace(make_result("ada", (0.0, 2.0, 0.0)), suite_digest="sha256:2")
    wanted = wanted_question(masks.assignments, "mask_scores")
    merged = with_question(before, now, wanted)
    points = [q.score for e in merged.exercises for q in e.questions]
    assert (points, merged.score, merged.max_score) == ([2.0, 2.0, 2.0], 6.0, 6.0)
    # the previous suite judged the rest, so `--resume` must grade it again
    assert merged.suite_digest == before.suite_digest
    assert with_question(merged, now, wanted).notes == merged.notes


class Inner:
    """A grader that records the exercises that it is asked to grade."""

    def __init__(self, result: autograder.SubmissionResult) -> None:
        self.result = result
        self.asked: list[list[str]] = []

    def grade(self, submission: object, assignment: Any, watch: object = None) -> object:
        self.asked.append([exercise.name for exercise in assignment.exercises])
        return self.result


@pytest.mark.parametrize(
    ("now", "asked"), [("# before", ["masking"]), ("# changed", ["masking", "dropout"])]
)
def test_a_submission_that_changed_since_is_graded_whole(
    make_result: MakeResult, masks: autograder.Course, tmp_path: Path, now: str, asked: list[str]
) -> None:
    (assignment,) = masks.assignments
    submission = Submission("ada", "masks", tmp_path)
    (tmp_path / "masking.py").write_text("# before")
    inner = Inner(make_result("ada"))
    before = replace(inner.result, submission_digest=submitted_digest(submission, assignment))
    wanted = wanted_question(masks.assignments, "mask_scores")
    grader = OneQuestionGrader(cast(Any, inner), wanted, {("ada", "masks"): before})
    (tmp_path / "masking.py").write_text(now)
    grader.grade(submission, assignment)
    assert inner.asked == [asked]


def test_one_question_and_resume_contradict_each_other(
    masks: autograder.Course,
) -> None:
    submitted = masks.root / "course" / "submitted"
    (submitted / "ada" / "masks").mkdir(parents=True)
    with pytest.raises(UserError, match="leave out --resume"):
        autograder.grade(submitted, course=masks.root, question="mask_scores", resume=True)
