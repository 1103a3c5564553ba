"""Hidden suite of `gpt_attention`: 15 of the assignment's 100 points."""

from types import SimpleNamespace

import pytest
import torch

from autograder.attention.suites.chance import drawn_rate, rate_problem
from autograder.attention.suites.dropped import (
    check_dropped_outputs,
    check_dropped_weights,
    check_layers_apart,
    shown_weights,
)
from autograder.attention.suites.dropped_gradients import (
    check_gradients_of_outputs,
    check_gradients_of_weights,
)
from autograder.attention.suites.low_scores import (
    FAR_APART,
    far_scoring,
    far_tokens,
    low_scoring,
    low_tokens,
)
from autograder.suite import Draw, Expect, difference
from autograder.suite.compare import FLOAT32
from autograder.suite.traits import CustomInput, Sizes, Tensor, Traits, check_drops, check_trait

GPT = "CausalSelfAttention"
#: for each test of dropout: ranges of rates, each with as many tokens and samples as are needed
#: to notice that two entries determine a third, that entries 8,192 apart are dropped together
#: (two heads or more draw more than 8,192 weights in one call), and that random numbers are
#: multiples of 1 / 256
RATES = {
    "middle": [((0.551, 0.749), 10, 4), ((0.951, 0.999), 8, 30)],
    "low": [((0.251, 0.349), 20, 16), ((0.051, 0.099), 20, 4), ((0.001, 0.002), 20, 16)],
}


def config(
    n_embd: int, n_head: int, block_size: int, attn_pdrop: float = 0.0, resid_pdrop: float = 0.0
) -> SimpleNamespace:
    return SimpleNamespace(
        n_embd=n_embd,
        n_head=n_head,
        block_size=block_size,
        attn_pdrop=attn_pdrop,
        resid_pdrop=resid_pdrop,
    )


@pytest.mark.question(GPT, points=1)
def test_one_token_and_one_head(expect: Expect, draw: Draw) -> None:
    likely = (
        "a single token attends only to itself: its value goes through proj; in eval mode, nothing "
        "is dropped"
    )
    longer = expect.layer(GPT, config(3, 1, 4))
    layer, x = expect.layer(GPT, config(6, 2, 1, 0.5, 0.0)).eval(), draw.normal(1, 1, 6)
    right = layer.same(x, likely=likely)
    layer.that(
        difference(layer.train().result(x, likely=likely), right) is not None,
        got="the same output in train mode as in eval mode",
        expected="the value of each head set to zero or doubled before proj",
        likely="in training, attn_drop also applies to a single token: its only weight may be "
        "dropped",
    )
    one_head = (
        "with one head, check these steps in order: mask above the diagonal, division by the "
        "square root of the head size, softmax over the keys, weights times values, proj"
    )
    longer.same(draw.normal(1, 3, 3), likely=one_head)


@pytest.mark.question(GPT, points=1)
def test_many_heads_in_a_batch(expect: Expect, draw: Draw) -> None:
    expect.layer(GPT, config(12, 4, 5), scale=0.4).same(
        draw.normal(2, 5, 12),
        likely="project, split into heads, compute scores, divide by the square root of the head "
        "size, mask, softmax over the keys, context, merge, proj: print the shape after each step",
    )


@pytest.mark.question(GPT, points=1)
def test_when_all_sizes_are_equal(expect: Expect, draw: Draw) -> None:
    # batch, tokens, heads and head size are 3, and the input is not contiguous
    expect.layer(GPT, config(9, 3, 3), scale=0.3).same(
        draw.strided(3, 3, 9),
        likely="every order of the dimensions has the right shape here: which two do you swap "
        "when you split and merge heads, and over which one does softmax run?",
    )


@pytest.mark.question(GPT, points=1)
def test_trainable_weights(expect: Expect) -> None:
    expect.layer(GPT, config(6, 2, 4, 0.1, 0.2)).exact_weights(
        likely="there are four linear layers, all with a bias, and nothing else is trained: the "
        "mask is not a parameter"
    )


