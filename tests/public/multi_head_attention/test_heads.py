"""Public checks of `heads`."""

from __future__ import annotations

import math

import pytest
import torch

from autograder.suite import Draw, Expect, rules_of
from autograder.suite.compare import EXACT, FROM_PRINTED
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself

#: two heads over the three words "The cat sleeps", as printed in the course's notes
QUERIES = [
    [[-3.3182, 0.42931, 3.2498], [-4.3869, 1.2290, 4.7963], [-1.3072, 0.0018372, 1.2705]],
    [[-2.0282, -2.0650, 2.2758], [-2.4509, -0.43620, -1.2468], [-0.63332, -0.23778, -0.13795]],
]
KEYS = [
    [[1.2777, 2.1052, 1.2342], [2.1467, -1.4555, 0.5085], [0.4384, 0.1270, 0.0256]],
    [[1.2710, 1.3911, 1.4051], [5.1667, -1.0620, 2.4676], [0.9534, 0.1451, 0.8025]],
]
VALUES = [
    [[1.1584, 1.9865, -1.2399], [1.3962, 3.1158, -2.7011], [0.1818, 0.7535, -0.8222]],
    [[2.4898, -4.1935, 3.7342], [0.1129, -2.2644, -0.2995], [0.5391, -0.8618, 0.7727]],
]
CONTEXTS = [
    [[1.1584, 1.9865, -1.2399], [1.1587, 1.9879, -1.2416], [0.8291, 1.6919, -1.2977]],
    [[2.4898, -4.1935, 3.7342], [2.4816, -4.1868, 3.7202], [1.2108, -2.2525, 1.7438]],
]
MERGED = [
    [1.1584, 1.9865, -1.2399, 2.4898, -4.1935, 3.7342],
    [1.1587, 1.9879, -1.2416, 2.4816, -4.1868, 3.7202],
    [0.8291, 1.6919, -1.2977, 1.2108, -2.2525, 1.7438],
]

RULES = rules_of(__file__)


@pytest.mark.question("split_heads", points=0)
def test_split_two_tokens_by_hand(expect: Expect) -> None:
    expect.value(
        "split_heads",
        (torch.tensor([[[0.0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15]]]), 2),
        torch.tensor([[[[0.0, 1, 2], [10, 11, 12]], [[3, 4, 5], [13, 14, 15]]]]),
        likely="head 0 has the first three columns of both tokens, and head 1 the last three; if "
        "the result has the same numbers in a different order, did you reshape instead of "
        "swapping two dimensions, or swap instead of reshaping?",
        tolerance=EXACT,
    )


@pytest.mark.question("split_heads", points=0)
def test_split_documented_queries(expect: Expect) -> None:
    queries = [
        [-0.5967, -0.6374, 0.7212, 0.3788, 0.3062, -0.5439, 0.2889, -0.0084],
        [-0.1268, -0.5771, 0.5702, 0.9841, 0.8485, -0.9617, 0.4092, 0.2804],
        [-0.2514, -0.4483, -0.1014, 0.1431, 0.8711, -0.7185, 0.1488, 0.6895],
        [-1.2884, -0.8930, 0.9653, 0.0435, 0.5063, -0.1114, 0.7347, -0.4819],
    ]
    first = [row[:4] for row in queries]
    second = [row[4:] for row in queries]
    expect.value(
        "split_heads",
        (torch.tensor([queries]), 2),
        torch.tensor([[first, second]]),
        likely="four tokens with 8 columns become 2 heads with 4 tokens of 4 columns",
        tolerance=EXACT,
    )


@pytest.mark.question("split_heads", points=0)
def test_split_keeps_the_samples_apart(expect: Expect, draw: Draw) -> None:
    x = draw.normal(3, 4, 6)
    got = expect.result("split_heads", x, 3)
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (3, 3, 4, 2),
        got=str(shape),
        expected="(3, 3, 4, 2): batch, heads, tokens, columns of a head",
        likely="the batch stays first, and the heads come before the tokens",
    )
    expect.that(
        bool((got[1, 2, 3] == x[1, 3, 4:]).all()),
        got="a different vector for sample 1, head 2, token 3",
        expected="the last two of the six numbers of token 3 in sample 1",
        likely="the shape is right, but the order of the numbers is not",
    )


@pytest.mark.question("split_heads", points=0)
def test_split_seven_columns_between_two(expect: Expect) -> None:
    expect.raises(
        "split_heads",
        torch.ones(1, 2, 7),
        2,
        error=ValueError,
        likely="2 heads can't share 7 columns equally: say so with `raise ValueError(...)`; an "
        "`assert` raises a different error",
    )


