"""Hidden suite of `masking`: 40 of the assignment's 100 points."""

import pytest
import torch

from autograder.attention.suites.low_scores import (
    FAR_APART,
    ScaledScores,
    low_queries_and_keys,
    rows_far_apart,
)
from autograder.suite import Draw, Expect
from autograder.suite.compare import describe, is_finite
from autograder.suite.traits import Size, Tensor, Traits, check_trait

DIGITS = (
    "compute in the dtype of the weights, and return that dtype; `.float()` or a new tensor with "
    "a fixed dtype loses digits"
)


def _softmax(scores: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scores, dim=-1)


def _scaled_difference(weights: torch.Tensor) -> torch.Tensor:
    """Returns 1000 times the difference of the first two weights, in each row that has both."""
    return 1000.0 * (weights[..., 1:, 0] - weights[..., 1:, 1])


# causal_mask: 8 points


def _check_entries(expect: Expect, num_tokens: int, likely: str) -> None:
    """Checks which entries of the mask are true, whatever its dtype is."""
    expected = expect.solution.call("causal_mask", (num_tokens,)).value
    got = expect.result("causal_mask", num_tokens, likely=likely)
    is_tensor = isinstance(got, torch.Tensor)
    expect.that(
        is_tensor and got.shape == expected.shape,
        got=f"shape {tuple(got.shape)}" if is_tensor else describe(got),
        expected=f"a tensor of shape {tuple(expected.shape)}",
        likely="the mask has one row for each query and one column for each key",
    )
    expect.that(
        torch.equal(got != 0, expected),
        got=f"{(got != 0).int().tolist()} (1: forbidden)",
        expected=f"{expected.int().tolist()}",
        likely=likely,
    )


@pytest.mark.question("causal_mask", points=1)
def test_one_token_and_two_tokens(expect: Expect) -> None:
    alone = "a token may look at itself, so with one token nothing is forbidden"
    _check_entries(expect, 1, alone)
    two = "with two tokens, only one entry is True: token 0 must not look at token 1"
    _check_entries(expect, 2, two)


@pytest.mark.question("causal_mask", points=3)
def test_only_the_future_is_forbidden(expect: Expect, draw: Draw) -> None:
    _check_entries(
        expect,
        draw.integer(4, 5),
        likely="row t belongs to query t: only entries to the right of the diagonal are True; "
        "those on the diagonal and to its left are False",
    )


@pytest.mark.question("causal_mask", points=2)
def test_entries_are_true_and_false(expect: Expect, draw: Draw) -> None:
    expect.same(
        "causal_mask",
        draw.integer(7, 9),
        likely="the result is a bool tensor: True, not 1.0, where a token must not look",
    )


# mask_and_renormalize: 10 points


