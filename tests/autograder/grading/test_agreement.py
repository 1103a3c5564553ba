"""A test is skipped if it could not tell an answer's replies from those of the solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from autograder.grading.judging.plan import PlannedImplementation
from autograder.grading.judging.reply_agreement import Agreement, JointAgreement, agreement
from autograder.sandbox.replies import RawReply, reply_in
from autograder.suite.arguments import compared
from autograder.suite.compare import EXACT, difference, is_apart, is_finite
from autograder.suite.witness import Witness, with_witnesses
from autograder.worker import wire

from .conftest import ClassFolder

RIGHT = [torch.tensor([1.0, -2.0, 0.0, float("inf")]), torch.tensor([3, 4])]
FINITE = [torch.tensor([1.0, -2.0, 0.0, 5.0])]
Look = Callable[[Any], object]


def _compares(value: Any) -> object:
    assert value[0].shape == (4,)
    return difference(value, RIGHT)


def _in_steps(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clamp(-5, 5).round()


def _reply(value: Any) -> RawReply:
    return reply_in(b"".join(wire.encode(0, value)))


def _agreement(look: Look, right: Sequence[torch.Tensor] = RIGHT) -> Agreement:
    header, data = _reply(right)
    known: dict[int, Witness] = {}
    look(with_witnesses(wire.decode(header, bytearray(data)), known))
    return agreement([(header, data)], list(known.values()))


@pytest.mark.parametrize(
    "look",
    [
        lambda value: value[0].sum(),
        lambda value: bool((value[0] == 0).any()),
        lambda value: value[0].tolist(),
        lambda value: difference(FINITE, value),
        lambda value: difference(value[0] * 1, FINITE[0]),
        lambda value: [float(number) for number in value[0]],
        lambda value: torch.equal(torch.ones(4), value[0]),
        lambda value: is_apart(value[0], FINITE[0]),
        lambda value: difference(*compared(value[0], FINITE[0] + 1, _in_steps)),
        lambda value: compared(value[0], FINITE[0], _in_steps)[0].sum(),
    ],
)
@pytest.mark.parametrize(
    ("numbers", "agree"),
    [
        ([1.0 + 1e-5, -2.0, -0.0, 5.0], True),
        ([1.0 + 1e-4, -2.0, 0.0, 5.0], False),
        ([1.0, -2.0, 1e-30, 5.0], False),
        ([1.0, -2.0, 0.0, float("nan")], False),
    ],
)
def test_numbers_that_a_test_reads_agree_up_to_rounding(
    look: Look, numbers: list[float], agree: bool
) -> None:
    assert _agreement(look, FINITE).holds([_reply([torch.tensor(numbers)])]) is agree


def test_numbers_that_are_compared_and_read_must_fit_both() -> None:
    def look(value: Any) -> None:
        difference(value, FINITE, EXACT)
        value[0].sum()

    near = torch.tensor([1.0 + 1e-6, -2.0, 0.0, 5.0])
    assert _agreement(look, FINITE).holds([_reply(FINITE)])
    assert not _agreement(look, FINITE).holds([_reply([near])])


@pytest.mark.parametrize(
    "look",
    [
        lambda value: bool((value[1] > 0).all()),
        lambda value: difference(value[1], torch.tensor([3, 5])) is not None,
    ],
)
def test_whole_numbers_that_a_test_reads_must_be_equal(look: Look) -> None:
    assert _agreement(look).holds([_reply(RIGHT)])
    assert not _agreement(look).holds([_reply([RIGHT[0], torch.tensor([3, 5])])])


@pytest.mark.parametrize(
    "numbers",
    [
        [1.0, -2.0, 0.0, float("inf")],
        [1.0 + 1.09e-4, -2.0, 1e-5, float("inf")],
        [1.0 + 1.12e-4, -2.0, 0.0, float("inf")],
        [1.0, -2.0, 1.1e-5, float("inf")],
        [1.0, -2.0, -0.0, float("inf")],
        [1.0, -2.0, 0.0, float("-inf")],
        [1.0, -2.0, 0.0, 1e30],
        [float("inf"), -2.0, 0.0, float("inf")],
        [1.0, float("nan"), 0.0, float("inf")],
    ],
)
@pytest.mark.parametrize("tolerance", [None, EXACT])
def test_numbers_agree_if_the_comparison_accepts_them(numbers: list[float], tolerance: Any) -> None:
    got = [torch.tensor(numbers), RIGHT[1]]
    agreed = _agreement(lambda value: difference(value, RIGHT, tolerance))
    assert agreed.holds([_reply(got)]) == (difference(got, RIGHT, tolerance) is None)


def _after_steps(value: Any) -> str | None:
    return difference(*compared(value[0], FINITE[0], _in_steps))


@pytest.mark.parametrize(
    "numbers",
    [
        [1.0, -2.0, 0.0, 7.0],
        [1.3, -2.2, -0.4, 1e30],
        [1.6, -2.0, 0.0, 6.0],
        [1.0, 1.0, 1.0, 1.0],
        [1.0, 1.0, 1.00001, 1.0],
        [1.0, 1.0, 1.1, 1.0],
        [1.0, -2.0, 0.0, float("nan")],
        [1.0, -2.0, 0.0, float("-inf")],
        [1.0, -2.0, 0.0, 3e38],
    ],
)
@pytest.mark.parametrize(
    "holds",
    [
        lambda value: is_finite(value[0]),
        lambda value: is_apart(value[0], torch.ones(4)),
        lambda value: _after_steps(value) is None,
    ],
)
def test_other_questions_keep_their_answers_when_asked_separately(
    numbers: list[float], holds: Callable[[Any], bool]
) -> None:
    agreed = _agreement(holds, FINITE)
    got = [torch.tensor(numbers)]
    assert agreed.holds([_reply(got)]) == holds(got)


@pytest.mark.parametrize(
    "got",
    [
        [RIGHT[0], torch.tensor([3, 5])],
        [RIGHT[0].double(), RIGHT[1]],
        [RIGHT[0].view(2, 2), RIGHT[1]],
        (RIGHT[0], RIGHT[1]),
        [RIGHT[0]],
        RIGHT[0],
    ],
)
def test_other_forms_and_whole_numbers_must_be_equal_to_agree(got: Any) -> None:
    agreed = _agreement(_compares)
    assert not agreed.holds([_reply(got)])


#: one single byte and two dtypes, so that numbers in later replies begin at any memory alignment
_MIXED = [torch.tensor([True]), torch.tensor([1.0, -2.0]), torch.tensor([3.0, 4.0]).double()]


def test_all_tests_agree_together_exactly_if_each_agrees() -> None:
    looks = {"mixed": (lambda value: difference(value, _MIXED), _MIXED), "all": (_compares, RIGHT)}
    right = [_reply(tensors) for _, tensors in (*looks.values(), *looks.values())]
    tests = [_agreement(look, tensors) for look, tensors in (*looks.values(), *looks.values())]
    joint = JointAgreement.of([(2 * number, test) for number, test in enumerate(tests)])
    replies = [reply for one in right for reply in (one, _reply("of another test"))]
    assert joint.holds(replies)
    for number, (_, tensors) in enumerate((*looks.values(), *looks.values())):
        for place, tensor in enumerate(tensors):
            for index in range(len(tensor)):
                for factor in (1 + 1e-9, 1.01):
                    moved = [one.clone() for one in tensors]
                    moved[place][index] = tensor[index].double() * factor + (factor - 1)
                    wrong = _reply(moved)
                    changed = [*replies[: 2 * number], wrong, *replies[2 * number + 1 :]]
                    assert joint.holds(changed) == tests[number].holds([wrong])


def test_agreeing_replies_get_the_verdict_of_a_full_run(
    a_class: ClassFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "scores": (
            "def attention_scores(queries, keys):\n"
            "    return queries @ keys.transpose(-2, -1) * (1 + 9e-5 * (queries.shape[-1] < 4))\n"
            "def query_scores(inputs, query):\n"
            "    inputs += 1e-30\n"
            "    return (inputs * query).sum(-1)\n"
        ),
        "softmax": (
            "def normalize_by_sum(scores):\n"
            "    return scores / scores.sum(-1, keepdim=True) + 1e-6\n"
            "def softmax(scores, dim=-1):\n"
            "    return scores.softmax(dim)\n"
        ),
    }
    unseen = a_class.grade_one(**files)
    monkeypatch.setattr(PlannedImplementation, "passed", lambda self: None)
    (seen,) = a_class.grade().graded
    assert unseen.exercises == seen.exercises
    assert {q.verdict.value for e in seen.exercises for q in e.questions} >= {
        "correct",
        "forbidden",
    }
