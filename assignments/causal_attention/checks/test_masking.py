"""Public checks of `masking`."""

from __future__ import annotations

import pytest
import torch

from autograder.suite import Expect
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import Tensor, Traits, check_by_itself, rows

INF = float("inf")
#: exp(LOG_3) is 3, so the weights are quarters
LOG_3 = 1.0986123

#: attention weights of the six words of "Your journey starts with one step", without a mask
WEIGHTS = torch.tensor(
    [
        [0.1921, 0.1646, 0.1652, 0.1550, 0.1721, 0.1510],
        [0.2041, 0.1659, 0.1662, 0.1496, 0.1665, 0.1477],
        [0.2036, 0.1659, 0.1662, 0.1498, 0.1664, 0.1480],
        [0.1869, 0.1667, 0.1668, 0.1571, 0.1661, 0.1564],
        [0.1830, 0.1669, 0.1670, 0.1588, 0.1658, 0.1585],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529],
    ]
)
#: the same weights after masking and normalizing
CAUSAL_WEIGHTS = torch.tensor(
    [
        [1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000],
        [0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000],
        [0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000],
        [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529],
    ]
)

#: queries, keys, scores and weights of two heads for "The cat sleeps"
QUERIES = torch.tensor(
    [
        [
            [[-3.3182, 0.42931, 3.2498], [-4.3869, 1.2290, 4.7963], [-1.3072, 0.0018372, 1.2705]],
            [[-2.0282, -2.065, 2.2758], [-2.4509, -0.4362, -1.2468], [-0.63332, -0.23778, -0.138]],
        ]
    ]
)
KEYS = torch.tensor(
    [
        [
            [[1.2777, 2.1052, 1.2342], [2.1467, -1.4555, 0.5085], [0.4384, 0.1270, 0.0256]],
            [[1.2710, 1.3911, 1.4051], [5.1667, -1.0620, 2.4676], [0.9534, 0.1451, 0.8025]],
        ]
    ]
)
SCORES = torch.tensor(
    [
        [
            [[0.6750, -6.0953, -1.3173], [2.9018, -8.7669, -1.6448], [-0.0983, -2.1627, -0.5404]],
            [[-2.2529, -2.6703, -0.4068], [-5.4737, -15.276, -3.4004], [-1.3295, -3.36, -0.7490]],
        ]
    ]
)
MASKED_SCORES = torch.tensor(
    [
        [
            [[0.6750, -INF, -INF], [2.9018, -8.7669, -INF], [-0.0983, -2.1627, -0.5404]],
            [[-2.2529, -INF, -INF], [-5.4737, -15.2760, -INF], [-1.3295, -3.3600, -0.7490]],
        ]
    ]
)
HEAD_WEIGHTS = torch.tensor(
    [
        [
            [[1.0000, 0.0000, 0.0000], [0.9988, 0.0012, 0.0000], [0.4812, 0.1461, 0.3727]],
            [[1.0000, 0.0000, 0.0000], [0.9965, 0.0035, 0.0000], [0.3693, 0.1144, 0.5163]],
        ]
    ]
)


def _softmax(masked: torch.Tensor) -> torch.Tensor:
    return masked.softmax(-1)


@pytest.mark.question("causal_mask", points=0)
def test_three_tokens(expect: Expect) -> None:
    expect.value(
        "causal_mask",
        (3,),
        torch.tensor([[False, True, True], [False, False, True], [False, False, False]]),
        likely="row t says which tokens token t must not see: token 0 must not see tokens 1 and "
        "2, and token 1 must not see token 2; the entries are True and False, not numbers",
    )


@pytest.mark.question("causal_mask", points=0)
def test_ten_tokens_have_forty_five_forbidden_pairs(expect: Expect) -> None:
    got = expect.result("causal_mask", 10)
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (10, 10), got=str(shape), expected="(10, 10)", likely="one row for each token"
    )
    forbidden = got != 0
    on_diagonal = int(forbidden.diagonal().sum())
    expect.that(
        int(forbidden.sum()) == 45 and on_diagonal == 0,
        got=f"{int(forbidden.sum())} forbidden pairs, {on_diagonal} of them on the diagonal",
        expected="9 + 8 + ... + 1 = 45, none on the diagonal",
        likely="token 0 has nine later tokens, token 1 eight, and the last one none",
    )


@pytest.mark.question("mask_and_renormalize", points=0)
def test_three_rows_by_hand(expect: Expect) -> None:
    expect.value(
        "mask_and_renormalize",
        (torch.tensor([[2.0, 1.0, 1.0], [1.0, 3.0, 4.0], [1.0, 1.0, 2.0]]),),
        torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.25, 0.25, 0.5]]),
        likely="in row 1 the weights 1 and 3 are left; their sum is 4, so they become 1/4 and 3/4",
    )


