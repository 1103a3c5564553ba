"""Hidden suite of `head_weights`: 20 of the assignment's 100 points."""

from typing import Any

import pytest
import torch

from autograder.attention.suites.low_scores import (
    ScaledScores,
    low_scoring,
    low_tokens,
    rows_far_apart,
)
from autograder.suite import Draw, Expect
from autograder.suite.traits import Case, Size, Tensor, Traits, check_trait, normal, rows


@pytest.mark.question("project_heads", points=1)
def test_project_for_one_head_and_one_token(expect: Expect, draw: Draw) -> None:
    likely = (
        "the result has three dimensions (heads, tokens, columns), even if one of them has size 1"
    )
    expect.same("project_heads", draw.normal(1, 4), draw.normal(1, 3, 4), likely=likely)
    expect.same("project_heads", draw.normal(1, 2), draw.normal(3, 1, 2), likely=likely)


@pytest.mark.question("project_heads", points=2)
def test_project_for_many_heads(expect: Expect, draw: Draw) -> None:
    likely = (
        "every head sees all tokens and has its own matrix, whose first dimension is the output "
        "size; the dimensions of the result are heads, tokens, columns"
    )
    expect.same("project_heads", draw.normal(5, 6), draw.normal(4, 3, 6), likely=likely)
    expect.same("project_heads", draw.normal(7, 2), draw.normal(3, 5, 2), likely=likely)


@pytest.mark.question("project_heads", points=1)
def test_project_when_all_sizes_are_equal(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_heads",
        draw.normal(3, 3),
        draw.normal(3, 3, 3),
        likely="every order of the dimensions has the right shape here, but only one has the "
        "right numbers",
    )


@pytest.mark.question("project_heads", points=1)
def test_project_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_heads",
        draw.normal(9, 8, scale=10.0, dtype=torch.float64),
        draw.normal(4, 6, 8, scale=10.0, dtype=torch.float64),
        likely="for float64 inputs, compute in float64 and return float64: a new tensor needs "
        "that dtype",
    )


@pytest.mark.question("per_head_attention", points=1)
def test_attention_of_one_head_and_one_token(expect: Expect, draw: Draw) -> None:
    one_token = (
        "a single token attends only to itself: the result is its values, one head after the other"
    )
    one_head = (
        "with one head, check these steps in order: scores of all tokens with all tokens, "
        "division by the square root of d_k, softmax over the keys, weights times values"
    )
    q, k, v = (draw.normal(2, size, 4, scale=0.4) for size in (3, 3, 5))
    expect.same("per_head_attention", draw.normal(1, 4), q, k, v, likely=one_token)
    expect.same("per_head_attention", draw.normal(3, 4), q[:1], k[:1], v[:1], likely=one_head)


@pytest.mark.question("per_head_attention", points=1)
def test_attention_of_many_heads(expect: Expect, draw: Draw) -> None:
    q, k, v = (draw.normal(4, size, 6, scale=0.6) for size in (3, 3, 2))
    expect.same(
        "per_head_attention",
        draw.normal(5, 6),
        q,
        k,
        v,
        likely="every head has its own scores and its own softmax over the keys; in each row of "
        "the result, the context of head 0 comes first, then that of head 1",
    )


@pytest.mark.question("per_head_attention", points=1)
def test_scale_is_that_of_one_head(expect: Expect, draw: Draw) -> None:
    likely = "divide by the square root of d_k, which is the number of products in one score"
    for d_k, d_v in ((6, 3), (2, 5)):
        q, k, v = (draw.normal(3, size, 4, scale=0.6) for size in (d_k, d_k, d_v))
        expect.same("per_head_attention", draw.normal(7, 4), q, k, v, likely=likely)


@pytest.mark.question("per_head_attention", points=1)
def test_attention_when_all_sizes_are_equal(expect: Expect, draw: Draw) -> None:
    q, k, v = (draw.normal(3, 3, 3, scale=0.6) for _ in range(3))
    expect.same(
        "per_head_attention",
        draw.normal(3, 3),
        q,
        k,
        v,
        likely="every order of the dimensions has the right shape here: over which one does "
        "softmax run, and which two do you swap before you put the heads side by side?",
    )


@pytest.mark.question("per_head_attention", points=1)
def test_attention_of_shared_and_non_contiguous_weights(expect: Expect, draw: Draw) -> None:
    weights = draw.strided(3, 5, 4, scale=0.4)
    expect.same(
        "per_head_attention",
        draw.strided(6, 4),
        weights,
        weights,
        weights,
        likely="one tensor may be passed as all three weights, and tensors need not be contiguous",
    )


