"""Hidden suite of `rotary_embedding`: 14 of the assignment's 100 points."""

from __future__ import annotations

import pytest
import torch

from autograder.suite import Draw, Expect, Step
from autograder.suite.traits import Case, Size, Tensor, Traits, check_trait

ANGLES = "rotary_angles"
APPLY = "apply_rotary"


# rotary_angles: 5 points


@pytest.mark.question(ANGLES, points=0.5)
def test_positions_in_order(expect: Expect) -> None:
    for num_tokens, head_dim in ((6, 8), (1, 2), (3, 6), (6, 8), (128, 64)):
        expect.same(
            ANGLES,
            torch.arange(num_tokens).float(),
            head_dim,
            likely="the angle of pair i at position p is p * base ** (-2i / head_dim), for i from "
            "0 to head_dim / 2 - 1: the first pair turns by one radian per position",
        )


@pytest.mark.question(ANGLES, points=1)
def test_positions_of_any_kind(expect: Expect, draw: Draw) -> None:
    likely = (
        "use the positions that are passed in: they may be in any order, fractional, repeated, or "
        "with gaps between them"
    )
    expect.same(ANGLES, draw.uniform(7, high=90.0), 6, likely=likely)
    expect.same(ANGLES, torch.arange(40.0, 57.0), 4, likely=likely)
    order = [float(place) for place in draw.permutation(9)]
    expect.same(ANGLES, torch.tensor([*order, order[0]]), 10, likely=likely)
    every_other = draw.uniform(12, high=90.0)[1::2]
    expect.same(ANGLES, every_other, 6, likely=likely)
    expect.same(ANGLES, torch.tensor([3.5]).expand(4), 6, likely=likely)
    again = Step((torch.arange(5.0), 6))
    expect.steps(
        ANGLES,
        again,
        again,
        likely="a result belongs to the caller, who may change it in place: compute the angles in "
        "every call, or return a copy",
    )
    for between in (2.0, 1.0):  # the same first position, last position and number of positions
        expect.same(ANGLES, torch.tensor([0.0, between, 3.0, 4.0]), 6, likely=likely)


@pytest.mark.question(ANGLES, points=0.5)
def test_other_bases(expect: Expect, draw: Draw) -> None:
    for base in (5000000.0, 77.5, 10000.0, 2.0):
        expect.same(
            ANGLES,
            draw.uniform(5, low=1.0, high=60.0),
            8,
            base,
            likely="use the base that is passed in; the default is 10000",
        )


@pytest.mark.question(ANGLES, points=0.5)
def test_odd_size_raises(expect: Expect, draw: Draw) -> None:
    odd = 2 * draw.integer(2, 60) + 1
    for num_positions, head_dim in ((4, 1), (4, 3), (4, odd), (1, odd), (1, 1)):
        expect.raises(
            ANGLES,
            torch.arange(float(num_positions)),
            head_dim,
            error=ValueError,
            likely="coordinates are turned in pairs: raise a ValueError if head_dim is odd",
        )
    expect.same(
        ANGLES,
        torch.arange(4.0),
        6,
        likely="a head_dim of 6 is allowed: it is even, although half of it is odd",
    )


@pytest.mark.question(ANGLES, points=0.5)
def test_angles_in_double_precision(expect: Expect, draw: Draw) -> None:
    positions = draw.uniform(6, high=1e5, dtype=torch.float64)
    # with many pairs, multiplying from pair to pair in float32 loses a digit
    for head_dim in (128, 2 * draw.integer(129, 256)):
        expect.same(
            ANGLES,
            positions,
            head_dim,
            likely="compute in the dtype of the positions, and return that dtype",
        )


# apply_rotary: 9 points

FORMULA = (
    "coordinates i and i + d/2 are a pair, which becomes x_i cos a - x_{i+d/2} sin a and "
    "x_{i+d/2} cos a + x_i sin a"
)


