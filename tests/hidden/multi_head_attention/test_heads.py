"""Hidden suite of `heads`: 25 of the assignment's 100 points."""

import pytest
import torch

from autograder.attention.suites.divisors import undivided
from autograder.attention.suites.low_scores import (
    FAR_APART,
    ScaledScores,
    low_queries_and_keys,
    rows_far_apart,
)
from autograder.suite import Draw, Expect, Tolerance, rules_of
from autograder.suite.traits import Size, Tensor, Traits, check_rule, check_trait

EXACT = Tolerance(atol=0.0, rtol=0.0)

RULES = rules_of(__file__)


@pytest.mark.question("split_heads", points=1)
def test_split_one_token(expect: Expect, draw: Draw) -> None:
    expect.same(
        "split_heads",
        draw.normal(1, 1, 6),
        2,
        likely="a token with 6 columns gives each of 2 heads 3 columns; a dimension of size 1 "
        "must stay",
        tolerance=EXACT,
    )


@pytest.mark.question("split_heads", points=2)
def test_split_sequences_in_a_batch(expect: Expect, draw: Draw) -> None:
    likely = (
        "a head is a group of NEIGHBORING columns, and the first columns are head 0; the "
        "dimensions of the result are batch, head, token, column"
    )
    expect.same("split_heads", draw.normal(2, 5, 12), 3, likely=likely, tolerance=EXACT)
    expect.same("split_heads", draw.normal(3, 4, 10), 5, likely=likely, tolerance=EXACT)


@pytest.mark.question("split_heads", points=1)
def test_split_into_one_head_and_into_single_columns(expect: Expect, draw: Draw) -> None:
    x = draw.normal(2, 3, 4)
    likely = (
        "a single head gets all columns; if there are as many heads as columns, each head gets one"
    )
    expect.same("split_heads", x, 1, likely=likely, tolerance=EXACT)
    expect.same("split_heads", x, 4, likely=likely, tolerance=EXACT)


@pytest.mark.question("split_heads", points=1)
def test_split_keeps_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        "split_heads",
        draw.normal(2, 3, 8, dtype=torch.float64),
        4,
        likely="the numbers only change places: their dtype and digits stay the same",
        tolerance=EXACT,
    )


@pytest.mark.question("split_heads", points=1)
def test_split_refuses_columns_that_do_not_divide(expect: Expect, draw: Draw) -> None:
    likely = (
        "raise a ValueError if the heads can't share the columns equally; do not drop or add "
        "columns"
    )
    expect.same("split_heads", draw.normal(2, 3, 9), 3, likely=likely, tolerance=EXACT)
    for columns, heads in undivided(draw):
        # in the first call, the numbers could be reshaped, although the columns can't be divided
        for samples, tokens in ((2, 2), (1, 1)):
            x = draw.normal(samples, tokens, columns)
            expect.raises("split_heads", x, heads, error=ValueError, likely=likely)


@pytest.mark.question("merge_heads", points=1)
def test_merge_one_token(expect: Expect, draw: Draw) -> None:
    expect.same(
        "merge_heads",
        draw.normal(1, 3, 1, 2),
        likely="the columns of head 0 come first, then those of head 1, then those of head 2; a "
        "dimension of size 1 must stay",
        tolerance=EXACT,
    )


@pytest.mark.question("merge_heads", points=2)
def test_merge_sequences_in_a_batch(expect: Expect, draw: Draw) -> None:
    likely = (
        "row t of the result contains the columns of every head for token t: swap heads and "
        "tokens before you put the heads side by side"
    )
    expect.same("merge_heads", draw.normal(2, 3, 5, 4), likely=likely, tolerance=EXACT)
    expect.same("merge_heads", draw.normal(4, 5, 2, 3), likely=likely, tolerance=EXACT)


@pytest.mark.question("merge_heads", points=1)
def test_merge_when_sizes_are_equal(expect: Expect, draw: Draw) -> None:
    likely = (
        "several orders of the dimensions have the right shape, but only one has the right numbers"
    )
    expect.same("merge_heads", draw.normal(3, 3, 4, 4), likely=likely, tolerance=EXACT)
    expect.same("merge_heads", draw.normal(2, 4, 4, 2), likely=likely, tolerance=EXACT)


@pytest.mark.question("merge_heads", points=1)
def test_merge_keeps_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        "merge_heads",
        draw.normal(2, 2, 3, 5, dtype=torch.float64),
        likely="the numbers only change places: a new tensor needs the dtype of `x`",
        tolerance=EXACT,
    )


@pytest.mark.question("causal_head_attention", points=1)
def test_attention_of_one_and_two_tokens(expect: Expect, draw: Draw) -> None:
    likely = (
        "the first token can attend only to itself, so its context is its own value; the second "
        "token has two scores, which are divided by the square root of the head size before softmax"
    )
    for num_tokens in (1, 2):
        q, k, v = (draw.normal(1, 2, num_tokens, 3) for _ in range(3))
        expect.same("causal_head_attention", q, k, v, likely=likely)