@pytest.mark.question("mask_and_renormalize", points=0)
def test_weights_of_the_six_words(expect: Expect) -> None:
    expect.value(
        "mask_and_renormalize",
        (WEIGHTS,),
        CAUSAL_WEIGHTS,
        likely="divide each row by the sum of the weights that are left after you have removed "
        "the future",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("mask_and_renormalize", points=0)
def test_rows_of_a_batch_sum_to_one(expect: Expect) -> None:
    expect.value(
        "mask_and_renormalize",
        (torch.tensor([[[3.0, 5], [1, 4]], [[0.2, 9], [6, 2]], [[1, 1], [1, 1]]]),),
        torch.tensor([[[1, 0], [0.2, 0.8]], [[1, 0], [0.75, 0.25]], [[1, 0], [0.5, 0.5]]]),
        likely="with a batch in front, rows are still along the last dimension",
    )


@pytest.mark.question("mask_scores", points=0)
def test_two_scores_by_hand(expect: Expect) -> None:
    expect.value(
        "mask_scores",
        (torch.tensor([[-4.0, 7.0], [0.0, LOG_3]]),),
        torch.tensor([[-4.0, -INF], [0.0, LOG_3]]),
        likely="the numbers shown are the softmax of your scores: rows (1, 0) and (1/4, 3/4)",
        after=_softmax,
    )


@pytest.mark.question("mask_scores", points=0)
def test_scores_of_two_heads(expect: Expect) -> None:
    expect.value(
        "mask_scores",
        (SCORES,),
        MASKED_SCORES,
        likely="the same mask for each head; the numbers shown are the softmax of your scores",
        after=_softmax,
    )


@pytest.mark.question("causal_attention_weights", points=0)
def test_three_tokens_by_hand(expect: Expect) -> None:
    # d is 4, so scores are divided by 2; in row 1, they become (0, log 3)
    expect.value(
        "causal_attention_weights",
        (
            torch.tensor([[5.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]),
            torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, LOG_3, 0.0, 0.0], [3.0, 6.0, 0.0, 2.0]]),
        ),
        torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [1 / 3, 1 / 3, 1 / 3]]),
        likely="query 0 sees only key 0; the scores of query 1 are 0 and 2 log 3, divided by 2; "
        "query 2 sees all keys, each with a score of 0",
    )


@pytest.mark.question("causal_attention_weights", points=0)
def test_weights_of_two_heads(expect: Expect) -> None:
    expect.value(
        "causal_attention_weights",
        (QUERIES, KEYS),
        HEAD_WEIGHTS,
        likely="scores, mask, division by the square root of 3 (the size of a key), softmax over "
        "keys: in which of these steps are the numbers of row 2 no longer what you expect?",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("causal_attention_weights", points=0)
def test_later_keys_change_nothing(expect: Expect) -> None:
    before = expect.result("causal_attention_weights", QUERIES[0, 1], KEYS[0, 1])
    changed = KEYS[0, 1].clone()
    changed[2] = torch.tensor([1.5, -2.0, 0.5])
    after = expect.result("causal_attention_weights", QUERIES[0, 1], changed)
    fits = isinstance(before, torch.Tensor) and before.shape == (3, 3) == after.shape
    expect.that(
        fits and bool(torch.allclose(before[:2], after[:2], atol=1e-5)),
        got="different rows 0 and 1 after a change of the last key"
        if fits
        else "a different shape",
        expected="shape (3, 3), and rows 0 and 1 as before",
        likely="the weights of tokens 0 and 1 must not depend on token 2, their future",
    )


@pytest.mark.question("mask_and_renormalize", points=0)
def test_mask_and_renormalize_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("mask_and_renormalize", [Tensor("... T T", rows)]))


@pytest.mark.question("mask_scores", points=0)
def test_mask_scores_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect, Traits("mask_scores", [Tensor("... T T")], after=lambda masked: masked.softmax(-1))
    )


@pytest.mark.question("causal_attention_weights", points=0)
def test_causal_attention_weights_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect, Traits("causal_attention_weights", [Tensor("... T d"), Tensor("... T d")])
    )


@pytest.mark.question("mask_scores", points=0)
def test_the_future_scores_more_than_the_past(expect: Expect) -> None:
    scores = torch.tensor([[-45.0, 45.0, 0.0], [0.0, LOG_3, 48.0], [-1.0, -1.0, -1.0]])
    expect.value(
        "mask_scores",
        (scores,),
        torch.tensor([[-45.0, -INF, -INF], [0.0, LOG_3, -INF], [-1.0, -1.0, -1.0]]),
        likely="a score of the future gets no weight, however large it is, and even if it is 0; "
        "the numbers shown are the softmax of your scores",
        after=_softmax,
    )
