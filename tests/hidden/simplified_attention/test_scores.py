"""Hidden suite of `scores`: 30 of the assignment's 100 points."""

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
    "dtype of the inputs"
)


def cancelling(draw: Draw, *leading: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draws float64 queries and keys whose products are large and nearly cancel in the sum.

    The scores are small, so float32 would have no digits left for them.
    """
    queries = draw.normal(*leading, rows, 6, dtype=torch.float64)
    keys = draw.normal(*leading, rows + 2, 6, dtype=torch.float64)
    queries[..., 0], queries[..., 3] = 1000.0, 1000.0
    drift = keys[..., 3] / 1000.0
    keys[..., 3] = drift - keys[..., 0]
    return queries, keys


@pytest.mark.question("query_scores", points=1)
def test_one_token_gives_one_score(expect: Expect, draw: Draw) -> None:
    expect.same(
        "query_scores",
        draw.uniform(1, 4) + 0.2,
        -draw.uniform(4) - 0.2,
        likely="the score of a token is the sum of the products of its entries with those of the "
        "query; one token gives a tensor of shape (1,)",
    )


@pytest.mark.question("query_scores", points=2)
def test_every_input_is_scored(expect: Expect, draw: Draw) -> None:
    likely = (
        "return one score for each row of the inputs, whatever the query and the number of rows"
    )
    inputs = draw.normal(7, 3)
    expect.same("query_scores", inputs, draw.normal(3) - inputs[2], likely=likely)
    expect.same("query_scores", draw.normal(3, 6), draw.normal(6), likely=likely)


@pytest.mark.question("query_scores", points=2)
def test_as_many_inputs_as_entries(expect: Expect, draw: Draw) -> None:
    inputs = draw.normal(5, 5)
    expect.same(
        "query_scores",
        inputs,
        -3.0 * inputs[3],
        likely="if T equals d, a sum over the wrong dimension has the right shape; entry i "
        "belongs to row i of the inputs",
    )


@pytest.mark.question("query_scores", points=2)
def test_long_vectors_in_any_memory_order(expect: Expect, draw: Draw) -> None:
    inputs = draw.strided(6, 11)
    expect.same(
        "query_scores",
        inputs,
        -2.0 * inputs[4],
        likely="a score is the plain dot product: it grows with the length of both vectors, can be "
        "negative, and is not divided by anything",
    )


@pytest.mark.question("query_scores", points=1)
def test_float64_stays_float64(expect: Expect, draw: Draw) -> None:
    queries, keys = cancelling(draw, rows=1)
    expect.same("query_scores", keys, queries[0], likely=PRECISION, no_grad=True)


@pytest.mark.question("attention_scores", points=1)
def test_one_query_and_one_key(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_scores",
        draw.normal(1, 4),
        draw.normal(1, 4),
        likely="one query and one key give one dot product, in a tensor of shape (1, 1)",
    )


@pytest.mark.question("attention_scores", points=3)
def test_more_keys_than_queries(expect: Expect, draw: Draw) -> None:
    likely = "row t belongs to query t, and column s to key s"
    expect.same("attention_scores", draw.normal(5, 3), draw.normal(7, 3), likely=likely)
    expect.same("attention_scores", draw.normal(4, 6), draw.normal(2, 6), likely=likely)


@pytest.mark.question("attention_scores", points=3)
def test_as_many_keys_as_queries_that_differ(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_scores",
        draw.normal(5, 5),
        draw.normal(5, 5),
        likely="the score of query t with key s is not that of query s with key t: only scores of "
        "a sequence with itself are symmetric",
    )


@pytest.mark.question("attention_scores", points=2)
def test_a_sequence_with_itself(expect: Expect, draw: Draw) -> None:
    inputs = draw.normal(6, 10)
    expect.same(
        "attention_scores",
        inputs,
        inputs,
        likely="every pair has a score, including a token with itself and with later tokens; a "
        "score is the plain dot product, neither scaled nor normalized",
    )


@pytest.mark.question("attention_scores", points=3)
def test_batch_items_are_scored_apart(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_scores",
        draw.normal(3, 5, 4),
        draw.normal(3, 7, 4),
        likely="each batch item has its own keys; swap only the last two dimensions of the keys",
    )


@pytest.mark.question("attention_scores", points=3)
def test_two_leading_dimensions(expect: Expect, draw: Draw) -> None:
    likely = (
        "batch and head are both leading dimensions: count the last two dimensions from the end"
    )
    # equal sizes first, for which different mistakes give different numbers instead of errors
    queries, keys = draw.strided(4, 4, 4, 4), draw.normal(4, 4, 4, 4)
    expect.same("attention_scores", queries, keys, likely=likely)
    queries, keys = draw.normal(2, 3, 5, 4), draw.normal(2, 3, 7, 4)
    expect.same("attention_scores", queries, keys, likely=likely)


@pytest.mark.question("attention_scores", points=1)
def test_float64_stays_float64_in_batches(expect: Expect, draw: Draw) -> None:
    expect.same("attention_scores", *cancelling(draw, 2, rows=3), likely=PRECISION)
    apart = torch.eye(4, dtype=torch.float64)[:3]
    expect.same("attention_scores", 7.0 * apart, -7.0 * apart, likely="do not clip scores")


# general properties, tested from declarations

QUERY_SCORES = Traits(
    "query_scores",
    [Tensor("T d"), Tensor("d")],
    loops="T*d",
    factors=(32, 1 / 32),
    own={"float64": "test_float64_stays_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("query_scores", shared=2)
@pytest.mark.parametrize("trait", QUERY_SCORES.tested)
def test_query_scores_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, QUERY_SCORES, trait)


ATTENTION_SCORES = Traits(
    "attention_scores",
    [Tensor("... T d"), Tensor("... S d")],
    factors=(32, 1 / 32),
    own={"float64": "test_float64_stays_float64_in_batches"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("attention_scores", shared=4)
@pytest.mark.parametrize("trait", ATTENTION_SCORES.tested)
def test_attention_scores_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, ATTENTION_SCORES, trait)