@pytest.mark.question(GPT, points=1)
def test_future_does_not_change_the_past(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(GPT, config(6, 2, 7))
    likely = "the output of a token must not change when only later tokens change"
    x = draw.normal(2, 6, 6)
    before = layer.result(x, likely=likely)
    changed = x.clone()
    changed[:, 4:] = draw.normal(2, 2, 6)
    after = layer.result(changed, likely=likely)
    same_shape = isinstance(before, torch.Tensor) and before.shape == after.shape == x.shape
    layer.that(
        same_shape and torch.allclose(before[:, :4], after[:, :4], atol=1e-5),
        got="different outputs for tokens 0 to 3 after tokens 4 and 5 changed",
        expected="the same outputs",
        likely=likely,
    )
    earlier = x.clone()
    earlier[:, 0] = draw.normal(2, 6)
    layer.that(
        not torch.allclose(before[:, 5], layer.result(earlier)[:, 5], atol=1e-5),
        got="the same output for the last token, although the first one changed",
        expected="a different output: a token attends to all tokens before it",
        likely="which side of the diagonal is the past?",
    )


@pytest.mark.question(GPT, points=1)
def test_future_stays_hidden_when_the_past_scores_low(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(GPT, config(6, 6, 5))
    layer.fill(far_scoring(draw))
    layer.same(far_tokens(draw, 2, 4, 6), likely=FAR_APART)
    layer.fill(low_scoring(draw, 1))
    layer.move(dtype=torch.float64)
    layer.same(
        low_tokens(draw, 2, 5, 6),
        likely="scores can be far below zero: a masked score must be so low that softmax gives it "
        "no weight",
    )


@pytest.mark.question(GPT, points=1)
def test_module_in_float64(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(GPT, config(24, 6, 6))  # the square root of 4 is exact
    likely = (
        "after `module.double()`, everything is computed in float64: no tensor stays in float32"
    )
    # large values nearly cancel each other, which reveals any use of float32
    layer.fill(
        lambda name, shape: draw.normal(
            *shape, scale=2.0 if name.startswith(("value", "proj")) else 0.2
        )
    )
    layer.result(draw.normal(2, 4, 24), likely=likely)
    layer.move(dtype=torch.float64)
    layer.same(draw.normal(3, 6, 24, dtype=torch.float64), likely=likely)


@pytest.mark.question(GPT, points=1)
def test_module_on_another_device(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(GPT, config(6, 3, 6, 0.3, 0.2))  # its dropout must also work there
    x = draw.normal(2, 4, 6)
    likely = (
        "`module.to(device)` moves parameters and registered buffers, but not a tensor that is a "
        "plain attribute; a tensor created in `forward` needs the device of the input"
    )
    layer.eval().same(x, likely=likely)
    layer.train().moves(x, likely=likely)


@pytest.mark.question(GPT, points=0.5)
@pytest.mark.parametrize("rates", ["middle", "low"])
def test_dropout_on_every_attention_weight(expect: Expect, draw: Draw, rates: str) -> None:
    for turn, ((low, high), num_tokens, samples) in enumerate(RATES[rates]):
        p = drawn_rate(draw, low, high)
        # gradients reach queries and keys in one of the calls
        _check_dropout(expect, draw, p, num_tokens, samples, rates == "middle" and turn == 0)
    likely = "draw new random numbers in every layer and every call: set no seed"
    # separately, because one dropout could hide the other
    for attention, output in ((0.3, 0.0), (0.0, 0.3)):
        build = (config(12, 2, 8, attention, output),)
        x = draw.normal(3, 8, 12)
        check_layers_apart(expect, GPT, build, x, likely=likely)
        layer = expect.layer(GPT, *build)
        right = layer.eval().same(x, likely="in eval mode, nothing is dropped")
        check_drops(layer, [x], right, no_grad=True)


def _check_dropout(
    expect: Expect, draw: Draw, p: float, num_tokens: int, samples: int, learns: bool
) -> None:
    likely = (
        "in training, attn_drop drops each attention weight independently, after softmax, with "
        "probability attn_pdrop; if resid_pdrop is 0, nothing else is dropped"
    )
    num_heads = draw.integer(2, 4)
    width = num_heads * (num_tokens + 1)
    layer = expect.layer(GPT, config(width, num_heads, num_tokens + 2, p, 0.0))
    shown = torch.nn.functional.pad(shown_weights(num_tokens, num_heads), (0, width - num_tokens))

    def weight(name: str, shape: tuple[int, ...]) -> torch.Tensor:
        if name.startswith("proj"):
            return torch.eye(shape[0]) if len(shape) == 2 else torch.ones(shape)
        if name.startswith("value"):
            return shown if len(shape) == 2 else torch.zeros(shape)
        return torch.full(shape, 0.25)  # equal scores that are not 0

    layer.fill(weight)
    x = torch.eye(num_tokens, width).repeat(samples, 1, 1)
    check_dropped_weights(layer, x, p, num_heads, likely=likely, above=1.0)
    if learns:
        layer.fill(
            lambda name, shape: (
                draw.normal(*shape, scale=0.3)
                if name.startswith(("query", "key"))
                else weight(name, shape)
            )
        )
        check_gradients_of_weights(layer, draw, x, num_heads, above=1.0)


@pytest.mark.question(GPT, points=1)
def test_dropout_on_every_output(expect: Expect, draw: Draw) -> None:
    likely = (
        "in training, resid_drop independently drops each number that proj returns, with "
        "probability resid_pdrop; if attn_pdrop is 0, nothing else is dropped"
    )
    for width, shape, (low, high) in (
        (12, (6, 8, 12), (0.151, 0.249)),
        (6, (3, 40, 6), (0.551, 0.749)),
        (24, (40, 10, 24), (0.951, 0.999)),
        (24, (40, 10, 24), (0.001, 0.049)),
    ):
        p = drawn_rate(draw, low, high)
        layer = expect.layer(GPT, config(width, 3, shape[1] + 1, 0.0, p))
        # biases are far from 0, so an output of 0 was dropped
        layer.fill(
            lambda name, shape: (
                draw.uniform(*shape, low=9.0, high=11.0)
                if name == "proj.bias"
                else draw.normal(*shape, scale=0.2)
            )
        )
        x = draw.normal(*shape)
        undropped = layer.eval().same(x, likely="in eval mode, nothing is dropped")
        check_dropped_outputs(layer, x, p, undropped, likely=likely)
    check_gradients_of_outputs(layer, draw, x)


@pytest.mark.question(GPT, points=1)
def test_both_dropouts_at_once(expect: Expect) -> None:
    likely = "each of the two dropouts has its own rate, and both apply in the same call"
    num_tokens, p, q = 12, 0.4, 0.2
    layer = expect.layer(GPT, config(num_tokens, 1, num_tokens, p, q))

    def weight(name: str, shape: tuple[int, ...]) -> torch.Tensor:
        if name.startswith("proj"):  # every output is 1 plus the weight of one token
            return torch.eye(shape[0]) if len(shape) == 2 else torch.ones(shape)
        if name.startswith("value"):
            return torch.eye(shape[0]) if len(shape) == 2 else torch.zeros(shape)
        return torch.full(shape, 0.25)

    layer.fill(weight)
    x = torch.eye(num_tokens).repeat(40, 1, 1)
    got = layer.train().result(x, likely=likely)
    fits = isinstance(got, torch.Tensor) and got.shape == x.shape
    layer.that(fits, got="a different shape", expected=f"{tuple(x.shape)}", likely=likely)
    shown = got.detach()
    gone = shown.abs() < 0.5  # all others are at least 1
    used = shown * (1 - q) - 1  # (B, T, T), the attention weights where no output was dropped
    past = torch.ones_like(gone).tril() & ~gone
    dropped = used.abs() < 0.5 / num_tokens  # weights are at least 1 / num_tokens
    problem = rate_problem(gone, q) or rate_problem(dropped, p, past)
    layer.that(
        problem is None,
        got=str(problem),
        expected=f"outputs are 0 with probability {q}, attention weights with probability {p}",
        likely=likely,
    )
    before = 1 / torch.arange(1.0, num_tokens + 1).unsqueeze(-1)
    right = (torch.where(dropped, 0.0, before / (1 - p)).expand_as(used) + 1) / (1 - q)
    layer.that(
        torch.allclose(shown[past], right[past], FLOAT32.rtol, FLOAT32.atol),
        got="attention weights that are neither 0 nor divided by 1 - attn_pdrop",
        expected="attention weights that are 0 or divided by 1 - attn_pdrop",
        likely=likely,
    )


# general properties, tested from declarations


def _config(draw: Draw, sizes: Sizes) -> SimpleNamespace:
    return config(sizes.of("H*d"), sizes.of("H"), 128, sizes.rate, sizes.rate)


GPT_TRAITS = Traits(
    GPT,
    [Tensor("B T H*d")],
    build=[CustomInput(_config, ["H", "d"], rate=True)],
    own={"float64": "test_module_in_float64", "chance": "test_dropout_on_every_attention_weight"},
    without={"errors": "none is promised"},
)


@pytest.mark.question(GPT, shared=4)
@pytest.mark.parametrize("trait", GPT_TRAITS.tested)
def test_gpt_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, GPT_TRAITS, trait)
