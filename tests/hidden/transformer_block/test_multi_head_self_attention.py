"""Hidden suite of `multi_head_self_attention`: 30 of the assignment's 100 points."""

import pytest
import torch

from autograder.attention.suites.low_scores import (
    FAR_APART,
    far_scoring,
    far_tokens,
    loud,
    low_scoring,
    low_tokens,
)
from autograder.suite import Draw, Expect, ExpectLayer
from autograder.suite.traits import Size, Tensor, Traits, check_trait

# a scale of weights that keeps scores moderate for the sizes of these tests
SCALE = 0.4


def _attention(expect: Expect, d_model: int, num_heads: int) -> ExpectLayer:
    """Builds the layer in eval mode; only one test uses train mode."""
    return expect.layer("MultiHeadSelfAttention", d_model, num_heads, scale=SCALE).eval()


@pytest.mark.question("MultiHeadSelfAttention", points=3)
def test_weights_are_those_of_four_linear_layers(expect: Expect) -> None:
    layer = _attention(expect, 10, 2)
    layer.exact_weights(
        likely="W_query, W_key, W_value and out_proj are nn.Linear layers with a bias, created "
        "once in `__init__` as attributes of the module (heads do not need their own layers)"
    )


@pytest.mark.question("MultiHeadSelfAttention", points=2)
def test_one_token_in_one_sequence(expect: Expect, draw: Draw) -> None:
    layer = _attention(expect, 6, 2)
    layer.same(
        draw.normal(1, 1, 6),
        likely="a single token attends only to itself: its value goes through out_proj, and all "
        "three dimensions must stay",
    )


@pytest.mark.question("MultiHeadSelfAttention", points=4)
def test_one_head(expect: Expect, draw: Draw) -> None:
    layer = _attention(expect, 6, 1)
    layer.same(
        draw.normal(1, 5, 6),
        likely="with one head, check these steps in order: scores of queries and keys, division "
        "by the square root of the head size, softmax over the keys, weights times values, "
        "out_proj; every token sees every token",
    )


@pytest.mark.question("MultiHeadSelfAttention", points=5)
def test_several_heads(expect: Expect, draw: Draw) -> None:
    layer = _attention(expect, 15, 3)
    layer.same(
        draw.normal(1, 7, 15),
        likely="head h has D/H neighboring columns of queries, keys, values and result, and its "
        "scores are divided by the square root of D/H: what does each axis contain after each "
        "reshape?",
    )


@pytest.mark.question("MultiHeadSelfAttention", points=4)
def test_several_sequences(expect: Expect, draw: Draw) -> None:
    layer = _attention(expect, 12, 2)
    layer.same(
        draw.normal(3, 5, 12),
        likely="every sequence of the batch is processed separately, with its own keys and values",
    )


@pytest.mark.question("MultiHeadSelfAttention", points=2)
def test_heads_of_size_one(expect: Expect, draw: Draw) -> None:
    layer = _attention(expect, 3, 3)
    layer.fill(far_scoring(draw))
    layer.same(far_tokens(draw, 2, 4, 3), likely=FAR_APART)
    layer.fill(low_scoring(draw, 1))
    layer.move(dtype=torch.float64).same(
        low_tokens(draw, 2, 4, 3),
        likely="a head may have a single column: its dimension of size 1 must stay, and scores "
        "are divided by the square root of 1; do not clip scores far from 0",
    )


@pytest.mark.question("MultiHeadSelfAttention", points=2)
def test_float64(expect: Expect, draw: Draw) -> None:
    layer = _attention(expect, 8, 2).move(dtype=torch.float64)  # the square root of 4 is exact
    layer.fill(lambda name, shape: loud(draw, name, shape))
    layer.same(
        draw.normal(4, 20, 8, dtype=torch.float64),
        likely="a float64 module computes everything in float64: give new tensors the dtype of "
        "the input",
    )


# general properties, tested from declarations

SELF_ATTENTION = Traits(
    "MultiHeadSelfAttention",
    [Tensor("B T H*d")],
    build=[Size("H*d"), Size("H")],
    own={"float64": "test_float64"},
    without={
        "errors": "none is promised",
        "chance": "nothing is random: train and eval mode are compared in call after call",
    },
)


@pytest.mark.question("MultiHeadSelfAttention", shared=8)
@pytest.mark.parametrize("trait", SELF_ATTENTION.tested)
def test_self_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, SELF_ATTENTION, trait)
