"""Hidden suite of `context`: 30 of the assignment's 100 points."""

from __future__ import annotations

import pytest
import torch

from autograder.suite import Draw, Expect
from autograder.suite.traits import Tensor, Traits, check_trait

GRADIENT = (
    "`.item()`, `.detach()`, `.tolist()` and `torch.tensor(...)` cut the gradient: use only "
    "tensor operations"
)
PRECISION = (
    "a new tensor is float32 unless you give its dtype, and `.float()` loses digits: use the "
    "dtype of the arguments"
)


def cancelling(draw: Draw, *leading: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draws float64 weights and values whose products are large and nearly cancel in the sum.

    The context is small, so float32 would have no digits left for it.
    """
    weights = draw.uniform(*leading, size, 6).double()
    values = draw.normal(*leading, 6, 3, dtype=torch.float64)
    large = draw.normal(*leading, 3, scale=1000.0, dtype=torch.float64)
    weights[..., 4] = weights[..., 1]
    values[..., 1, :] += large
    values[..., 4, :] -= large
    return weights, values


@pytest.mark.question("context_vector", points=1)
def test_one_value_is_weighted(expect: Expect, draw: Draw) -> None:
    expect.same(
        "context_vector",
        draw.uniform(1, low=0.2, high=0.8),
        draw.normal(1, 3),
        likely="the result is one weight times one value, a vector of shape (d,)",
    )


@pytest.mark.question("context_vector", points=2)
def test_all_values_are_mixed(expect: Expect, draw: Draw) -> None:
    likely = (
        "multiply every value by its weight, then add them all up: one number for each column of "
        "values"
    )
    expect.same("context_vector", draw.uniform(7), draw.normal(7, 3), likely=likely)
    expect.same("context_vector", draw.uniform(2), draw.normal(2, 5), likely=likely)


@pytest.mark.question("context_vector", points=1)
def test_as_many_values_as_entries(expect: Expect, draw: Draw) -> None:
    expect.same(
        "context_vector",
        draw.uniform(5),
        draw.strided(5, 5),
        likely="if S equals d, a sum over the wrong dimension has the right shape; each weight "
        "belongs to a row of values",
    )


@pytest.mark.question("context_vector", points=1)
def test_weights_are_taken_as_they_are(expect: Expect, draw: Draw) -> None:
    likely = (
        "use the weights as they are: do not normalize or clip them, and do not take an average"
    )
    weights = torch.cat([draw.normal(3, scale=3.0), -2.0 - draw.uniform(1)])
    expect.same("context_vector", weights, draw.normal(4, 6), likely=likely)
    without_first = torch.cat([torch.zeros(1), draw.uniform(5) + 1.0])
    expect.same("context_vector", without_first, draw.normal(6, 1), likely=likely)


@pytest.mark.question("context_vector", points=1)
def test_mixture_in_float64(expect: Expect, draw: Draw) -> None:
    weights, values = cancelling(draw, size=1)
    expect.same("context_vector", weights[0], values, likely=PRECISION, no_grad=True)


@pytest.mark.question("context_vectors", points=1)
def test_one_query_and_one_value(expect: Expect, draw: Draw) -> None:
    expect.same(
        "context_vectors",
        draw.uniform(1, 1, low=0.2, high=0.8),
        draw.normal(1, 3),
        likely="the result is one weight times one value, a matrix of shape (1, d)",
    )


@pytest.mark.question("context_vectors", points=2)
def test_every_query_has_its_mixture(expect: Expect, draw: Draw) -> None:
    likely = (
        "row t of the weights says how to mix the values for query t; use the weights as they are"
    )
    expect.same("context_vectors", draw.uniform(5, 7), draw.normal(7, 3), likely=likely)
    weights = draw.normal(6, 2)
    weights[0, 0] = weights[1, 1] = 0.0  # like a hidden token
    expect.same("context_vectors", weights, draw.normal(2, 4), likely=likely)


@pytest.mark.question("context_vectors", points=2)
def test_all_sizes_equal(expect: Expect, draw: Draw) -> None:
    expect.same(
        "context_vectors",
        draw.uniform(5, 5),
        draw.strided(5, 5),
        likely="if sizes are equal, swapped dimensions raise no error: row t of the weights "
        "belongs to query t, and the sum runs over the rows of values",
    )


@pytest.mark.question("context_vectors", points=2)
def test_batch_items_are_mixed_apart(expect: Expect, draw: Draw) -> None:
    likely = "each batch item mixes its own values"
    expect.same("context_vectors", draw.uniform(3, 5, 4), draw.normal(3, 4, 2), likely=likely)
    expect.same("context_vectors", draw.uniform(3, 3, 3), draw.normal(3, 3, 3), likely=likely)


@pytest.mark.question("context_vectors", points=2)
def test_heads_are_mixed_apart(expect: Expect, draw: Draw) -> None:
    likely = (
        "batch and head are both leading dimensions: count the last two dimensions from the end"
    )
    expect.same("context_vectors", draw.uniform(2, 3, 5, 7), draw.normal(2, 3, 7, 4), likely=likely)
    expect.same("context_vectors", draw.normal(4, 4, 4, 4), draw.normal(4, 4, 4, 4), likely=likely)


@pytest.mark.question("context_vectors", points=1)
def test_mixtures_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same("context_vectors", *cancelling(draw, 2, size=4), likely=PRECISION)


@pytest.mark.question("simplified_self_attention", points=2)
def test_one_sentence(expect: Expect, draw: Draw) -> None:
    likely = (
        "there are three steps: scores of all tokens with all tokens, softmax over each row, "
        "mixture of the inputs; nothing is scaled, masked, learned or added"
    )
    expect.same("simplified_self_attention", draw.normal(6, 3), likely=likely)
    expect.same("simplified_self_attention", draw.normal(2, 5), likely=likely)


@pytest.mark.question("simplified_self_attention", points=2)
def test_as_many_tokens_as_entries(expect: Expect, draw: Draw) -> None:
    expect.same(
        "simplified_self_attention",
        draw.normal(4, 4),
        likely="if T equals d, swapped dimensions raise no error: which factor is transposed, and "
        "along which dimension do the weights sum to one?",
    )


@pytest.mark.question("simplified_self_attention", points=2)
def test_sentences_do_not_see_each_other(expect: Expect, draw: Draw) -> None:
    likely = "each sentence of a batch has its own scores, weights and mixtures"
    expect.same("simplified_self_attention", draw.normal(3, 5, 4), likely=likely)
    expect.same("simplified_self_attention", draw.normal(3, 3, 3), likely=likely)


@pytest.mark.question("simplified_self_attention", points=1)
def test_two_dimensions_before_the_tokens(expect: Expect, draw: Draw) -> None:
    likely = "count the dimensions from the end: the last is d, and the one before it is T"
    expect.same("simplified_self_attention", draw.normal(2, 3, 5, 4), likely=likely)
    expect.same("simplified_self_attention", draw.strided(4, 4, 4, 4), likely=likely)


@pytest.mark.question("simplified_self_attention", points=1)
def test_self_attention_in_float64(expect: Expect, draw: Draw) -> None:
    # a common entry makes scores near 40, for which float32 loses digits of the weights
    common = draw.uniform(2, 3, 7, 1, low=6.2, high=6.4).double()
    others = 0.8 * draw.normal(2, 3, 7, 5, dtype=torch.float64).clamp(-1.5, 1.5)
    expect.same("simplified_self_attention", torch.cat([common, others], dim=-1), likely=PRECISION)


# general properties, tested from declarations

CONTEXT_VECTOR = Traits(
    "context_vector",
    [Tensor("S"), Tensor("S d")],
    factors=(1, 32),
    own={"float64": "test_mixture_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("context_vector", shared=2)
@pytest.mark.parametrize("trait", CONTEXT_VECTOR.tested)
def test_context_vector_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, CONTEXT_VECTOR, trait)


CONTEXT_VECTORS = Traits(
    "context_vectors",
    [Tensor("... T S"), Tensor("... S d")],
    factors=(1, 32),
    own={"float64": "test_mixtures_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("context_vectors", shared=2)
@pytest.mark.parametrize("trait", CONTEXT_VECTORS.tested)
def test_context_vectors_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, CONTEXT_VECTORS, trait)


SELF_ATTENTION = Traits(
    "simplified_self_attention",
    [Tensor("... T d")],
    own={"float64": "test_self_attention_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("simplified_self_attention", shared=2)
@pytest.mark.parametrize("trait", SELF_ATTENTION.tested)
def test_simplified_self_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, SELF_ATTENTION, trait)
