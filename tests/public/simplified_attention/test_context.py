"""Public checks of `context`."""

from __future__ import annotations

import pytest
import torch

from autograder.suite import Expect
from autograder.suite.compare import FROM_PRINTED, PRINTED
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
WEIGHTS = torch.tensor(
    [
        [0.2098, 0.2006, 0.1981, 0.1242, 0.1220, 0.1452],
        [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581],
        [0.1390, 0.2369, 0.2326, 0.1242, 0.1108, 0.1565],
        [0.1435, 0.2074, 0.2046, 0.1462, 0.1263, 0.1720],
        [0.1526, 0.1958, 0.1975, 0.1367, 0.1879, 0.1295],
        [0.1385, 0.2184, 0.2128, 0.1420, 0.0988, 0.1896],
    ]
)
CONTEXTS = torch.tensor(
    [
        [0.4421, 0.5931, 0.5790],
        [0.4419, 0.6515, 0.5683],
        [0.4431, 0.6496, 0.5671],
        [0.4304, 0.6298, 0.5510],
        [0.4671, 0.5910, 0.5266],
        [0.4177, 0.6503, 0.5645],
    ]
)


@pytest.mark.question("context_vector", points=0)
def test_two_values_by_hand(expect: Expect) -> None:
    expect.value(
        "context_vector",
        (torch.tensor([2.0, -1.0]), torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]])),
        torch.tensor([-2.0, -1.0, -1.0]),
        likely="twice the first row minus the second row; weights that do not sum to one are fine",
    )


@pytest.mark.question("context_vector", points=0)
def test_context_of_the_second_word(expect: Expect) -> None:
    expect.value(
        "context_vector",
        (WEIGHTS[1], INPUTS),
        CONTEXTS[1],
        likely='this is the context vector of "journey": six rows mixed into one of three entries',
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("context_vectors", points=0)
def test_two_queries_by_hand(expect: Expect) -> None:
    weights = torch.tensor([[1.0, 0.0], [0.5, 2.0]])
    values = torch.tensor([[1.0, 2.0, 3.0], [4.0, 6.0, 1.0]])
    expect.value(
        "context_vectors",
        (weights, values),
        torch.tensor([[1.0, 2.0, 3.0], [8.5, 13.0, 3.5]]),
        likely="the first query gets only the first value; the second gets half of the first "
        "value and twice the second",
    )


@pytest.mark.question("context_vectors", points=0)
def test_contexts_of_all_words(expect: Expect) -> None:
    expect.value(
        "context_vectors",
        (WEIGHTS, INPUTS),
        CONTEXTS,
        likely="six rows of weights and six values with three entries give six contexts with "
        "three entries",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("context_vectors", points=0)
def test_two_sentences_by_hand(expect: Expect) -> None:
    weights = torch.tensor([[[1.0, 1.0]], [[0.0, 3.0]]])
    values = torch.tensor([[[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]], [[9.0, 9.0, 9.0], [1.0, 0.0, 2.0]]])
    expect.value(
        "context_vectors",
        (weights, values),
        torch.tensor([[[4.0, 6.0, 1.0]], [[3.0, 0.0, 6.0]]]),
        likely="the second sentence has weights (0, 3): three times its own second value",
    )


@pytest.mark.question("simplified_self_attention", points=0)
def test_two_tokens_by_hand(expect: Expect) -> None:
    # the second token's score with itself is log(3), and all other scores are 0
    inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0481471]])
    expect.value(
        "simplified_self_attention",
        (inputs,),
        torch.tensor([[0.0, 0.5240735], [0.0, 0.7861103]]),
        likely="the first token has scores (0, 0) and weights (1/2, 1/2); the second has scores "
        "(0, 1.0986) and weights (1/4, 3/4)",
    )


@pytest.mark.question("simplified_self_attention", points=0)
def test_the_whole_sentence(expect: Expect) -> None:
    expect.value(
        "simplified_self_attention",
        (INPUTS,),
        CONTEXTS,
        likely="scores, then softmax, then contexts: print each of them and compare it with the "
        "tables of the notebook",
        tolerance=PRINTED,
    )


@pytest.mark.question("simplified_self_attention", points=0)
def test_batch_of_two_sentences(expect: Expect) -> None:
    expect.value(
        "simplified_self_attention",
        (torch.stack([INPUTS, INPUTS.flip(0)]),),
        torch.stack([CONTEXTS, CONTEXTS.flip(0)]),
        likely="the second sentence is the first one backwards, so its contexts are in reverse "
        "order; the words of one sentence do not see the other sentence",
        tolerance=PRINTED,
    )


@pytest.mark.question("context_vector", points=0)
def test_context_vector_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("context_vector", [Tensor("S"), Tensor("S d")]))


@pytest.mark.question("context_vectors", points=0)
def test_context_vectors_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("context_vectors", [Tensor("... T S"), Tensor("... S d")]))


@pytest.mark.question("simplified_self_attention", points=0)
def test_simplified_self_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("simplified_self_attention", [Tensor("... T d")]))


@pytest.mark.question("context_vector", points=0)
def test_weights_that_do_not_sum_to_one_and_values_of_one_number(expect: Expect) -> None:
    expect.value(
        "context_vector",
        (torch.tensor([0.5, 2.0]), torch.tensor([[4.0], [3.0]])),
        torch.tensor([8.0]),
        likely="2 + 6: the weights are used as they are, and a vector of one number is still a "
        "vector",
    )
