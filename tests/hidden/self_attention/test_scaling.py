"""Hidden suite of `scaling`: 30 of the assignment's 100 points."""

import pytest
import torch

from autograder.attention.suites.low_scores import (
    ScaledScores,
    low_queries_and_keys,
    rows_far_apart,
)
from autograder.suite import Draw, Expect, rules_of
from autograder.suite.traits import Size, Tensor, Traits, check_rule, check_trait


def _cancelling(queries: torch.Tensor) -> torch.Tensor:
    """Makes two entries of every query large and opposite: float32 loses what the rest says."""
    queries[..., 0] += 1e3
    queries[..., 1] -= 1e3
    return queries


def _alike(keys: torch.Tensor) -> torch.Tensor:
    """Makes two entries of every key equal: what is large and opposite cancels in the score."""
    keys[..., 1] = keys[..., 0]
    return keys


# scale_scores: 8 points


@pytest.mark.question("scale_scores", points=1)
def test_a_perfect_square(expect: Expect, draw: Draw) -> None:
    expect.same(
        "scale_scores",
        draw.normal(3, 5, scale=4.0),
        16,
        likely="every score is divided by the square root of `d_k`, not by `d_k`",
    )


@pytest.mark.question("scale_scores", points=2)
def test_sizes_that_are_no_perfect_square(expect: Expect, draw: Draw) -> None:
    for d_k in (3, 7, 40, 2047):
        expect.same(
            "scale_scores",
            draw.normal(4, 6, scale=4.0),
            d_k,
            likely="the root of `d_k` need not be a whole number: do not round it, and do not "
            "take the number of tokens for it",
        )


@pytest.mark.question("scale_scores", points=1.5)
def test_scores_of_several_sentences_and_heads(expect: Expect, draw: Draw) -> None:
    likely = "all scores are divided by the same number, however many dimensions there are"
    expect.same("scale_scores", draw.normal(2, 3, 5, scale=4.0), 6, likely=likely)
    expect.same("scale_scores", draw.normal(2, 3, 4, 5, scale=4.0), 8, likely=likely)


@pytest.mark.question("scale_scores", points=0.5)
def test_a_single_score(expect: Expect, draw: Draw) -> None:
    likely = "the result has the shape of the scores, even where sizes are 1"
    # one of each sign: no draw makes a sign that is lost invisible
    expect.same("scale_scores", draw.uniform(1, 1, 1, low=-2.0, high=-0.5), 5, likely=likely)
    expect.same("scale_scores", draw.uniform(1, 1, low=0.5, high=2.0), 1, likely=likely)


@pytest.mark.question("scale_scores", points=1)
def test_large_scores_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        "scale_scores",
        draw.uniform(4, 3, low=-48.0, high=48.0, dtype=torch.float64),
        5,
        likely="stay in the dtype of the scores, and keep large and negative ones as they are",
    )


# attention_weights: 10 points


@pytest.mark.question("attention_weights", points=1)
def test_weights_of_one_query(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        draw.normal(1, 5),
        draw.normal(3, 5),
        likely="dot products with all keys, divided by the square root of the size of a key, then "
        "softmax over the keys",
    )


@pytest.mark.question("attention_weights", points=2)
def test_more_keys_than_queries(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        draw.normal(5, 3),
        draw.normal(7, 3),
        likely="row t belongs to query t and sums to one; the scale comes from the size of a key "
        "(last dimension), not from the number of tokens",
    )


@pytest.mark.question("attention_weights", points=1.5)
def test_as_many_keys_as_queries(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        draw.normal(4, 6),
        draw.normal(4, 6),
        likely="query t and key s are different vectors: the weights are not symmetric, and no "
        "key is masked",
    )
    likely = "only the last two dimensions of the keys change places, nothing of the queries"
    expect.same("attention_weights", draw.normal(3, 3), draw.normal(3, 3), likely=likely)
    expect.same("attention_weights", draw.normal(3, 3, 3), draw.normal(3, 3, 3), likely=likely)


@pytest.mark.question("attention_weights", points=1.5)
def test_weights_in_a_batch(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        draw.normal(2, 5, 6),
        draw.normal(2, 4, 6),
        likely="each sentence is on its own: transpose the last two dimensions of the keys only, "
        "and take the softmax over the last dimension",
    )


@pytest.mark.question("attention_weights", points=1)
def test_weights_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        _cancelling(draw.strided(2, 5, 3, dtype=torch.float64)),
        _alike(draw.strided(2, 4, 3, dtype=torch.float64)),
        likely="stay in the dtype of the inputs; `.view` needs contiguous memory",
    )
    # far from 0 float32 knows a score to 4e-6 only
    expect.same(
        "attention_weights",
        *low_queries_and_keys(draw, (40, 1), (4, 1), torch.float64),
        likely="stay in the dtype of the inputs, in softmax, too",
    )
    expect.same(
        "attention_weights",
        *rows_far_apart(draw, (2, 4, 1), (2, 5, 1)),
        likely="a score counts as it is: none is cut off at a bound before softmax, and what is "
        "taken off before the exponential belongs to its row, not to all rows",
    )


@pytest.mark.question("attention_weights", points=1)
def test_queries_that_are_the_keys(expect: Expect, draw: Draw) -> None:
    both = draw.uniform(2, 5, 3, low=-2.5, high=2.5)
    likely = "work on new tensors: queries and keys may be one and the same tensor"
    expect.same("attention_weights", both, both, likely=likely)
    one = draw.normal(3, 6)
    expect.same("attention_weights", one, one, likely=likely)