@pytest.mark.question("per_head_attention", points=1)
def test_attention_in_float64(expect: Expect, draw: Draw) -> None:
    likely = (
        "for float64 inputs, compute in float64 and return float64: a new tensor needs that dtype"
    )
    x = draw.normal(24, 5, dtype=torch.float64)
    # large values nearly cancel each other, which reveals any use of float32
    q, k, v = (
        draw.normal(4, size, 5, scale=scale, dtype=torch.float64)
        for size, scale in ((4, 0.3), (4, 0.3), (8, 20.0))
    )
    expect.same("per_head_attention", x, q, k, v, likely=likely)
    weight, far = low_scoring(draw, 1), "scores far from 0 count unchanged: do not clip them"
    q, k = (
        torch.stack([weight(name, (1, 5)) for _ in range(4)]).double() for name in ("query", "key")
    )
    expect.same("per_head_attention", low_tokens(draw, 1, 6, 5)[0], q, k, v, likely=far)
    # queries come from the first column and keys from the second, so rows of scores are far apart
    tokens, one = draw.normal(6, 5), torch.eye(5, dtype=torch.float32)
    queries, keys = rows_far_apart(draw, (6, 1), (6, 1))
    tokens[:, 0], tokens[:, 1] = queries[:, 0], keys[:, 0]
    q, k = one[0].repeat(4, 1, 1), one[1].repeat(4, 1, 1)
    v = v.float() / 20
    v[..., :2] = 0  # sums with such large values would lose digits
    expect.same("per_head_attention", tokens, q, k, v, likely=far)


@pytest.mark.question("slice_value_heads", points=1)
def test_slices_of_equal_width(expect: Expect, draw: Draw) -> None:
    expect.same(
        "slice_value_heads",
        draw.normal(4, 5),
        draw.normal(5, 6),
        3,
        likely="every slice of neighboring value columns is multiplied by the same attention "
        "weights, as they are; put the contexts side by side in the order of the slices",
    )
    likely = "with one head and one column, the result still has a column dimension"
    expect.same("slice_value_heads", draw.normal(3, 4), draw.normal(4, 1), 1, likely=likely)


@pytest.mark.question("slice_value_heads", points=1)
def test_columns_left_over_are_left_out(expect: Expect, draw: Draw) -> None:
    likely = (
        "each slice has d_v // num_heads columns; any columns left over at the end belong to no "
        "slice"
    )
    expect.same("slice_value_heads", draw.normal(3, 4), draw.normal(4, 7), 3, likely=likely)
    expect.same("slice_value_heads", draw.normal(1, 8), draw.normal(8, 14), 5, likely=likely)
    expect.same("slice_value_heads", draw.normal(2, 3), draw.normal(3, 11), 6, likely=likely)


@pytest.mark.question("slice_value_heads", points=1)
def test_slices_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        "slice_value_heads",
        draw.normal(9, 8, scale=10.0, dtype=torch.float64),
        draw.normal(8, 21, scale=10.0, dtype=torch.float64),
        2,
        likely="for float64 inputs, compute in float64 and return float64: a new tensor needs "
        "that dtype",
    )


# general properties, tested from declarations

PROJECT = Traits(
    "project_heads",
    [Tensor("T d_in"), Tensor("H d_out d_in")],
    loops="T*d_in*H*d_out",
    factors=(32,),
    own={"float64": "test_project_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("project_heads", shared=2)
@pytest.mark.parametrize("trait", PROJECT.tested)
def test_project_heads_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, PROJECT, trait)


def small(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draws weights so small that no score reaches 50, however many products it is a sum of."""
    return 0.25 * normal(draw, shape, dtype)


PER_HEAD = Traits(
    "per_head_attention",
    [
        Tensor("T d_in"),
        Tensor("H d_k d_in", small),
        Tensor("H d_k d_in", small),
        Tensor("H d_v d_in"),
    ],
    loops="H*T*d_k*d_in+H*T*d_v*d_in+H*T*T*d_v",
    factors=(1, 1, 1, 32),
    root=ScaledScores("d_k"),
    own={"float64": "test_attention_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("per_head_attention", shared=2)
@pytest.mark.parametrize("trait", PER_HEAD.tested)
def test_per_head_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, PER_HEAD, trait)


def _one_tensor_twice(draw: Draw) -> list[Any]:
    square = draw.normal(4, 4, dtype=torch.float64)
    return [square, square, 2]


SLICES = Traits(
    "slice_value_heads",
    [Tensor("T S", rows), Tensor("S H*d+1"), Size("H")],
    factors=(1, 32),
    case=Case(
        _one_tensor_twice,
        "one tensor may be both the weights and the values: changing one of them in place changes "
        "both",
    ),
    own={"float64": "test_slices_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("slice_value_heads", shared=2)
@pytest.mark.parametrize("trait", SLICES.tested)
def test_slice_value_heads_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, SLICES, trait)