@pytest.mark.question("merge_heads", points=0)
def test_merge_two_heads_by_hand(expect: Expect) -> None:
    expect.value(
        "merge_heads",
        (torch.tensor([[[[0.0, 1], [10, 11]], [[2, 3], [12, 13]]]]),),
        torch.tensor([[[0.0, 1, 2, 3], [10, 11, 12, 13]]]),
        likely="each token gets its two numbers from head 0, then its two numbers from head 1",
        tolerance=EXACT,
    )


@pytest.mark.question("merge_heads", points=0)
def test_merge_documented_contexts(expect: Expect) -> None:
    expect.value(
        "merge_heads",
        (torch.tensor([CONTEXTS]),),
        torch.tensor([MERGED]),
        likely="three tokens in two heads of 3 columns become three tokens with 6 columns",
        tolerance=EXACT,
    )


@pytest.mark.question("merge_heads", points=0)
def test_merge_keeps_the_samples_apart(expect: Expect, draw: Draw) -> None:
    x = draw.normal(3, 2, 4, 5)
    got = expect.result("merge_heads", x)
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (3, 4, 10),
        got=str(shape),
        expected="(3, 4, 10): batch, tokens, the columns of all heads",
        likely="the heads are merged into the last dimension, and the tokens stay",
    )
    expect.that(
        bool((got[2, 3, 5:] == x[2, 1, 3]).all()),
        got="different numbers in the second half of token 3 in sample 2",
        expected="the columns of head 1 for token 3 in sample 2",
        likely="the shape is right, but the order of the numbers is not",
    )


@pytest.mark.question("causal_head_attention", points=0)
def test_two_tokens_by_hand(expect: Expect) -> None:
    expect.value(
        "causal_head_attention",
        (
            torch.tensor([[[[1.0, 1, 1, 1], [2, 0, 0, 0]]]]),
            torch.tensor([[[[0.0, 0, 0, 0], [math.log(3), 0, 0, 0]]]]),
            torch.tensor([[[[4.0, 0, 1, -4], [8, 4, 1, 0]]]]),
        ),
        torch.tensor([[[[4.0, 0, 1, -4], [7, 3, 1, -1]]]]),
        likely="token 0 sees only itself; the scores of token 1 are 0 and 2 ln 3, which become 0 "
        "and ln 3 after the division by the square root of 4; their softmax is 1/4 and 3/4",
    )


@pytest.mark.question("causal_head_attention", points=0)
def test_documented_sentence(expect: Expect) -> None:
    expect.value(
        "causal_head_attention",
        (torch.tensor([QUERIES]), torch.tensor([KEYS]), torch.tensor([VALUES])),
        torch.tensor([CONTEXTS]),
        likely="check these steps for each head: scores, division by the square root of 3, mask, "
        "softmax over the keys, weighted sum of the values",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("causal_head_attention", points=0)
def test_first_token_keeps_its_value(expect: Expect, draw: Draw) -> None:
    values = draw.normal(2, 3, 4, 2)
    got = expect.result(
        "causal_head_attention", draw.normal(2, 3, 4, 2), draw.normal(2, 3, 4, 2), values
    )
    expect.that(
        isinstance(got, torch.Tensor)
        and got.shape == values.shape
        and torch.allclose(got[:, :, 0], values[:, :, 0], atol=1e-5),
        got="a different context for the first token",
        expected="its own value: there is nothing before it to attend to",
        likely="is the future masked, and may the first token see itself?",
    )


@pytest.mark.question("split_heads", points=0)
def test_split_heads_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("split_heads", [Tensor("B T H*d"), Size("H")]))


@pytest.mark.question("merge_heads", points=0)
def test_merge_heads_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("merge_heads", [Tensor("B H T d")]))


@pytest.mark.question("causal_head_attention", points=0)
def test_causal_head_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits("causal_head_attention", [Tensor("B H T d"), Tensor("B H T d"), Tensor("B H T d")]),
    )


@pytest.mark.question("causal_head_attention", points=0)
def test_causal_head_attention_uses_allowed_calls(expect: Expect, draw: Draw) -> None:
    tensors = [draw.normal(2, 3, 4, 5) for _ in range(3)]
    expect.allowed("causal_head_attention", *tensors, rule=RULES["causal_head_attention"])
