"""Hidden suite of `multi_head_wrapper`: 15 of the assignment's 100 points."""

import pytest
import torch

from autograder.attention.suites.chance import drawn_rate
from autograder.attention.suites.dropped import (
    check_dropped_weights,
    check_layers_apart,
    shown_weights,
)
from autograder.attention.suites.dropped_gradients import check_gradients_of_weights
from autograder.attention.suites.low_scores import ScaledScores
from autograder.suite import Draw, Expect
from autograder.suite.traits import CustomInput, Rate, Size, Tensor, Traits, check_trait

WRAPPER = "MultiHeadAttentionWrapper"
#: for each test of dropout: ranges of rates, each with as many tokens and samples as are needed
#: to notice that two entries determine a third, that entries 8,192 apart are dropped together
#: (each head draws more than 8,192 weights in one call), and that random numbers are
#: multiples of 1 / 256
RATES = {
    "middle": [((0.551, 0.749), 10, 4), ((0.951, 0.999), 8, 30)],
    "low": [((0.251, 0.349), 20, 30), ((0.051, 0.099), 20, 4), ((0.001, 0.002), 20, 30)],
}


@pytest.mark.question(WRAPPER, points=1)
def test_one_head_and_one_token(expect: Expect, draw: Draw) -> None:
    expect.layer(WRAPPER, 3, 2, 4, 0.0, 1).same(
        draw.normal(1, 1, 3),
        likely="with one head, the result is that of the head; a dimension of size 1 must stay",
    )


@pytest.mark.question(WRAPPER, points=2)
def test_many_heads_side_by_side(expect: Expect, draw: Draw) -> None:
    expect.layer(WRAPPER, 5, 3, 6, 0.0, 4).same(
        draw.normal(2, 6, 5),
        likely="every head sees the same input; the columns of head 0 come first, then those of "
        "head 1, and so on; d_out is the size of one head",
    )


@pytest.mark.question(WRAPPER, points=2)
def test_trainable_weights_are_those_of_the_heads(expect: Expect) -> None:
    likely = (
        "keep the heads in an `nn.ModuleList`, because torch does not find layers in a plain "
        "list; build each head separately; qkv_bias decides whether it has biases"
    )
    expect.layer(WRAPPER, 5, 2, 4, 0.0, 3).exact_weights(likely=likely)
    expect.layer(WRAPPER, 3, 4, 5, 0.0, 2, True).exact_weights(likely=likely)


@pytest.mark.question(WRAPPER, points=1)
def test_heads_with_bias(expect: Expect, draw: Draw) -> None:
    expect.layer(WRAPPER, 4, 3, 5, 0.0, 2, True).same(
        draw.normal(2, 4, 4), likely="pass qkv_bias on to every head"
    )


@pytest.mark.question(WRAPPER, points=1)
def test_future_does_not_change_the_past(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(WRAPPER, 4, 2, 6, 0.0, 3)
    x = draw.normal(2, 6, 4)
    likely = "the result of a token must not change when only later tokens change"
    before = layer.same(x, likely=likely)
    x[:, 3:] = draw.normal(2, 3, 4)
    after = layer.result(x, likely=likely)
    layer.that(
        torch.allclose(before[:, :3], after[:, :3], atol=1e-5),
        got="different results for tokens 0 to 2 after tokens 3 to 5 changed",
        expected="the same results",
        likely=likely,
    )


@pytest.mark.question(WRAPPER, points=1)
def test_module_in_float64(expect: Expect, draw: Draw) -> None:
    expect.layer(WRAPPER, 3, 2, 5, 0.0, 2, False).move(dtype=torch.float64).same(
        draw.normal(2, 4, 3, dtype=torch.float64),
        likely="after `module.double()`, every head computes in float64, and the joined result is "
        "float64",
    )


@pytest.mark.question(WRAPPER, points=1)
def test_module_on_another_device(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(WRAPPER, 3, 2, 5, 0.3, 2)
    x = draw.normal(2, 4, 3)
    likely = "all heads, and every tensor created in `forward`, must be on the device of the module"
    layer.eval().same(x, likely=likely)
    layer.train().moves(x, likely=likely)


@pytest.mark.question(WRAPPER, points=1)
@pytest.mark.parametrize("rates", ["middle", "low"])
def test_dropout_in_every_head(expect: Expect, draw: Draw, rates: str) -> None:
    for turn, ((low, high), num_tokens, samples) in enumerate(RATES[rates]):
        p = drawn_rate(draw, low, high)
        # gradients reach queries and keys in one of the calls
        _check_dropout(expect, draw, p, num_tokens, samples, rates == "middle" and turn == 0)
    likely = "draw new random numbers in every layer and every call: set no seed"
    check_layers_apart(expect, WRAPPER, (8, 6, 8, 0.3, 2), draw.normal(3, 8, 8), likely=likely)


def _check_dropout(
    expect: Expect, draw: Draw, p: float, num_tokens: int, samples: int, learns: bool
) -> None:
    likely = (
        "every head drops its own attention weights with the given probability, and only in "
        "training; nothing else is dropped"
    )
    num_heads = draw.integer(2, 4)
    layer = expect.layer(WRAPPER, num_tokens, num_tokens + 1, num_tokens, p, num_heads)
    shown = shown_weights(num_tokens)  # all scores are equal and not 0
    layer.fill(lambda name, shape: shown if "W_value" in name else torch.full(shape, 0.5))
    x = torch.eye(num_tokens).repeat(samples, 1, 1)
    check_dropped_weights(layer, x, p, num_heads, likely=likely)
    layer.eval().same(x, likely=likely)
    if learns:
        layer.fill(
            lambda name, shape: shown if "W_value" in name else draw.normal(*shape, scale=0.3)
        )
        check_gradients_of_weights(layer, draw, x, num_heads)


# general properties, tested from declarations

WRAPPER_TRAITS = Traits(
    WRAPPER,
    [Tensor("B T d_in")],
    build=[
        Size("d_in"),
        Size("d"),
        Size("C"),
        Rate(),
        Size("H"),
        CustomInput(lambda draw, sizes: True),
    ],
    sizes={"C": 128},
    fixed=["C"],
    root=ScaledScores("d"),
    own={"float64": "test_module_in_float64", "chance": "test_dropout_in_every_head"},
    without={"errors": "those of its heads"},
)


@pytest.mark.question(WRAPPER, shared=4)
@pytest.mark.parametrize("trait", WRAPPER_TRAITS.tested)
def test_wrapper_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, WRAPPER_TRAITS, trait)