def _weights(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Draws attention weights from a softmax."""
    return _softmax(draw.normal(*shape, dtype=dtype))


@pytest.mark.question("mask_and_renormalize", points=1)
def test_first_token_sees_only_itself(expect: Expect, draw: Draw) -> None:
    likely = (
        "in the first row, masking leaves only one weight, which becomes 1 when the row is "
        "normalized"
    )
    expect.same("mask_and_renormalize", draw.uniform(1, 1, low=0.3, high=0.7), likely=likely)
    expect.same("mask_and_renormalize", _weights(draw, 2, 2), likely=likely)


@pytest.mark.question("mask_and_renormalize", points=2)
def test_rows_of_softmax(expect: Expect, draw: Draw) -> None:
    expect.same(
        "mask_and_renormalize",
        _weights(draw, 5, 5),
        likely="first set the weights of the future to zero, then divide each row by the sum of "
        "what is left",
    )


@pytest.mark.question("mask_and_renormalize", points=2)
def test_rows_that_do_not_sum_to_one(expect: Expect, draw: Draw) -> None:
    weights = draw.uniform(5, 5, low=0.5, high=4.0)
    weights[4] *= 1.05e-7 / weights[4].sum()  # below the spacing of float32 at 1
    expect.same(
        "mask_and_renormalize",
        weights,
        likely="divide each row by the sum of the weights that are left, even if it did not sum "
        "to one before",
    )
    expect.same(
        "mask_and_renormalize",
        draw.uniform(4, 4, low=1.0, high=2.0, dtype=torch.float64) * 1e-7,
        likely="divide even by a very small sum: do not add anything to it, and do not clip it",
    )


@pytest.mark.question("mask_and_renormalize", points=1)
def test_batches_and_heads(expect: Expect, draw: Draw) -> None:
    likely = (
        "each matrix of the batch is masked separately, and rows are summed along the last "
        "dimension"
    )
    expect.same("mask_and_renormalize", draw.uniform(2, 5, 5, low=0.5, high=2.0), likely=likely)
    expect.same("mask_and_renormalize", draw.uniform(2, 3, 4, 4, low=0.5, high=2.0), likely=likely)
    # with equal sizes, a wrong dimension raises no error
    expect.same("mask_and_renormalize", draw.uniform(3, 3, 3, 3, low=0.5, high=2.0), likely=likely)


@pytest.mark.question("mask_and_renormalize", points=1)
def test_weights_of_zero_stay_zero(expect: Expect, draw: Draw) -> None:
    weights = draw.uniform(6, 6, low=0.5, high=2.0)
    weights[draw.uniform(6, 6) < 0.4] = 0.0
    weights[:, 0] = draw.uniform(6, low=0.5, high=2.0)  # so that each row has a visible weight
    expect.same(
        "mask_and_renormalize",
        weights,
        likely="a visible weight of zero is not a special case: zero divided by the sum is still "
        "zero",
    )


@pytest.mark.question("mask_and_renormalize", points=1)
def test_double_precision_of_strided_weights(expect: Expect, draw: Draw) -> None:
    expect.same(
        "mask_and_renormalize",
        _weights(draw, 2, 5, 5, dtype=torch.float64).transpose(-2, -1),
        likely=DIGITS,
    )
    alike = draw.uniform(2, 5, 5, low=0.999, high=1.001, dtype=torch.float64)
    expect.same("mask_and_renormalize", alike, likely=DIGITS, after=_scaled_difference)


# mask_scores: 10 points. The softmax of the scores is compared.


@pytest.mark.question("mask_scores", points=1)
def test_scores_of_one_token_and_two_tokens(expect: Expect, draw: Draw) -> None:
    likely = (
        "token 0 sees only itself, and token 1 sees both; the numbers shown are the softmax of "
        "your scores"
    )
    expect.same("mask_scores", draw.normal(1, 1), likely=likely, after=_softmax)
    expect.same("mask_scores", draw.normal(2, 2), likely=likely, after=_softmax)


@pytest.mark.question("mask_scores", points=2.5)
def test_future_scores_get_no_weight(expect: Expect, draw: Draw) -> None:
    expect.same(
        "mask_scores",
        draw.normal(5, 5),
        likely="after softmax (applied here to your result), the future must have weight 0, and "
        "the other scores count unchanged; a score of 0 does not give a weight of 0",
        after=_softmax,
    )


@pytest.mark.question("mask_scores", points=1)
def test_scores_of_exactly_zero(expect: Expect, draw: Draw) -> None:
    expect.same(
        "mask_scores",
        draw.normal(6, 6) * (draw.uniform(6, 6) < 0.5),
        likely="a score of 0 is a score like any other: mask the future by position, not by the "
        "value of a score",
        after=_softmax,
    )


@pytest.mark.question("mask_scores", points=1)
def test_visible_scores_may_be_very_low(expect: Expect, draw: Draw) -> None:
    scores = draw.uniform(6, 6, low=-48.0, high=-38.0)
    scores[0, 0] = -49.5  # the only visible score of its row is very low
    expect.same(
        "mask_scores",
        scores,
        likely="a future score must be far below every visible one, and visible scores may "
        "themselves be negative: which number is below all of them?",
        after=_softmax,
    )


@pytest.mark.question("mask_scores", points=1)
def test_future_scores_may_be_very_high(expect: Expect, draw: Draw) -> None:
    visible, future = (draw.uniform(6, 6, low=47.0, high=49.0) for _ in range(2))
    scores = torch.triu(future, diagonal=1) - torch.tril(visible)
    expect.same(
        "mask_scores",
        scores,
        likely="a future score must get no weight, however high it was",
        after=_softmax,
    )


@pytest.mark.question("mask_scores", points=0.5)
def test_scores_of_batches_and_heads(expect: Expect, draw: Draw) -> None:
    likely = "the mask applies to the last two dimensions, for every matrix of the batch"
    expect.same("mask_scores", draw.normal(2, 5, 5), likely=likely, after=_softmax)
    expect.same("mask_scores", draw.normal(2, 3, 4, 4), likely=likely, after=_softmax)
    # with equal sizes, a mask in wrong dimensions raises no error
    expect.same("mask_scores", draw.normal(3, 3, 3, 3), likely=likely, after=_softmax)


@pytest.mark.question("mask_scores", points=1)
def test_double_precision_of_strided_scores(expect: Expect, draw: Draw) -> None:
    expect.same(
        "mask_scores",
        # for numbers this large, float32 has few digits after the point
        draw.uniform(3, 9, 9, low=40.0, high=48.0, dtype=torch.float64).transpose(-2, -1),
        likely="the result has the dtype of the scores, and visible scores keep all their digits",
        after=_softmax,
    )


# causal_attention_weights: 12 points


@pytest.mark.question("causal_attention_weights", points=1)
def test_weights_of_one_token_and_two_tokens(expect: Expect, draw: Draw) -> None:
    likely = "row t has the weights of query t over keys 0 to t, and they sum to one"
    for num_tokens in (1, 2):
        expect.same(
            "causal_attention_weights",
            draw.normal(num_tokens, 3),
            draw.normal(num_tokens, 3),
            likely=likely,
        )


@pytest.mark.question("causal_attention_weights", points=2)
def test_queries_see_keys_up_to_themselves(expect: Expect, draw: Draw) -> None:
    expect.same(
        "causal_attention_weights",
        draw.normal(5, 3),
        draw.normal(5, 3),
        likely="row t contains the weights of query t over keys 0 to t, which sum to one; check "
        "these steps in order: scores, mask, scale, softmax over the keys",
    )


@pytest.mark.question("causal_attention_weights", points=2)
def test_scale_is_the_root_of_the_vector_size(expect: Expect, draw: Draw) -> None:
    likely = (
        "divide scores by the square root of the size of one key, which need not be a whole number"
    )
    for num_tokens, size in ((4, 6), (7, 2), (3, 11)):
        expect.same(
            "causal_attention_weights",
            draw.normal(num_tokens, size, scale=1.5),
            draw.normal(num_tokens, size, scale=1.5),
            likely=likely,
        )


@pytest.mark.question("causal_attention_weights", points=1)
def test_a_query_that_fits_nothing(expect: Expect, draw: Draw) -> None:
    queries = draw.normal(5, 3)
    queries[2:4] = 0.0
    expect.same(
        "causal_attention_weights",
        queries,
        draw.normal(5, 3),
        likely="a query of zeros has a score of 0 with every key, so all visible keys get the "
        "same weight; mask the future by position, not by the value of a score",
    )


@pytest.mark.question("causal_attention_weights", points=1)
def test_weights_in_batches(expect: Expect, draw: Draw) -> None:
    likely = (
        "each sequence of the batch is computed separately, with its own keys and its own softmax"
    )
    expect.same(
        "causal_attention_weights", draw.normal(2, 5, 3), draw.normal(2, 5, 3), likely=likely
    )
    expect.same(
        "causal_attention_weights", draw.normal(3, 3, 3), draw.normal(3, 3, 3), likely=likely
    )


@pytest.mark.question("causal_attention_weights", points=1)
def test_all_scores_are_low(expect: Expect, draw: Draw) -> None:
    expect.same(
        "causal_attention_weights",
        *low_queries_and_keys(draw, (2, 6, 1), (2, 6, 1), torch.float64),
        likely="visible scores may be negative: a masked score must still be far below them",
    )
    apart = rows_far_apart(draw, (2, 4, 1), (2, 4, 1))
    expect.same("causal_attention_weights", *apart, likely=FAR_APART)


@pytest.mark.question("causal_attention_weights", points=1)
def test_double_precision_of_strided_inputs(expect: Expect, draw: Draw) -> None:
    # large numbers cancel in each score, so float32 would lose the remaining digits
    def large(sign: int, scale: float) -> torch.Tensor:
        first = draw.uniform(2, 1, 5, low=80.0, high=120.0, dtype=torch.float64)
        small = draw.normal(2, 1, 5, scale=scale, dtype=torch.float64)
        rest = draw.normal(2, 1, 5, dtype=torch.float64)
        return torch.cat([first + small, sign * first, rest], dim=1).transpose(-2, -1)

    likely = "compute in the dtype of the inputs, and return that dtype"
    expect.same(
        "causal_attention_weights", large(1, scale=0.02), large(-1, scale=0.0), likely=likely
    )
    # far from 0, the spacing of float32 is 4e-6
    low = low_queries_and_keys(draw, (12, 4, 1), (12, 4, 1), torch.float64)
    expect.same("causal_attention_weights", *low, likely=likely)


@pytest.mark.question("causal_attention_weights", points=1)
def test_tokens_that_are_their_own_keys(expect: Expect, draw: Draw) -> None:
    tokens = draw.normal(2, 4, 3)
    expect.same(
        "causal_attention_weights",
        tokens,
        tokens,
        likely="queries and keys may be the same tensor: changing one in place changes the other",
    )


# general properties, tested from declarations

CAUSAL_MASK = Traits(
    "causal_mask",
    [Size("T")],
    largest={"T": 128},
    without={
        "any memory layout": "takes a number",
        "gradients": "a mask has none",
        "float64": "a mask has none",
        "errors": "none is promised",
        "chance": "nothing is random",
    },
)


@pytest.mark.question("causal_mask", shared=2)
@pytest.mark.parametrize("trait", CAUSAL_MASK.tested)
def test_causal_mask_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, CAUSAL_MASK, trait)


def _similar_weights(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draws weights of similar size, so that the visible weight of row 0 matters in that row's sum.

    The last row already sums to one, but must still be divided by its sum: only then is its
    gradient right.
    """
    weights = draw.uniform(*shape, low=0.5, high=1.5, dtype=dtype)
    weights[..., -1:, :] /= weights[..., -1:, :].sum(dim=-1, keepdim=True)
    return weights


RENORMALIZE = Traits(
    "mask_and_renormalize",
    [Tensor("... T T", _similar_weights)],
    # subtracting the future's sum is right, but too inexact in float32 for 128 tokens
    dtype=torch.float64,
    factors=(32,),
    own={"float64": "test_double_precision_of_strided_weights"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("mask_and_renormalize", shared=2)
@pytest.mark.parametrize("trait", RENORMALIZE.tested)
def test_mask_and_renormalize_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, RENORMALIZE, trait)
    if trait == "gradients":
        _check_gradients_at_zero(expect)


def _check_gradients_at_zero(expect: Expect) -> None:
    """Checks that gradients are finite for weights of zero.

    Gradients at zero are not compared, because right formulas may differ for negative weights.
    """
    weights = expect.draw.uniform(4, 4, low=0.5, high=1.5, dtype=torch.float64)
    weights[1:, 1] = 0.0
    likely = (
        "the gradient must be finite even if some weights are zero: a step that is infinite at "
        "zero, such as a logarithm, has no finite gradient"
    )
    cotangent = expect.draw.normal(4, 4, dtype=torch.float64)
    pulled = expect.pulled("mask_and_renormalize", weights, cotangent=cotangent, likely=likely)
    expect.that(
        all(is_finite(grad) for grad in pulled.inputs if grad is not None),
        got="a gradient that is nan or infinite, where some weights are zero",
        expected="finite gradients",
        likely=likely,
    )


MASK_SCORES = Traits(
    "mask_scores",
    [Tensor("... T T")],
    after=_softmax,
    factors=(10,),
    own={"float64": "test_double_precision_of_strided_scores"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("mask_scores", shared=2)
@pytest.mark.parametrize("trait", MASK_SCORES.tested)
def test_mask_scores_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, MASK_SCORES, trait)


WEIGHTS = Traits(
    "causal_attention_weights",
    [Tensor("... T d"), Tensor("... T d")],
    factors=(32, 1 / 8),
    root=ScaledScores("d"),
    own={"float64": "test_double_precision_of_strided_inputs"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("causal_attention_weights", shared=2)
@pytest.mark.parametrize("trait", WEIGHTS.tested)
def test_causal_attention_weights_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, WEIGHTS, trait)