def _angles(draw: Draw, num_tokens: int, head_dim: int, dtype: torch.dtype) -> torch.Tensor:
    """Draws angles that are not small, different for every token and pair."""
    size = draw.uniform(num_tokens, head_dim // 2, low=0.3, high=2.8, dtype=dtype)
    return torch.where(draw.normal(num_tokens, head_dim // 2) < 0, -size, size)


def _large_angles(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draws angles; in float64 they are so large that float32 would be far off in every draw."""
    high = 900.0 if dtype == torch.float64 else 3.0
    return draw.uniform(*shape, low=-high, high=high, dtype=dtype)


def _pairs_that_cancel(draw: Draw, shape: tuple[int, ...], angles: torch.Tensor) -> torch.Tensor:
    """Draws large float64 pairs that rotate to a small and a large number by these angles.

    The small number is a difference of two large terms that agree in all digits of float32. It is
    the first number of the pair for every second token, and the second one for the others.
    """
    small = draw.normal(*shape[:-1], shape[-1] // 2, dtype=torch.float64)
    large = draw.uniform(*small.shape, low=1e4, high=2e4, dtype=torch.float64)
    is_first = (torch.arange(shape[-2]) % 2 == 0).unsqueeze(-1)
    first, second = torch.where(is_first, small, large), torch.where(is_first, large, small)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos + second * sin, second * cos - first * sin], dim=-1)


def _queries_and_angles(
    draw: Draw, *shape: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draws queries of the given shape, and angles for them."""
    return draw.normal(*shape, dtype=dtype), _angles(draw, shape[-2], shape[-1], dtype)


@pytest.mark.question(APPLY, points=2)
def test_one_sequence(expect: Expect, draw: Draw) -> None:
    expect.same(APPLY, *_queries_and_angles(draw, 5, 8), likely=FORMULA)
    expect.same(APPLY, *_queries_and_angles(draw, 5, 6), likely=FORMULA)
    # later pairs have smaller angles, as in `rotary_angles`
    slower = torch.logspace(0, -4, 32)
    expect.same(
        APPLY, draw.normal(40, 64), _angles(draw, 40, 64, torch.float32) * slower, likely=FORMULA
    )


@pytest.mark.question(APPLY, points=2)
def test_batches_and_heads(expect: Expect, draw: Draw) -> None:
    # with as many heads as tokens, angles along the wrong dimension raise no error
    for shape in ((3, 5, 6), (2, 5, 5, 6), (2, 3, 4, 6), (2, 1, 3, 5, 4), (3, 3, 3, 6)):
        expect.same(
            APPLY,
            *_queries_and_angles(draw, *shape),
            likely="row t of the angles belongs to token t, and tokens are the second-to-last "
            "dimension, whatever dimensions come before it",
        )


@pytest.mark.question(APPLY, points=1)
def test_any_angles_count(expect: Expect, draw: Draw) -> None:
    likely = "use the angles that are passed in, whatever their size; they are in radians"
    x = draw.normal(2, 4, 6, dtype=torch.float64)
    large = draw.uniform(4, 3, low=-1e5, high=1e5, dtype=torch.float64)
    expect.same(APPLY, x, large, likely=likely)
    small = 1e-5 * draw.normal(4, 3, dtype=torch.float64)
    small[1] = 0.0
    expect.same(APPLY, x, small, likely=likely)
    expect.same(APPLY, x, _angles(draw, 1, 6, torch.float64).expand(4, 3), likely=likely)


@pytest.mark.question(APPLY, points=0.5)
def test_double_precision(expect: Expect, draw: Draw) -> None:
    angles = _large_angles(draw, (7, 5), torch.float64)
    expect.same(
        APPLY,
        _pairs_that_cancel(draw, (2, 3, 7, 10), angles),
        angles,
        likely="compute everything in the dtype of the input, including cosine and sine",
    )


# general properties, tested from declarations


def _positions(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draws positions that are not negative."""
    return draw.uniform(*shape, high=60.0, dtype=dtype)


ANGLES_TRAITS = Traits(
    ANGLES,
    [Tensor("T", _positions), Size("2*p")],
    loops="T*p",
    case=Case(
        lambda draw: [torch.arange(3.0, dtype=torch.float64), 4],
        "position 0 has a gradient like any other: a step that is infinite at 0, such as a "
        "logarithm, has no finite gradient",
    ),
    own={"float64": "test_angles_in_double_precision", "errors": "test_odd_size_raises"},
    without={"chance": "nothing is random"},
)


@pytest.mark.question(ANGLES, shared=2)
@pytest.mark.parametrize("trait", ANGLES_TRAITS.tested)
def test_angles_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, ANGLES_TRAITS, trait)


APPLY_TRAITS = Traits(
    APPLY,
    [Tensor("... T 2*p"), Tensor("T p", _large_angles)],
    loops="T*p",
    factors=(32,),
    judged=[0],  # gradients of the angles are not tested
    own={"float64": "test_double_precision"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(APPLY, shared=3.5)
@pytest.mark.parametrize("trait", APPLY_TRAITS.tested)
def test_apply_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, APPLY_TRAITS, trait)
