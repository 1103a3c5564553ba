"""Hidden suite of `projections`: 20 of the assignment's 100 points."""

import pytest
import torch

from autograder.suite import Draw, Expect
from autograder.suite.traits import Tensor, Traits, check_trait

ROLES = "queries, keys and values are three projections of the same inputs, returned in this order"


def _with_opposite_entries(inputs: torch.Tensor) -> torch.Tensor:
    """Makes two entries of every token large and opposite, so that sums lose digits in float32."""
    inputs[..., 0] += 1e3
    inputs[..., 1] -= 1e3
    return inputs


def _with_equal_entries(weight: torch.Tensor, dim: int) -> torch.Tensor:
    """Makes entries 0 and 1 of `dim` equal, so that large opposite inputs cancel."""
    weight.select(dim, 1).copy_(weight.select(dim, 0))
    return weight


# project_qkv: 10 points, weights are (d_in, d_out)


@pytest.mark.question("project_qkv", points=1)
def test_one_token(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_qkv",
        draw.normal(1, 3),
        draw.normal(3, 2),
        draw.normal(3, 2),
        draw.normal(3, 2),
        likely=ROLES,
    )


@pytest.mark.question("project_qkv", points=2)
def test_values_of_another_size(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_qkv",
        draw.normal(5, 3),
        draw.normal(3, 2),
        draw.normal(3, 2),
        draw.normal(3, 4),
        likely=f"{ROLES}; values may be longer or shorter than queries and keys",
    )


@pytest.mark.question("project_qkv", points=1.5)
def test_all_sizes_equal(expect: Expect, draw: Draw) -> None:
    likely = (
        "with square matrices, an extra transpose raises no error: row t of the result is row t "
        "of the inputs times the weight, without a transpose"
    )
    for inputs in (draw.normal(4, 4), draw.normal(4, 4, 4)):
        weights = [draw.normal(4, 4) for _ in range(3)]
        expect.same("project_qkv", inputs, *weights, likely=likely)


@pytest.mark.question("project_qkv", points=1.5)
def test_sentences_in_a_batch(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_qkv",
        draw.normal(2, 5, 3),
        draw.normal(3, 4),
        draw.normal(3, 4),
        draw.normal(3, 2),
        likely="every token of every sentence is projected with the same weights",
    )


@pytest.mark.question("project_qkv", points=1)
def test_one_weight_in_three_roles_then_other_sizes(expect: Expect, draw: Draw) -> None:
    weight = draw.normal(3, 2)
    expect.same(
        "project_qkv",
        draw.normal(1, 4, 3),
        weight,
        weight,
        weight,
        likely="compute each result from the inputs and one weight, and change neither of them",
    )
    expect.same(
        "project_qkv",
        draw.normal(2, 5),
        draw.normal(5, 3),
        draw.normal(5, 3),
        draw.normal(5, 1),
        likely="take all sizes from the tensors of the current call",
    )


@pytest.mark.question("project_qkv", points=1)
def test_float64_and_any_memory_layout(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_qkv",
        _with_opposite_entries(draw.strided(2, 5, 3, dtype=torch.float64)),
        _with_equal_entries(draw.strided(3, 2, dtype=torch.float64), 0),
        _with_equal_entries(draw.strided(3, 2, dtype=torch.float64), 0),
        _with_equal_entries(draw.strided(3, 4, dtype=torch.float64), 0),
        likely="compute in the dtype of the inputs; `.view` needs contiguous memory, but "
        "`.reshape` does not",
    )


# project_qkv_left: 10 points, weights are (d_out, d_in)


@pytest.mark.question("project_qkv_left", points=1)
def test_one_token_weights_left(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_qkv_left",
        draw.normal(1, 3),
        draw.normal(2, 3),
        draw.normal(2, 3),
        draw.normal(2, 3),
        likely=f"{ROLES}; each weight has one row for each number of a query, key or value",
    )


@pytest.mark.question("project_qkv_left", points=2)
def test_values_of_another_size_weights_left(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_qkv_left",
        draw.normal(5, 3),
        draw.normal(2, 3),
        draw.normal(2, 3),
        draw.normal(4, 3),
        likely=f"{ROLES}; each row of a result belongs to one token",
    )


@pytest.mark.question("project_qkv_left", points=1.5)
def test_all_sizes_equal_weights_left(expect: Expect, draw: Draw) -> None:
    likely = (
        "with square matrices, a missing transpose raises no error: number i of a token's query "
        "is the dot product of row i of the weight and the token"
    )
    for inputs in (draw.normal(4, 4), draw.normal(4, 4, 4)):
        weights = [draw.normal(4, 4) for _ in range(3)]
        expect.same("project_qkv_left", inputs, *weights, likely=likely)


@pytest.mark.question("project_qkv_left", points=1.5)
def test_sentences_in_a_batch_weights_left(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_qkv_left",
        draw.normal(2, 5, 3),
        draw.normal(4, 3),
        draw.normal(4, 3),
        draw.normal(2, 3),
        likely="`.T` reverses all dimensions: with a batch, transpose only the last two "
        "dimensions of the inputs, or only the weight",
    )


@pytest.mark.question("project_qkv_left", points=1)
def test_one_weight_in_three_roles_then_other_sizes_weights_left(
    expect: Expect, draw: Draw
) -> None:
    weight = draw.normal(2, 3)
    expect.same(
        "project_qkv_left",
        draw.normal(1, 4, 3),
        weight,
        weight,
        weight,
        likely="compute each result from the inputs and one weight, and change neither of them",
    )
    expect.same(
        "project_qkv_left",
        draw.normal(2, 5),
        draw.normal(3, 5),
        draw.normal(3, 5),
        draw.normal(1, 5),
        likely="take all sizes from the tensors of the current call",
    )


@pytest.mark.question("project_qkv_left", points=1)
def test_float64_and_any_memory_layout_weights_left(expect: Expect, draw: Draw) -> None:
    expect.same(
        "project_qkv_left",
        _with_opposite_entries(draw.strided(2, 5, 3, dtype=torch.float64)),
        _with_equal_entries(draw.strided(2, 3, dtype=torch.float64), 1),
        _with_equal_entries(draw.strided(2, 3, dtype=torch.float64), 1),
        _with_equal_entries(draw.strided(4, 3, dtype=torch.float64), 1),
        likely="compute in the dtype of the inputs; `.view` needs contiguous memory, but "
        "`.reshape` does not",
    )


# general properties, tested from declarations

PROJECT_QKV = Traits(
    "project_qkv",
    [Tensor("... T d_in"), Tensor("d_in d_k"), Tensor("d_in d_k"), Tensor("d_in d_v")],
    loops="T*d_in*d_k+T*d_in*d_v",
    factors=(32,),
    own={"float64": "test_float64_and_any_memory_layout"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("project_qkv", shared=2)
@pytest.mark.parametrize("trait", PROJECT_QKV.tested)
def test_project_qkv_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, PROJECT_QKV, trait)


PROJECT_QKV_LEFT = Traits(
    "project_qkv_left",
    [Tensor("... T d_in"), Tensor("d_k d_in"), Tensor("d_k d_in"), Tensor("d_v d_in")],
    loops="T*d_in*d_k+T*d_in*d_v",
    factors=(32,),
    own={"float64": "test_float64_and_any_memory_layout_weights_left"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("project_qkv_left", shared=2)
@pytest.mark.parametrize("trait", PROJECT_QKV_LEFT.tested)
def test_project_qkv_left_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, PROJECT_QKV_LEFT, trait)