@pytest.mark.question("causal_head_attention", points=2)
def test_attention_of_many_heads(expect: Expect, draw: Draw) -> None:
    likely = (
        "softmax runs over the keys of one head; the scores are divided by the square root of "
        "the size of ONE head"
    )
    for num_tokens in (5, 3):  # the second call is shorter
        q, k, v = (draw.normal(2, 4, num_tokens, 6) for _ in range(3))
        expect.same("causal_head_attention", q, k, v, likely=likely)


@pytest.mark.question("causal_head_attention", points=1)
def test_attention_when_all_sizes_are_equal(expect: Expect, draw: Draw) -> None:
    q, k, v = (draw.normal(3, 3, 3, 3) for _ in range(3))
    expect.same(
        "causal_head_attention",
        q,
        k,
        v,
        likely="every order of the dimensions has the right shape here: over which one does each "
        "product sum, and over which one does softmax run?",
    )


@pytest.mark.question("causal_head_attention", points=1)
def test_future_stays_hidden_when_the_past_scores_low(expect: Expect, draw: Draw) -> None:
    q, k = low_queries_and_keys(draw, (2, 2, 5, 1), (2, 2, 5, 1), torch.float64)
    expect.same(
        "causal_head_attention",
        q,
        k,
        draw.normal(2, 2, 5, 1, dtype=torch.float64),
        likely="scores can be far below zero: a masked score must be so low that softmax gives it "
        "no weight",
    )
    apart = rows_far_apart(draw, (1, 2, 4, 1), (1, 2, 4, 1))
    expect.same("causal_head_attention", *apart, draw.normal(1, 2, 4, 1), likely=FAR_APART)


@pytest.mark.question("causal_head_attention", points=1)
def test_future_does_not_change_the_past(expect: Expect, draw: Draw) -> None:
    q, k, v = (draw.normal(2, 3, 6, 5) for _ in range(3))
    likely = "the context of a token must not change when only later tokens change"
    before = expect.same("causal_head_attention", q, k, v, likely=likely)
    for tensor in (q, k, v):
        tensor[:, :, 4:] = draw.normal(2, 3, 2, 5)
    after = expect.result("causal_head_attention", q, k, v, likely=likely)
    expect.that(
        torch.allclose(before[:, :, :4], after[:, :, :4], atol=1e-5),
        got="different contexts for tokens 0 to 3 after tokens 4 and 5 changed",
        expected="the same contexts",
        likely=likely,
    )


@pytest.mark.question("causal_head_attention", points=1)
def test_attention_of_shared_and_non_contiguous_inputs(expect: Expect, draw: Draw) -> None:
    likely = (
        "one tensor may be passed as queries, keys and values, and tensors need not be contiguous"
    )
    x = draw.strided(2, 3, 4, 5)
    expect.same("causal_head_attention", x, x, x, likely=likely)
    q, k, v = (draw.strided(2, 2, 3, 5) for _ in range(3))
    expect.same("causal_head_attention", q, k, v, likely=likely)


@pytest.mark.question("causal_head_attention", points=1)
def test_attention_in_float64(expect: Expect, draw: Draw) -> None:
    # large values nearly cancel each other, which reveals any use of float32
    q, k, v = (
        draw.normal(4, 4, 14, 4, scale=scale, dtype=torch.float64) for scale in (0.7, 0.7, 30.0)
    )
    expect.same(
        "causal_head_attention",
        q,
        k,
        v,
        likely="for float64 inputs, compute in float64 and return float64: do not create a tensor "
        "with a fixed dtype of lower precision",
    )


@pytest.mark.question("causal_head_attention", points=0)
def test_attention_is_built_without_attention_of_torch(expect: Expect, draw: Draw) -> None:
    check_rule(expect, ATTENTION, RULES["causal_head_attention"])
    # an answer that does nothing breaks no rule, so the result is checked as well
    q, k, v = (draw.normal(2, 3, 5, 4) for _ in range(3))
    likely = (
        "each head is computed separately, and a token sees only itself and the tokens before it"
    )
    expect.same("causal_head_attention", q, k, v, likely=likely)


# general properties, tested from declarations

SPLIT = Traits(
    "split_heads",
    [Tensor("B T H*d"), Size("H")],
    loops="B*T*H*d",
    factors=(32,),
    own={
        "float64": "test_split_keeps_float64",
        "errors": "test_split_refuses_columns_that_do_not_divide",
    },
    without={"chance": "nothing is random"},
)


@pytest.mark.question("split_heads", shared=2)
@pytest.mark.parametrize("trait", SPLIT.tested)
def test_split_heads_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, SPLIT, trait)


MERGE = Traits(
    "merge_heads",
    [Tensor("B H T d")],
    loops="B*H*T*d",
    factors=(32,),
    own={"float64": "test_merge_keeps_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("merge_heads", shared=2)
@pytest.mark.parametrize("trait", MERGE.tested)
def test_merge_heads_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, MERGE, trait)


ATTENTION = Traits(
    "causal_head_attention",
    [Tensor("B H T d"), Tensor("B H T d"), Tensor("B H T d")],
    factors=(32, 1 / 8, 32),
    root=ScaledScores("d"),
    own={"float64": "test_attention_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("causal_head_attention", shared=2)
@pytest.mark.parametrize("trait", ATTENTION.tested)
def test_causal_head_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, ATTENTION, trait)
