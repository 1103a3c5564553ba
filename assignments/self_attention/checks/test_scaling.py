"""Public checks of `scaling`."""

from __future__ import annotations

import math

import pytest
import torch

from autograder.suite import Expect, rules_of
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself

#: the scores of "journey" with the words of "Your journey starts with one step", for keys of size 2
SCORES = torch.tensor([[1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440]])
#: "My shoes are small, my feet are big.": queries and keys of size 3, values of size 4
QUERY = torch.tensor([[1.0321, 1.3501, 1.6555]])
KEYS = torch.tensor(
    [
        [0.0279, -0.0671, -0.0158],
        [0.2187, 1.4097, 1.3587],
        [0.1153, 0.5439, 0.5636],
        [0.0953, 0.2867, 0.3412],
        [-0.0491, -0.8956, -0.7485],
        [-0.0174, -0.7251, -0.5775],
        [0.1153, 0.5439, 0.5636],
        [-0.0689, -0.3159, -0.3298],
    ]
)
VALUES = torch.tensor(
    [
        [-0.0094, 0.0353, -0.1071, 0.0115],
        [0.3862, 0.8181, 1.5893, 1.3203],
        [0.1562, 0.3756, 0.5877, 0.5693],
        [0.0904, 0.2649, 0.2815, 0.3671],
        [-0.2244, -0.3454, -1.0836, -0.6643],
        [-0.1765, -0.2364, -0.8957, -0.4945],
        [0.1562, 0.3756, 0.5877, 0.5693],
        [-0.0912, -0.2218, -0.3398, -0.3344],
    ]
)
WEIGHTS = torch.tensor([[0.0432, 0.5687, 0.1273, 0.0832, 0.0107, 0.0147, 0.1273, 0.0249]])
CONTEXT = torch.tensor([[0.2593, 0.5718, 1.0390, 0.9041]])

#: two keys whose scores differ by sqrt(2) * log(3), so their weights are 3/4 and 1/4
HAND_QUERY = torch.tensor([[math.sqrt(2.0), 5.0]])
HAND_KEYS = torch.tensor([[math.log(3.0), 1.0], [0.0, 1.0]])

RULES = rules_of(__file__)


@pytest.mark.question("scale_scores", points=0)
def test_keys_of_size_four(expect: Expect) -> None:
    expect.value(
        "scale_scores",
        (torch.tensor([[2.0, -8.0, 0.0], [1.0, 6.0, 4.0]]), 4),
        torch.tensor([[1.0, -4.0, 0.0], [0.5, 3.0, 2.0]]),
        likely="the square root of 4 is 2: every score becomes half as large",
    )


