"""Public checks of `head_weights`."""

from __future__ import annotations

import math

import pytest
import torch

from autograder.suite import Draw, Expect
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself, rows

#: the words of "My shoes are small, my feet are big." as vectors of size 2, from the course's notes
SENTENCE = torch.tensor(
    [
        [0.3374, -0.1778],
        [0.1794, 1.8951],
        [0.3486, 0.6603],
        [0.4954, 0.2692],
        [0.6984, -1.4097],
        [0.7671, -1.1925],
        [0.3486, 0.6603],
        [-0.2196, -0.3792],
    ]
)
QUERY_WEIGHTS = torch.tensor(
    [
        [[0.8536, 0.5932], [0.6367, 0.9826], [0.2745, 0.6584]],
        [[0.2775, 0.8573], [0.8993, 0.0390], [0.9268, 0.7388]],
        [[0.7179, 0.7058], [0.9156, 0.4340], [0.0772, 0.3565]],
    ]
)
#: attention weights of the word "shoes", and the values of all eight words
ATTENTION = torch.tensor([[0.0432, 0.5687, 0.1273, 0.0832, 0.0107, 0.0147, 0.1273, 0.0249]])
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


@pytest.mark.question("project_heads", points=0)
def test_two_heads_by_hand(expect: Expect) -> None:
    expect.value(
        "project_heads",
        (
            torch.tensor([[1.0, 2], [3, 4], [0, 1]]),
            torch.tensor([[[1.0, 0], [0, 1], [1, 1], [0, 0]], [[2, 0], [0, 3], [1, -1], [1, 0]]]),
        ),
        torch.tensor(
            [
                [[1.0, 2, 3, 0], [3, 4, 7, 0], [0, 1, 1, 0]],
                [[2, 6, -1, 1], [6, 12, -1, 3], [0, 3, -1, 0]],
            ]
        ),
        likely="the first row of each weight matrix gives the first number of each token: the "
        "result has 2 heads, 3 tokens and 4 columns",
    )


@pytest.mark.question("project_heads", points=0)
def test_documented_queries_of_shoes(expect: Expect) -> None:
    expect.value(
        "project_heads",
        (SENTENCE[1:2], QUERY_WEIGHTS),
        torch.tensor(
            [[[1.2772, 1.9764, 1.2970]], [[1.6745, 0.2353, 1.5663]], [[1.4664, 0.9867, 0.6895]]]
        ),
        likely="the word `shoes` has one query in each of the 3 heads; are the matrices "
        "transposed?",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("project_heads", points=0)
def test_every_head_has_all_tokens(expect: Expect) -> None:
    got = expect.result("project_heads", SENTENCE, QUERY_WEIGHTS[:, :2])
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (3, 8, 2),
        got=str(shape),
        expected="(3, 8, 2): heads, tokens, columns",
        likely="the heads come first, as the batch of a batch matrix product",
    )


@pytest.mark.question("per_head_attention", points=0)
def test_two_heads_of_size_one_by_hand(expect: Expect) -> None:
    expect.value(
        "per_head_attention",
        (
            torch.tensor([[1.0, 0], [0, 1]]),
            torch.tensor([[[1.0, 1]], [[0, 1]]]),
            torch.tensor([[[0.0, math.log(3)]], [[0, math.log(4)]]]),
            torch.tensor([[[4.0, 8]], [[10, 20]]]),
        ),
        torch.tensor([[7.0, 15], [7, 18]]),
        likely="head 0 weights its values 4 and 8 by 1/4 and 3/4 for both tokens; head 1 weights "
        "10 and 20 by 1/2 and 1/2 for token 0, and by 1/5 and 4/5 for token 1; head 0 gives the "
        "first column",
    )


