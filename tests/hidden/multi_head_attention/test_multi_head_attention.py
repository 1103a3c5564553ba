"""Hidden suite of `multi_head_attention`: 25 of the assignment's 100 points."""

import pytest
import torch

from autograder.attention.suites.chance import drawn_rate
from autograder.attention.suites.divisors import undivided
from autograder.attention.suites.dropped import (
    check_dropped_weights,
    check_layers_apart,
    shown_weights,
)
from autograder.attention.suites.dropped_gradients import check_gradients_of_weights
from autograder.attention.suites.low_scores import (
    FAR_APART,
    ScaledScores,
    far_scoring,
    far_tokens,
    loud,
    low_scoring,
    low_tokens,
)
from autograder.suite import Draw, Expect
from autograder.suite.traits import CustomInput, Rate, Size, Tensor, Traits, check_trait

MHA = "MultiHeadAttention"
#: for each test of dropout: ranges of rates, each with as many tokens and samples as are needed
#: to notice that two entries determine a third, that entries 8,192 apart are dropped together
#: (two heads or more draw more than 8,192 weights in one call), and that random numbers are
#: multiples of 1 / 256
RATES = {
    "middle": [((0.551, 0.749), 10, 4), ((0.951, 0.999), 8, 30)],
    "low": [((0.251, 0.349), 20, 16), ((0.051, 0.099), 20, 4), ((0.001, 0.002), 20, 16)],
}


@pytest.mark.question(MHA, points=1)
def test_one_token_and_one_head(expect: Expect, draw: Draw) -> None:
    likely = (
        "a single token attends only to itself: its value goes through out_proj, and no dimension "
        "is lost"
    )
    longer = expect.layer(MHA, 4, 3, 5, 0.0, 1)
    expect.layer(MHA, 3, 4, 1, 0.0, 2).same(draw.normal(1, 1, 3), likely=likely)
    one_head = (
        "with one head, check these steps in order: mask above the diagonal, division by the "
        "square root of the head size, softmax over the keys, weights times values, out_proj"
    )
    x = draw.normal(1, 3, 4)
    x[:, 1] = 0  # its scores are 0, which does not mean masked
    longer.same(x, likely=one_head)


@pytest.mark.question(MHA, points=4)
def test_many_heads_in_a_batch(expect: Expect, draw: Draw) -> None:
    expect.layer(MHA, 5, 12, 6, 0.0, 4).same(
        draw.normal(2, 6, 5),
        likely="project, split into heads, compute scores, divide by the square root of the head "
        "size, mask, softmax over the keys, context, merge, out_proj: print the shape after each "
        "step",
    )


@pytest.mark.question(MHA, points=1)
def test_when_all_sizes_are_equal(expect: Expect, draw: Draw) -> None:
    # batch, tokens, heads and head size are 3, and the input is not contiguous
    expect.layer(MHA, 9, 9, 3, 0.0, 3, scale=0.3).same(
        draw.strided(3, 3, 9),
        likely="every order of the dimensions has the right shape here: which two do you swap "
        "when you split and merge heads, and over which one does softmax run?",
    )


@pytest.mark.question(MHA, points=2)
def test_trainable_weights(expect: Expect) -> None:
    likely = (
        "there are four linear layers, and nothing else is trained: the mask is not a parameter; "
        "qkv_bias decides whether W_query, W_key and W_value have biases; out_proj always has one"
    )
    expect.layer(MHA, 5, 6, 4, 0.1, 3).exact_weights(likely=likely)
    expect.layer(MHA, 3, 8, 5, 0.1, 2, True).exact_weights(likely=likely)


@pytest.mark.question(MHA, points=1)
def test_biases_of_queries_keys_and_values(expect: Expect, draw: Draw) -> None:
    expect.layer(MHA, 4, 6, 5, 0.0, 2, True).same(
        draw.normal(2, 4, 4),
        likely="if qkv_bias is True, each of the three projections adds its own bias",
    )