@pytest.mark.question("scale_scores", points=0)
def test_keys_of_size_two(expect: Expect) -> None:
    expect.value(
        "scale_scores",
        (SCORES, 2),
        torch.tensor([[0.8984, 1.3098, 1.2806, 0.7633, 0.3944, 1.0918]]),
        likely="the square root of 2 is 1.4142..., not a whole number: 1.2705 becomes 0.8984",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("scale_scores", points=0)
def test_three_dimensions_stay_three(expect: Expect) -> None:
    expect.value(
        "scale_scores",
        (torch.tensor([[[5.0, 10.0]], [[-15.0, 20.0]]]), 25),
        torch.tensor([[[1.0, 2.0]], [[-3.0, 4.0]]]),
        likely="all scores are divided by the same number, and the shape stays the same",
    )


@pytest.mark.question("attention_weights", points=0)
def test_two_keys_by_hand(expect: Expect) -> None:
    expect.value(
        "attention_weights",
        (HAND_QUERY, HAND_KEYS),
        torch.tensor([[0.75, 0.25]]),
        likely="divided by the square root of 2, the two scores differ by log(3); exp makes the "
        "first weight three times the second",
    )


@pytest.mark.question("attention_weights", points=0)
def test_weights_of_the_word_shoes(expect: Expect) -> None:
    expect.value(
        "attention_weights",
        (QUERY, KEYS),
        WEIGHTS,
        likely="compute the scores, divide them by the square root of 3, then take the softmax "
        "over the eight keys",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("attention_weights", points=0)
def test_every_query_gives_all_its_attention(expect: Expect) -> None:
    queries = torch.stack([KEYS[:5], 2 * KEYS[3:]])
    got = expect.result("attention_weights", queries, torch.stack([KEYS, -KEYS]))
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (2, 5, 8),
        got=f"shape {shape}",
        expected="shape (2, 5, 8): five queries and eight keys in each of two sentences",
        likely="swap only the last two dimensions of the keys",
    )
    sums = got.sum(dim=-1)
    expect.that(
        bool(((sums - 1.0).abs() < 1e-4).all()),
        got=f"rows that sum to {sums.min():.4f} up to {sums.max():.4f}",
        expected="rows that sum to one",
        likely="the softmax runs over the keys, the last dimension",
    )


SDPA = "scaled_dot_product_attention"


@pytest.mark.question(SDPA, points=0)
def test_two_values_by_hand(expect: Expect) -> None:
    expect.value(
        SDPA,
        (HAND_QUERY, HAND_KEYS, torch.tensor([[4.0, 0.0, 8.0], [0.0, 4.0, -8.0]])),
        torch.tensor([[3.0, 1.0, 4.0]]),
        likely="the weights are 3/4 and 1/4, so the first number is 3/4 * 4 + 1/4 * 0 = 3",
    )


@pytest.mark.question(SDPA, points=0)
def test_context_of_the_word_shoes(expect: Expect) -> None:
    expect.value(
        SDPA,
        (QUERY, KEYS, VALUES),
        CONTEXT,
        likely="one query gives one context vector, as long as a value: 4 numbers",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question(SDPA, points=0)
def test_equal_values_come_out_unchanged(expect: Expect) -> None:
    value = torch.tensor([3.0, -1.0])
    expect.value(
        SDPA,
        (torch.stack([KEYS[:3], -KEYS[:3]]), torch.stack([KEYS, KEYS]), value.expand(2, 8, 2)),
        value.expand(2, 3, 2),
        likely="the weights of a query sum to one, so a mix of equal values is that value",
    )


@pytest.mark.question("scale_scores", points=0)
def test_scale_scores_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("scale_scores", [Tensor("... T S"), Size("d_k")]))


@pytest.mark.question("attention_weights", points=0)
def test_attention_weights_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("attention_weights", [Tensor("... T d"), Tensor("... S d")]))


@pytest.mark.question("scaled_dot_product_attention", points=0)
def test_scaled_dot_product_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "scaled_dot_product_attention",
            [Tensor("... T d"), Tensor("... S d"), Tensor("... S d_v")],
        ),
    )


@pytest.mark.question("scale_scores", points=0)
def test_large_scores_and_a_root_that_is_no_whole_number(expect: Expect) -> None:
    scores = torch.tensor([[49.0, -49.0], [0.5, 0.0]], dtype=torch.float64)
    root = 7**0.5
    expect.value(
        "scale_scores",
        (scores, 7),
        torch.tensor([[7 * root, -7 * root], [0.5 / root, 0.0]], dtype=torch.float64),
        likely="49 divided by the square root of 7 is 7 times that root: do not round or clip "
        "anything",
    )


@pytest.mark.question("attention_weights", points=0)
def test_who_looks_at_whom_is_not_mutual(expect: Expect) -> None:
    log_3 = 1.0986123
    expect.value(
        "attention_weights",
        (torch.tensor([[2 * log_3, 0, 0, 0], [0.0, 0, 0, 0]]), torch.eye(4)[[1, 0]]),
        torch.tensor([[0.25, 0.75], [0.5, 0.5]]),
        likely="query 0 looks at key 1; query 1 has scores of 0 and looks at both keys equally",
    )


@pytest.mark.question("scaled_dot_product_attention", points=0)
def test_as_many_columns_in_queries_as_in_values(expect: Expect) -> None:
    expect.value(
        "scaled_dot_product_attention",
        (torch.full((1, 2), 3.0), torch.tensor([[2.0, 5.0]]), torch.tensor([[7.0, 8.0]])),
        torch.tensor([[7.0, 8.0]]),
        likely="one key gets all the weight, and its value is the result: nothing is added",
    )


@pytest.mark.question("scaled_dot_product_attention", points=0)
def test_no_attention_of_torch(expect: Expect) -> None:
    ones = [torch.ones(2, 2)] * 3
    rule = RULES["scaled_dot_product_attention"]
    expect.allowed("scaled_dot_product_attention", *ones, rule=rule)
