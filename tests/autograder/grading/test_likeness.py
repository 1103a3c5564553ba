"""Answers by chance are told from draws of another mistake, and from two mistakes at once."""

import pytest
import torch

from autograder.course import Course
from autograder.grading.judging.recorder import Event, Recorder
from autograder.grading.naming.similarity import kind_of, within
from autograder.suite import variants_in
from autograder.suite.local import LocalImplementation

X = torch.linspace(0.5, 2.0, 600).reshape(20, 30)


def _dropout(times, *, p=0.3, scale=1 / 0.7, shape=X.shape):
    """That many draws of two calls each."""
    return [
        [Event("call", X * (torch.rand(shape) >= p) * scale) for _ in range(2)]
        for _ in range(times)
    ]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(3)


def test_a_draw_of_the_same_mistake_is_within():
    draws = _dropout(8)

    assert all(within(answer, draws) for answer in _dropout(20))


@pytest.mark.parametrize(
    "other",
    [
        {"p": 0.5},
        {"scale": 1.0},
        {"scale": 1.1},
        {"shape": (20, 1)},
        {"shape": (1, 30)},
        {"shape": (1, 1)},
    ],
    ids=str,
)
def test_another_mistake_is_not_within(other):
    assert not any(within(answer, _dropout(20)) for answer in _dropout(3, **other))


def test_a_call_that_repeats_the_one_before_is_not_within():
    first, _ = _dropout(1)[0]

    assert not within([first, first], _dropout(8))


def test_all_or_nothing_is_within_enough_draws():
    draws = _dropout(40, shape=())

    assert all(within(answer, draws) for answer in _dropout(4, shape=()))


def test_kinds_differ_in_words_calls_errors_and_types():
    event = Event("call", X)
    kinds = {
        kind_of("words", [event]),
        kind_of("other words", [event]),
        kind_of("words", [event, event]),
        kind_of("words", [Event("call", raised="ValueError")]),
        kind_of("words", [Event("call", X.double())]),
        kind_of("words", [Event("call", (X, None))]),
    }

    assert len(kinds) == 6
    assert kind_of("words", [event]) == kind_of("words", [Event("call", X + 1)])


def test_a_large_answer_is_remembered_by_a_sketch():
    def recorded(value):
        recorder = Recorder(LocalImplementation({"answer": lambda x: value}))
        recorder.begin_question("answer")
        recorder.begin_test("test")
        recorder.call("answer", [torch.zeros(())])
        return recorder.by_test["answer", "test"][0]

    large = torch.rand(1200, 1000)
    kept = recorded(large)

    assert kept.equals(recorded(large.clone()))
    assert not kept.equals(recorded(large + 0.01))
    assert not kept.equals(recorded(large.reshape(1000, 1200)))
    assert sum(tensor.numel() for tensor in kept.value[0] if torch.is_tensor(tensor)) < 300_000


def test_combinations_are_of_known_mistakes(course: Course):
    for assignment in course.assignments:
        for exercise in assignment.exercises:
            misconceptions = variants_in(course.variants("misconceptions", exercise))
            known = {(variant.question, variant.name) for variant in misconceptions}
            for variant in variants_in(course.variants("combinations", exercise)):
                parts = {(variant.question, name) for name in variant.confuses.split(" + ")}
                assert len(parts) > 1
                assert parts <= known