# scaled_dot_product_attention: 12 points

ATTENTION = "scaled_dot_product_attention"

RULES = rules_of(__file__)


@pytest.mark.question(ATTENTION, points=1)
def test_context_of_one_query(expect: Expect, draw: Draw) -> None:
    expect.same(
        ATTENTION,
        draw.normal(1, 5),
        draw.normal(3, 5),
        draw.normal(3, 2),
        likely="dot products with all keys, divided by the square root of the size of a key, "
        "softmax over the keys; these weights mix the values",
    )


@pytest.mark.question(ATTENTION, points=2)
def test_all_sizes_differ(expect: Expect, draw: Draw) -> None:
    expect.same(
        ATTENTION,
        draw.normal(5, 3),
        draw.normal(7, 3),
        draw.normal(7, 6),
        likely="the scale comes from the size of a key, not from the values or from the number of "
        "tokens; weight [t, s] belongs to row s of the values",
    )


@pytest.mark.question(ATTENTION, points=1.5)
def test_all_sizes_equal(expect: Expect, draw: Draw) -> None:
    for leading in ((), (3,)):
        expect.same(
            ATTENTION,
            *(draw.normal(*leading, 3, 3) for _ in range(3)),
            likely="with square matrices a transpose too many, the wrong dimension of the softmax "
            "or an exchange of keys and values goes unnoticed; no key is masked",
        )


@pytest.mark.question(ATTENTION, points=1.5)
def test_contexts_in_a_batch(expect: Expect, draw: Draw) -> None:
    expect.same(
        ATTENTION,
        draw.normal(2, 5, 6),
        draw.normal(2, 4, 6),
        draw.normal(2, 4, 3),
        likely="each sentence is on its own: its queries meet its own keys and values only",
    )


@pytest.mark.question(ATTENTION, points=1)
def test_scores_far_apart(expect: Expect, draw: Draw) -> None:
    likely = (
        "scores of any size go into the softmax as they are: none is cut off, weights near zero "
        "are not raised, and what is taken off before the exponential belongs to its row alone"
    )
    expect.same(ATTENTION, *rows_far_apart(draw, (4, 1), (6, 1)), draw.normal(6, 3), likely=likely)
    low = low_queries_and_keys(draw, (2, 3, 4), (2, 6, 4), torch.float64)
    expect.same(ATTENTION, *low, draw.normal(2, 6, 3, dtype=torch.float64), likely=likely)


@pytest.mark.question(ATTENTION, points=1)
def test_one_tensor_in_three_roles_then_other_sizes(expect: Expect, draw: Draw) -> None:
    tokens = draw.normal(2, 5, 3)
    likely = "work on new tensors: one tensor may be queries, keys and values"
    expect.same(ATTENTION, tokens, tokens, tokens, likely=likely)
    expect.same(ATTENTION, draw.normal(2, 6), draw.normal(3, 6), draw.normal(3, 4), likely=likely)


@pytest.mark.question(ATTENTION, points=1)
def test_contexts_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        ATTENTION,
        _cancelling(draw.strided(2, 5, 3, dtype=torch.float64)),
        _alike(draw.strided(2, 4, 3, dtype=torch.float64)),
        draw.strided(2, 4, 6, dtype=torch.float64),
        likely="stay in the dtype of the inputs; `.view` needs contiguous memory",
    )


@pytest.mark.question(ATTENTION, points=1)
def test_it_is_built_by_hand(expect: Expect, draw: Draw) -> None:
    args = [draw.normal(*shape) for shape in ((4, 3), (2, 3), (2, 5))]
    expect.allowed(ATTENTION, *args, rule=RULES[ATTENTION], backward=False)
    check_rule(expect, DOT_PRODUCT, RULES[ATTENTION])
    expect.same(ATTENTION, *args, likely="scores, scale, softmax over the keys, weighted sum")


# What holds for every question.

SCALE_SCORES = Traits(
    "scale_scores",
    [Tensor("... T S"), Size("d_k")],
    loops="T*S",
    largest={"d_k": 4096},
    factors=(12,),
    own={"float64": "test_large_scores_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("scale_scores", shared=2)
@pytest.mark.parametrize("trait", SCALE_SCORES.tested)
def test_scale_scores_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, SCALE_SCORES, trait)


WEIGHTS = Traits(
    "attention_weights",
    [Tensor("... T d"), Tensor("... S d")],
    factors=(32, 1 / 8),
    root=ScaledScores("d"),
    own={"float64": "test_weights_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("attention_weights", shared=2)
@pytest.mark.parametrize("trait", WEIGHTS.tested)
def test_attention_weights_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, WEIGHTS, trait)


DOT_PRODUCT = Traits(
    ATTENTION,
    [Tensor("... T d"), Tensor("... S d"), Tensor("... S d_v")],
    loops="T*S*d+T*S*d_v",
    factors=(32, 1 / 8, 32),
    root=ScaledScores("d"),
    own={"float64": "test_contexts_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(ATTENTION, shared=2)
@pytest.mark.parametrize("trait", DOT_PRODUCT.tested)
def test_scaled_dot_product_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, DOT_PRODUCT, trait)
