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


def _with_opposite_entries(queries: torch.Tensor) -> torch.Tensor:
    """Makes two entries of every query large and opposite, so that sums lose digits in float32."""
    queries[..., 0] += 1e3
    queries[..., 1] -= 1e3
    return queries


def _with_equal_entries(keys: torch.Tensor) -> torch.Tensor:
    """Makes two entries of every key equal, so that large opposite entries cancel in the score."""
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
            likely="the square root of `d_k` need not be a whole number: do not round it, and do "
            "not use the number of tokens instead of `d_k`",
        )


@pytest.mark.question("scale_scores", points=1.5)
def test_scores_of_several_sentences_and_heads(expect: Expect, draw: Draw) -> None:
    likely = "all scores are divided by the same number, however many dimensions there are"
    expect.same("scale_scores", draw.normal(2, 3, 5, scale=4.0), 6, likely=likely)
    expect.same("scale_scores", draw.normal(2, 3, 4, 5, scale=4.0), 8, likely=likely)


@pytest.mark.question("scale_scores", points=0.5)
def test_a_single_score(expect: Expect, draw: Draw) -> None:
    likely = "the result has the shape of the scores, even if some sizes are 1"
    # one score of each sign, so that a lost sign is always noticed
    expect.same("scale_scores", draw.uniform(1, 1, 1, low=-2.0, high=-0.5), 5, likely=likely)
    expect.same("scale_scores", draw.uniform(1, 1, low=0.5, high=2.0), 1, likely=likely)


@pytest.mark.question("scale_scores", points=1)
def test_large_scores_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        "scale_scores",
        draw.uniform(4, 3, low=-48.0, high=48.0, dtype=torch.float64),
        5,
        likely="compute in the dtype of the scores, and do not clip large or negative scores",
    )


# attention_weights: 10 points


@pytest.mark.question("attention_weights", points=1)
def test_weights_of_one_query(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        draw.normal(1, 5),
        draw.normal(3, 5),
        likely="compute the dot products with all keys, divide them by the square root of the "
        "size of a key, then take the softmax over the keys",
    )


@pytest.mark.question("attention_weights", points=2)
def test_more_keys_than_queries(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        draw.normal(5, 3),
        draw.normal(7, 3),
        likely="row t belongs to query t and sums to one; the scale depends on the size of a key "
        "(the last dimension), not on the number of tokens",
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
    likely = "swap only the last two dimensions of the keys, and no dimensions of the queries"
    expect.same("attention_weights", draw.normal(3, 3), draw.normal(3, 3), likely=likely)
    expect.same("attention_weights", draw.normal(3, 3, 3), draw.normal(3, 3, 3), likely=likely)


@pytest.mark.question("attention_weights", points=1.5)
def test_weights_in_a_batch(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        draw.normal(2, 5, 6),
        draw.normal(2, 4, 6),
        likely="each sentence is computed separately: transpose only the last two dimensions of "
        "the keys, and take the softmax over the last dimension",
    )


@pytest.mark.question("attention_weights", points=1)
def test_weights_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        "attention_weights",
        _with_opposite_entries(draw.strided(2, 5, 3, dtype=torch.float64)),
        _with_equal_entries(draw.strided(2, 4, 3, dtype=torch.float64)),
        likely="compute in the dtype of the inputs; `.view` needs contiguous memory",
    )
    # far from 0, the spacing of float32 is 4e-6
    expect.same(
        "attention_weights",
        *low_queries_and_keys(draw, (40, 1), (4, 1), torch.float64),
        likely="compute in the dtype of the inputs, even in the softmax",
    )
    expect.same(
        "attention_weights",
        *rows_far_apart(draw, (2, 4, 1), (2, 5, 1)),
        likely="do not clip scores before the softmax; if you subtract a number before taking "
        "exponentials, use a separate one for each row",
    )


@pytest.mark.question("attention_weights", points=1)
def test_queries_that_are_the_keys(expect: Expect, draw: Draw) -> None:
    both = draw.uniform(2, 5, 3, low=-2.5, high=2.5)
    likely = "queries and keys may be the same tensor: do not change either in place"
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
        likely="compute the dot products with all keys, divide them by the square root of the "
        "size of a key, take the softmax over the keys, and mix the values with these weights",
    )


@pytest.mark.question(ATTENTION, points=2)
def test_all_sizes_differ(expect: Expect, draw: Draw) -> None:
    expect.same(
        ATTENTION,
        draw.normal(5, 3),
        draw.normal(7, 3),
        draw.normal(7, 6),
        likely="the scale depends on the size of a key, not on the values or the number of "
        "tokens; weight [t, s] belongs to row s of the values",
    )


@pytest.mark.question(ATTENTION, points=1.5)
def test_all_sizes_equal(expect: Expect, draw: Draw) -> None:
    for leading in ((), (3,)):
        expect.same(
            ATTENTION,
            *(draw.normal(*leading, 3, 3) for _ in range(3)),
            likely="with square matrices, an extra transpose, a softmax over the wrong dimension, "
            "or swapped keys and values raise no error; no key is masked",
        )


@pytest.mark.question(ATTENTION, points=1.5)
def test_contexts_in_a_batch(expect: Expect, draw: Draw) -> None:
    expect.same(
        ATTENTION,
        draw.normal(2, 5, 6),
        draw.normal(2, 4, 6),
        draw.normal(2, 4, 3),
        likely="each sentence is computed separately: use its queries only with its own keys and "
        "values",
    )


@pytest.mark.question(ATTENTION, points=1)
def test_scores_far_apart(expect: Expect, draw: Draw) -> None:
    likely = (
        "scores of any size go into the softmax: do not clip them, and do not raise weights near "
        "zero; if you subtract a number before taking exponentials, use a separate one for each "
        "row"
    )
    expect.same(ATTENTION, *rows_far_apart(draw, (4, 1), (6, 1)), draw.normal(6, 3), likely=likely)
    low = low_queries_and_keys(draw, (2, 3, 4), (2, 6, 4), torch.float64)
    expect.same(ATTENTION, *low, draw.normal(2, 6, 3, dtype=torch.float64), likely=likely)


@pytest.mark.question(ATTENTION, points=1)
def test_one_tensor_in_three_roles_then_other_sizes(expect: Expect, draw: Draw) -> None:
    tokens = draw.normal(2, 5, 3)
    likely = "one tensor may be passed as queries, keys and values: do not change it in place"
    expect.same(ATTENTION, tokens, tokens, tokens, likely=likely)
    expect.same(ATTENTION, draw.normal(2, 6), draw.normal(3, 6), draw.normal(3, 4), likely=likely)


@pytest.mark.question(ATTENTION, points=1)
def test_contexts_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same(
        ATTENTION,
        _with_opposite_entries(draw.strided(2, 5, 3, dtype=torch.float64)),
        _with_equal_entries(draw.strided(2, 4, 3, dtype=torch.float64)),
        draw.strided(2, 4, 6, dtype=torch.float64),
        likely="compute in the dtype of the inputs; `.view` needs contiguous memory",
    )


@pytest.mark.question(ATTENTION, points=1)
def test_it_is_built_by_hand(expect: Expect, draw: Draw) -> None:
    args = [draw.normal(*shape) for shape in ((4, 3), (2, 3), (2, 5))]
    expect.allowed(ATTENTION, *args, rule=RULES[ATTENTION], backward=False)
    check_rule(expect, DOT_PRODUCT, RULES[ATTENTION])
    expect.same(
        ATTENTION,
        *args,
        likely="check these steps in order: scores, scale, softmax over "
        "the keys, weighted sum of the values",
    )


# general properties, tested from declarations

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
