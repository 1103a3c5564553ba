"""Tests the names of mistakes in wrong answers whose authors did not know the catalog.

The answers are some of those that `make names` uses.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import ContentError
from autograder.grading.judging.suites import collect_suites
from autograder.records import QuestionResult, Verdict
from tools.messages import messages_in
from tools.unseen import Namer, UnseenAnswer, unseen_of

#: exercises whose answers take little time
EXERCISES = (("simplified_attention", "scores"), ("self_attention", "embedding"))


@pytest.fixture(scope="module")
def results(course: Course) -> dict[tuple[str, str], QuestionResult]:
    """Returns the named results by question and intended mistake."""
    exercises = [course.assignment(a).exercise(e) for a, e in EXERCISES]
    runner = collect_suites(course.root, [exercise.hidden_suite for exercise in exercises])
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for exercise in exercises:
            namer = Namer(runner, course, exercise)
            for answer in unseen_of(exercise, course.root / "tests" / "unseen"):
                found[answer.question, answer.means] = namer.named(answer)
    return found


def test_the_lists_begin_with_right_answers_and_contain_mistakes(
    results: dict[tuple[str, str], QuestionResult],
) -> None:
    wrong = {key for key, result in results.items() if result.verdict is not Verdict.CORRECT}
    assert wrong == {(question, means) for question, means in results if means}


@pytest.fixture(scope="module")
def read(course: Course) -> list[UnseenAnswer]:
    """Returns the answers with the names and messages that a person considered right."""
    exercises = [course.assignment(a).exercise(e) for a, e in EXERCISES]
    return [a for e in exercises for a in unseen_of(e, course.root / "tests" / "unseen")]


def test_each_answer_has_the_name_that_was_read(
    read: list[UnseenAnswer], results: dict[tuple[str, str], QuestionResult]
) -> None:
    names = {
        key: result.misconception.rpartition(".")[2]
        for key, result in results.items()
        if result.misconception
    }
    assert names == {(answer.question, answer.means): answer.name for answer in read if answer.name}


def test_the_messages_that_were_read_are_those_of_students(
    read: list[UnseenAnswer], results: dict[tuple[str, str], QuestionResult]
) -> None:
    noted = {(answer.question, answer.means): answer.read for answer in read if answer.does}
    messages = {
        key: next((test.message for test in results[key].tests if not test.passed), "")
        for key in noted
    }
    assert {key: messages_in(message) for key, message in messages.items()} == noted
    assert len(noted) >= len(EXERCISES)


def test_no_message_of_the_sample_misleads(course: Course) -> None:
    exercises = [exercise for one in course.assignments for exercise in one.exercises]
    answers = [a for e in exercises for a in unseen_of(e, course.root / "tests" / "unseen")]
    does = [answer.does for answer in answers if answer.does]
    assert len(does) >= 200
    assert set(does) <= {"states", "leads", "general"}


def test_a_change_of_missing_code_is_reported(course: Course, tmp_path: Path) -> None:
    exercise = course.assignment("simplified_attention").exercise("scores")
    (tmp_path / "simplified_attention.toml").write_text(
        '[[scores.query_scores]]\nright = "x"\n[scores.query_scores.wrong]\n'
        'it = { name = "", change = [["y", "z"]] }\n'
    )
    with pytest.raises(ContentError, match="'y' is not in the answer"):
        list(unseen_of(exercise, tmp_path))


_NEVER_MADE = """
class FeedForward(nn.Module):
    def __init__(self, d_model, hidden_dim):
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))
"""


def test_a_layer_that_can_not_be_made_says_why(course: Course) -> None:
    exercise = course.assignment("transformer_block").exercise("feed_forward")
    namer = Namer(collect_suites(course.root, [exercise.hidden_suite]), course, exercise)
    result = namer.named(UnseenAnswer("FeedForward", "no super().__init__()", _NEVER_MADE))
    assert result.misconception == "feed_forward.super_init_is_missing_or_comes_too_late"
