"""Hidden suite of `scores`: 36 of the assignment's 100 points."""

import pytest
import torch
from autograder.suite import Draw, Expect


@pytest.mark.question("query_scores", points=3)
def test_one_token(expect: Expect, draw: Draw) -> None:
    expect.same(
        "query_scores",
        draw.normal(1, 4),
        draw.normal(4),
        likely="the score of a token is the sum of the products of its entries with the query's",
    )


@pytest.mark.question("attention_scores", points=4)
def test_more_keys_than_queries_in_batches(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_scores",
        draw.normal(2, 5, 4),
        draw.normal(2, 7, 4),
        likely="row t belongs to query t, column s to key s: only the keys are transposed",
    )


@pytest.mark.question("attention_scores", points=4)
def test_gradient_reaches_queries_and_keys(expect: Expect, draw: Draw) -> None:
    expect.gradients(
        "attention_scores",
        draw.normal(3, 4, dtype=torch.float64),
        draw.normal(5, 4, dtype=torch.float64),
        likely="`.item()`, `.detach()` or `torch.tensor(...)` of results cuts the gradient",
    )