@pytest.mark.question(MHA, points=2)
def test_future_does_not_change_the_past(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(MHA, 4, 6, 7, 0.0, 2)
    likely = "the output of a token must not change when only later tokens change"
    x = draw.normal(2, 6, 4)
    before = layer.result(x, likely=likely)
    changed = x.clone()
    changed[:, 4:] = draw.normal(2, 2, 4)
    after = layer.result(changed, likely=likely)
    same_shape = isinstance(before, torch.Tensor) and before.shape == after.shape == (2, 6, 6)
    layer.that(
        same_shape and torch.allclose(before[:, :4], after[:, :4], atol=1e-5),
        got="different outputs for tokens 0 to 3 after tokens 4 and 5 changed",
        expected="the same outputs",
        likely=likely,
    )
    layer.that(
        not torch.allclose(before[:, 4:], after[:, 4:], atol=1e-3),
        got="the same outputs for tokens 4 and 5, which changed",
        expected="different outputs",
        likely="`forward` must use its input",
    )
    earlier = x.clone()
    earlier[:, 0] = draw.normal(2, 4)
    layer.that(
        not torch.allclose(before[:, 5], layer.result(earlier)[:, 5], atol=1e-5),
        got="the same output for the last token, although the first one changed",
        expected="a different output: a token attends to all tokens before it",
        likely="which side of the diagonal is the past?",
    )


@pytest.mark.question(MHA, points=2)
def test_future_stays_hidden_when_the_past_scores_low(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(MHA, 3, 6, 5, 0.0, 6)
    layer.fill(far_scoring(draw))
    layer.same(far_tokens(draw, 2, 4, 3), likely=FAR_APART)
    layer.fill(low_scoring(draw, 1))
    layer.move(dtype=torch.float64)
    layer.same(
        low_tokens(draw, 2, 5, 3),
        likely="scores can be far below zero: a masked score must be so low that softmax gives it "
        "no weight",
    )


@pytest.mark.question(MHA, points=1)
def test_module_in_float64(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(MHA, 4, 24, 6, 0.0, 6, True)  # the square root of 4 is exact
    likely = (
        "after `module.double()`, everything is computed in float64: no tensor stays in float32"
    )
    # large values nearly cancel each other, which reveals any use of float32
    layer.fill(lambda name, shape: loud(draw, name, shape))
    layer.result(draw.normal(2, 4, 4), likely=likely)
    layer.move(dtype=torch.float64)
    layer.same(draw.normal(3, 6, 4, dtype=torch.float64), likely=likely)


@pytest.mark.question(MHA, points=2)
def test_module_on_another_device(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(MHA, 4, 6, 6, 0.3, 3)  # its dropout must also work there
    x = draw.normal(2, 4, 4)
    likely = (
        "`module.to(device)` moves parameters and registered buffers, but not a tensor that is a "
        "plain attribute; a tensor created in `forward` needs the device of the input"
    )
    layer.eval().same(x, likely=likely)
    layer.train().moves(x, likely=likely)


@pytest.mark.question(MHA, points=1)
def test_nothing_is_dropped_in_eval_mode(expect: Expect, draw: Draw) -> None:
    expect.layer(MHA, 4, 6, 6, 0.6, 2).eval().same(
        draw.normal(2, 5, 4),
        likely="dropout applies only in training: `self.training` says "
        "whether the module is in train mode",
    )


@pytest.mark.question(MHA, points=1.5)
@pytest.mark.parametrize("rates", ["middle", "low"])
def test_dropout_on_every_attention_weight(expect: Expect, draw: Draw, rates: str) -> None:
    for turn, ((low, high), num_tokens, samples) in enumerate(RATES[rates]):
        p = drawn_rate(draw, low, high)
        # gradients reach queries and keys in one of the calls
        _check_dropout(expect, draw, p, num_tokens, samples, rates == "middle" and turn == 0)
    likely = "draw new random numbers in every layer and every call: set no seed"
    check_layers_apart(expect, MHA, (8, 12, 8, 0.3, 2), draw.normal(3, 8, 8), likely=likely)


def _check_dropout(
    expect: Expect, draw: Draw, p: float, num_tokens: int, samples: int, learns: bool
) -> None:
    likely = (
        "in training, each attention weight is dropped independently, after softmax, and the "
        "others are divided by 1 - p; nothing else is dropped"
    )
    num_heads = draw.integer(2, 4)
    width = num_heads * (num_tokens + 1)
    layer = expect.layer(MHA, num_tokens, width, num_tokens + 2, p, num_heads)

    def weight(name: str, shape: tuple[int, ...]) -> torch.Tensor:
        if name.startswith("out_proj"):
            return torch.eye(shape[0]) if len(shape) == 2 else torch.ones(shape)
        if name == "W_value.weight":
            return shown_weights(num_tokens, num_heads)
        return torch.full(shape, 0.5)  # equal scores that are not 0

    layer.fill(weight)
    x = torch.eye(num_tokens).repeat(samples, 1, 1)
    check_dropped_weights(layer, x, p, num_heads, likely=likely, above=1.0)
    if learns:
        layer.fill(
            lambda name, shape: (
                draw.normal(*shape, scale=0.3)
                if "query" in name or "key" in name
                else weight(name, shape)
            )
        )
        check_gradients_of_weights(layer, draw, x, num_heads, above=1.0)


@pytest.mark.question(MHA, points=1)
def test_size_that_does_not_divide_is_refused(expect: Expect, draw: Draw) -> None:
    likely = "raise a ValueError in `__init__` if the heads can't share d_out columns equally"
    expect.layer(MHA, 7, 6, 4, 0.0, 3, False).same(draw.normal(1, 2, 7), likely=likely)
    for d_out, num_heads in undivided(draw):
        expect.construction_raises(
            MHA, 6, d_out, 4, 0.0, num_heads, error=ValueError, likely=likely
        )


# general properties, tested from declarations

MHA_TRAITS = Traits(
    MHA,
    [Tensor("B T d_in")],
    build=[
        Size("d_in"),
        Size("H*d"),
        Size("C"),
        Rate(),
        Size("H"),
        CustomInput(lambda draw, sizes: True),
    ],
    sizes={"C": 128},
    fixed=["C"],
    # 256 keeps the weights of one large head small; with 4096, they would take 64 MB
    root=ScaledScores("d", largest=256),
    own={
        "float64": "test_module_in_float64",
        "errors": "test_size_that_does_not_divide_is_refused",
        "chance": "test_dropout_on_every_attention_weight",
    },
)


@pytest.mark.question(MHA, shared=4)
@pytest.mark.parametrize("trait", MHA_TRAITS.tested)
def test_multi_head_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, MHA_TRAITS, trait)