@pytest.mark.question("per_head_attention", points=0)
def test_scale_by_hand(expect: Expect) -> None:
    nothing = [[0.0, 0.0]] * 3
    expect.value(
        "per_head_attention",
        (
            torch.tensor([[1.0, 0], [0, 1]]),
            torch.tensor([[[2.0, 2], *nothing]]),
            torch.tensor([[[0.0, math.log(3)], *nothing]]),
            torch.tensor([[[4.0, 8], [0, 4], [1, 1]]]),
        ),
        torch.tensor([[7.0, 3, 1], [7, 3, 1]]),
        likely="queries and keys have size 4 here: the scores 0 and 2 ln 3 are divided by 2",
    )


@pytest.mark.question("per_head_attention", points=0)
def test_heads_stand_side_by_side(expect: Expect, draw: Draw) -> None:
    x = draw.normal(5, 4)
    q, k, v = (draw.normal(3, size, 4, scale=0.5) for size in (2, 2, 6))
    together = expect.result("per_head_attention", x, q, k, v)
    shape = tuple(together.shape) if isinstance(together, torch.Tensor) else type(together).__name__
    expect.that(
        shape == (5, 18),
        got=str(shape),
        expected="(5, 18): tokens, and 3 heads of 6 columns",
        likely="heads and tokens change places before the heads are put side by side",
    )
    alone = expect.result("per_head_attention", x, q[1:2], k[1:2], v[1:2])
    expect.that(
        torch.allclose(together[:, 6:12], alone, atol=1e-5),
        got="different numbers for head 1 than when it is the only head",
        expected="columns 6 to 11 belong to head 1, whatever the other heads do",
        likely="every head has its own scores and its own softmax",
    )


@pytest.mark.question("slice_value_heads", points=0)
def test_documented_context_of_shoes(expect: Expect) -> None:
    expect.value(
        "slice_value_heads",
        (ATTENTION, VALUES, 3),
        torch.tensor([[0.2593, 0.5718, 1.0390]]),
        likely="4 value columns make 3 slices of 1 column; the last column is left out",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("slice_value_heads", points=0)
def test_slices_by_hand(expect: Expect) -> None:
    expect.value(
        "slice_value_heads",
        (
            torch.tensor([[1.0, 0], [0.5, 0.5], [0, 2]]),
            torch.tensor([[1.0, 2, 3, 4, 5], [11, 12, 13, 14, 15]]),
            2,
        ),
        torch.tensor([[1.0, 2, 3, 4], [6, 7, 8, 9], [22, 24, 26, 28]]),
        likely="2 slices of 2 columns, both weighted by the same rows, which need not sum to one",
    )


@pytest.mark.question("project_heads", points=0)
def test_project_heads_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("project_heads", [Tensor("T d_in"), Tensor("H d_out d_in")]))


@pytest.mark.question("per_head_attention", points=0)
def test_per_head_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "per_head_attention",
            [Tensor("T d_in"), Tensor("H d_k d_in"), Tensor("H d_k d_in"), Tensor("H d_v d_in")],
        ),
    )


@pytest.mark.question("slice_value_heads", points=0)
def test_slice_value_heads_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect, Traits("slice_value_heads", [Tensor("T S", rows), Tensor("S H*d+1"), Size("H")])
    )


@pytest.mark.question("per_head_attention", points=0)
def test_one_word_with_heads_of_size_two(expect: Expect) -> None:
    log_3 = 1.0986123
    two = torch.tensor([[[1.0, 0], [0, 0]]])
    expect.value(
        "per_head_attention",
        (torch.tensor([[5.0, 3.0]]), two, two, torch.tensor([[[1.0, 0]]])),
        torch.tensor([[5.0]]),
        likely="one word and one head: both dimensions of size 1 stay",
    )
    # before the division by sqrt(2), the scores of the second word are 0 and sqrt(2) ln 3
    length = (2**0.5 * log_3) ** 0.5
    expect.value(
        "per_head_attention",
        (torch.tensor([[0.0, 4.0], [length, 8.0]]), two, two, torch.tensor([[[0.0, 1]]])),
        torch.tensor([[6.0], [7.0]]),
        likely="the square root of 2 is not a whole number: do not round it",
    )
