"""Public checks of `rotary_embedding`."""

from __future__ import annotations

import math

import pytest
import torch

from autograder.suite import Draw, Expect
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself


@pytest.mark.question("rotary_angles", points=0)
def test_two_pairs_at_three_positions(expect: Expect) -> None:
    expect.value(
        "rotary_angles",
        (torch.tensor([0.0, 1.0, 2.0]), 4, 100.0),
        torch.tensor([[0.0, 0.0], [1.0, 0.1], [2.0, 0.2]]),
        likely="for size 4, there are two pairs; with base 100, they turn by 100 ** 0 = 1 and by "
        "100 ** (-2/4) = 0.1 radians from one position to the next",
    )


@pytest.mark.question("rotary_angles", points=0)
def test_positions_far_along(expect: Expect) -> None:
    expect.value(
        "rotary_angles",
        (torch.tensor([50.0, 7.5]), 6, 1000.0),
        torch.tensor([[50.0, 5.0, 0.5], [7.5, 0.75, 0.075]]),
        likely="each row belongs to the position that is passed in, wherever it is in the list; "
        "with base 1000, the three pairs turn by 1, 0.1 and 0.01 per position",
    )


@pytest.mark.question("rotary_angles", points=0)
def test_base_without_a_word(expect: Expect) -> None:
    expect.value(
        "rotary_angles",
        (torch.tensor([3.0]), 4),
        torch.tensor([[3.0, 0.03]]),
        likely="the default base is 10000, and 10000 ** (-2/4) is 0.01",
    )


@pytest.mark.question("rotary_angles", points=0)
def test_an_odd_size(expect: Expect) -> None:
    expect.raises(
        "rotary_angles",
        torch.tensor([1.0]),
        3,
        error=ValueError,
        likely="three coordinates can't be paired: raise a ValueError",
    )


@pytest.mark.question("apply_rotary", points=0)
def test_a_quarter_turn_of_one_pair(expect: Expect) -> None:
    expect.value(
        "apply_rotary",
        (torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([[math.pi / 2, 0.0]])),
        torch.tensor([[-3.0, 2.0, 1.0, 4.0]]),
        likely="coordinates 0 and 2 are the first pair, (1, 3), which a quarter turn changes to "
        "(-3, 1); the second pair, coordinates 1 and 3, is not rotated",
    )


@pytest.mark.question("apply_rotary", points=0)
def test_each_token_of_two_heads_by_its_own_angle(expect: Expect) -> None:
    half, quarter = math.pi, math.pi / 2
    expect.value(
        "apply_rotary",
        (
            torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]]),
            torch.tensor([[half], [quarter]]),
        ),
        torch.tensor([[[[-1.0, -2.0], [-4.0, 3.0]], [[-5.0, -6.0], [-8.0, 7.0]]]]),
        likely="token 0 makes half a turn and token 1 a quarter turn, in both heads",
    )


@pytest.mark.question("apply_rotary", points=0)
def test_scores_depend_on_the_distance_alone(expect: Expect) -> None:
    torch.manual_seed(3)
    pair = torch.randn(2, 6)  # a query and a key
    speeds = torch.tensor([1.0, 0.1, 0.01])
    likely = "a rotation keeps lengths and the angles between vectors: check your two signs"
    scores = []
    for places in ((5.0, 3.0), (42.0, 40.0)):
        turned = expect.result("apply_rotary", pair, torch.tensor(places)[:, None] * speeds)
        is_tensor = isinstance(turned, torch.Tensor) and turned.shape == pair.shape
        expect.that(is_tensor, got="a different shape", expected="the shape of x", likely=likely)
        scores.append(float(turned[0] @ turned[1]))
    expect.that(
        abs(scores[0] - scores[1]) < 1e-4,
        got=f"score {scores[0]:.4f} at positions 5 and 3, {scores[1]:.4f} at 42 and 40",
        expected="the same score twice: both pairs are two positions apart",
        likely=likely,
    )


def _positions(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return draw.uniform(*shape, high=40.0, dtype=dtype)


@pytest.mark.question("rotary_angles", points=0)
def test_rotary_angles_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("rotary_angles", [Tensor("T", _positions), Size("2*p")]))


@pytest.mark.question("apply_rotary", points=0)
def test_apply_rotary_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect, Traits("apply_rotary", [Tensor("... T 2*p"), Tensor("T p")], judged=[0])
    )
