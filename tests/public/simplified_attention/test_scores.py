"""Public checks of `scores`."""

from __future__ import annotations

import pytest
import torch

from autograder.suite import Expect
from autograder.suite.compare import PRINTED
from autograder.suite.traits import Tensor, Traits, check_by_itself

#: one row for each word of "Your journey starts with one step"
INPUTS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
SELF_SCORES = torch.tensor(
    [
        [0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310],
        [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865],
        [0.9422, 1.4754, 1.4570, 0.8296, 0.7154, 1.0605],
        [0.4753, 0.8434, 0.8296, 0.4937, 0.3474, 0.6565],
        [0.4576, 0.7070, 0.7154, 0.3474, 0.6654, 0.2935],
        [0.6310, 1.0865, 1.0605, 0.6565, 0.2935, 0.9450],
    ]
)


@pytest.mark.question("query_scores", points=0)
def test_three_tokens_by_hand(expect: Expect) -> None:
    expect.value(
        "query_scores",
        (torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), torch.tensor([2.0, -1.0])),
        torch.tensor([0.0, 2.0, 3.0]),
        likely="the first token is (1, 2) and the query (2, -1): 1*2 + 2*(-1) = 0. Every token "
        "gets one such number",
    )


@pytest.mark.question("query_scores", points=0)
def test_second_word_scores_the_sentence(expect: Expect) -> None:
    expect.value(
        "query_scores",
        (INPUTS, INPUTS[1]),
        SELF_SCORES[1],
        likely='these are the scores of "journey" with all six words; a score needs the whole '
        "vectors and nothing else",
        tolerance=PRINTED,
    )


@pytest.mark.question("query_scores", points=0)
def test_query_can_be_learned(expect: Expect) -> None:
    pulled = expect.pulled("query_scores", INPUTS, INPUTS[4], cotangent=torch.ones(6))
    expect.that(
        all(gradient is not None for gradient in pulled.inputs),
        got="no gradient for at least one argument",
        expected="gradients for inputs and query",
        likely="the result must be made by tensor operations from both arguments: a number that "
        "is taken out of a tensor carries no gradient",
    )


@pytest.mark.question("attention_scores", points=0)
def test_two_queries_and_three_keys_by_hand(expect: Expect) -> None:
    queries = torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    keys = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    expect.value(
        "attention_scores",
        (queries, keys),
        torch.tensor([[3.0, 7.0, 11.0], [4.0, 8.0, 12.0]]),
        likely="two queries and three keys make two rows and three columns; the query (0, 2) and "
        "the key (5, 6) give 12, in the last place",
    )


@pytest.mark.question("attention_scores", points=0)
def test_two_queries_and_two_keys_by_hand(expect: Expect) -> None:
    queries = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    keys = torch.tensor([[4.0, 1.0], [2.0, 5.0]])
    expect.value(
        "attention_scores",
        (queries, keys),
        torch.tensor([[6.0, 12.0], [3.0, 15.0]]),
        likely="the first query (1, 2) with the second key (2, 5) is 12, and the second query "
        "(0, 3) with the first key (4, 1) is 3: these two entries must not be swapped",
    )


@pytest.mark.question("attention_scores", points=0)
def test_every_word_scores_the_sentence(expect: Expect) -> None:
    expect.value(
        "attention_scores",
        (INPUTS, INPUTS),
        SELF_SCORES,
        likely="here the six words are queries and keys at once; no scaling and no softmax yet",
        tolerance=PRINTED,
    )


@pytest.mark.question("attention_scores", points=0)
def test_batch_of_heads_keeps_its_place(expect: Expect) -> None:
    queries = INPUTS.reshape(1, 2, 3, 3)
    got = expect.result("attention_scores", queries, INPUTS.flip(0).reshape(1, 2, 3, 3))
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else got
    expect.that(
        shape == (1, 2, 3, 3),
        got=f"shape {shape}",
        expected="shape (1, 2, 3, 3)",
        likely="all dimensions except the last two stay in front, unchanged",
    )
    expect.that(
        abs(float(got[0, 1, 0, 2]) - 0.4753) < 1e-3,
        got=f"{float(got[0, 1, 0, 2]):.4f} at index [0, 1, 0, 2]",
        expected="0.4753",
        likely="queries of the second head are scored with keys of the second head only",
    )


@pytest.mark.question("query_scores", points=0)
def test_query_scores_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("query_scores", [Tensor("T d"), Tensor("d")]))


@pytest.mark.question("attention_scores", points=0)
def test_attention_scores_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("attention_scores", [Tensor("... T d"), Tensor("... S d")]))


@pytest.mark.question("query_scores", points=0)
def test_one_input_that_looks_the_other_way(expect: Expect) -> None:
    expect.value(
        "query_scores",
        (torch.tensor([[2.0, -3.0]]), torch.tensor([1.0, 4.0])),
        torch.tensor([-10.0]),
        likely="2 - 12 is below zero, and a single input gives a list of one score",
    )
