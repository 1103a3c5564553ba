"""Public checks of `gpt_attention`."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from autograder.attention.suites.dropped import (
    check_dropped_outputs,
    check_dropped_weights,
    shown_weights,
)
from autograder.suite import Draw, Expect
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import CustomInput, Sizes, Tensor, Traits, check_by_itself

GPT = "CausalSelfAttention"
#: "The cat sleeps" from the course's notes; below are the notes' weights, drawn with a seed, and
#: the two heads side by side, which are the input of the last projection
SENTENCE = torch.tensor(
    [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
)
WEIGHTS = {
    "query.weight": [
        [-0.345255, -0.117146, -0.287519, 0.026988, -0.076223, -0.218978],
        [-0.037119, 0.386776, -0.032201, 0.012962, -0.063671, 0.064179],
        [0.363754, 0.249641, 0.144912, 0.088717, 0.096262, 0.157720],
        [-0.052755, -0.379430, -0.252466, 0.348475, 0.024402, -0.330711],
        [0.064392, 0.337324, -0.385795, -0.274849, -0.162591, 0.016386],
        [-0.095216, -0.044863, -0.397997, 0.191174, 0.358337, 0.249537],
    ],
    "query.bias": [-0.289094, -0.329090, 0.169526, 0.009169, 0.167354, -0.398920],
    "key.weight": [
        [-0.024341, 0.287915, 0.189391, 0.014908, 0.080269, -0.038653],
        [-0.224469, -0.154277, -0.248615, 0.339095, 0.224654, 0.142774],
        [-0.313066, 0.315013, 0.128003, 0.282424, -0.160601, 0.086547],
        [0.398606, 0.274612, 0.327414, -0.085726, 0.311035, -0.319753],
        [0.035309, -0.229866, -0.095210, -0.104551, 0.030545, 0.371563],
        [0.202117, -0.001729, 0.289793, -0.209209, 0.210400, -0.037858],
    ],
    "key.bias": [-0.071040, 0.047795, -0.312758, 0.047176, 0.137269, 0.349024],
    "value.weight": [
        [-0.127105, 0.146981, 0.408049, -0.175126, 0.388078, -0.202692],
        [0.179954, 0.159931, 0.114035, 0.322844, -0.164999, 0.107295],
        [0.002291, -0.307061, -0.099128, -0.272638, 0.180509, 0.036700],
        [0.039994, -0.123851, 0.001963, -0.126983, 0.117304, 0.396478],
        [0.061838, -0.180821, -0.249370, 0.031206, -0.302857, -0.306860],
        [-0.265719, -0.138659, 0.030218, 0.281125, 0.158131, 0.312767],
    ],
    "value.bias": [-0.256338, 0.034451, -0.362884, 0.234195, 0.085083, 0.394864],
}
MERGED = torch.tensor(
    [
        [1.1584, 1.9865, -1.2399, 2.4898, -4.1935, 3.7342],
        [1.1587, 1.9879, -1.2416, 2.4816, -4.1868, 3.7202],
        [0.8291, 1.6919, -1.2977, 1.2108, -2.2525, 1.7438],
    ]
)
#: a last projection that reverses the order of the columns and adds 0, 1, 2, 3, 4, 5
TURNED = torch.eye(6).flip(0)
ADDED = torch.arange(6.0)


def config(n_embd: int, n_head: int, block_size: int, **dropouts: float) -> SimpleNamespace:
    sizes = {"n_embd": n_embd, "n_head": n_head, "block_size": block_size}
    return SimpleNamespace(**{"attn_pdrop": 0.0, "resid_pdrop": 0.0, **sizes, **dropouts})


@pytest.mark.question(GPT, points=0)
def test_shape_of_a_short_input(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(GPT, config(8, 4, 6))
    got = layer.result(draw.normal(2, 5, 8))
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    layer.that(
        shape == (2, 5, 8),
        got=str(shape),
        expected="(2, 5, 8), the shape of the input",
        likely="5 tokens are fewer than block_size, so a mask of 6 x 6 must be cut",
    )


@pytest.mark.question(GPT, points=0)
def test_names_of_the_weights(expect: Expect) -> None:
    layer = expect.layer(GPT, config(4, 2, 6))
    got = sorted(layer.answer.weights())
    expected = sorted(
        f"{name}.{kind}"
        for name in ("key", "query", "value", "proj")
        for kind in ("weight", "bias")
    )
    layer.that(
        got == expected,
        got=f"the trainable weights {got}",
        expected=f"{expected}",
        likely="four linear layers with these names, all with a bias; a mask must not be trained",
    )


@pytest.mark.question(GPT, points=0)
def test_documented_sentence(expect: Expect) -> None:
    layer = expect.layer(GPT, config(6, 2, 4))
    last = {"proj.weight": TURNED, "proj.bias": ADDED}
    layer.load({name: torch.tensor(weight) for name, weight in WEIGHTS.items()} | last)
    layer.value(
        (SENTENCE.unsqueeze(0),),
        (MERGED.flip(1) + ADDED).unsqueeze(0),
        likely="head 0 owns the first three columns of queries, keys and values; the scores are "
        "divided by the square root of 3; proj comes last",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question(GPT, points=0)
def test_last_token_does_not_change_the_others(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(GPT, config(6, 3, 5))
    x = draw.normal(1, 5, 6)
    before = layer.result(x)
    x[:, 4] += 3.0
    after = layer.result(x)
    layer.that(
        torch.allclose(before[:, :4], after[:, :4], atol=1e-5),
        got="different outputs for the tokens before the one that changed",
        expected="the same outputs",
        likely="is the mask applied to the scores of all heads, before softmax?",
    )


@pytest.mark.question(GPT, points=0)
@pytest.mark.by_chance
def test_both_dropouts_work_in_training_only(expect: Expect, draw: Draw) -> None:
    x = draw.normal(8, 5, 4)
    for name in ("attn_pdrop", "resid_pdrop"):
        layer = expect.layer(GPT, config(4, 2, 5, **{name: 0.5}))
        layer.train()
        layer.that(
            not torch.equal(layer.result(x), layer.result(x)),
            got=f"the same output twice, in training with {name} = 0.5",
            expected="a different one in each call",
            likely=f"which layer is built with {name}, and is it called?",
        )
        layer.eval()
        layer.that(
            torch.equal(layer.result(x), layer.result(x)),
            got=f"two outputs for the same input in eval mode with {name} = 0.5",
            expected="the same output",
            likely="dropout must stop in eval mode, and no layer may be built in forward",
        )


def _sizes(draw: Draw, sizes: Sizes) -> SimpleNamespace:
    return SimpleNamespace(
        n_embd=sizes.of("H*d"), n_head=sizes.of("H"), block_size=9, attn_pdrop=0.0, resid_pdrop=0.0
    )


@pytest.mark.question("CausalSelfAttention", points=0)
def test_causal_self_attention_called_in_other_ways(expect: Expect) -> None:
    traits = Traits(
        "CausalSelfAttention", [Tensor("B T H*d")], build=[CustomInput(_sizes, ["H", "d"])]
    )
    check_by_itself(expect, traits)


def _visible_attention(p: float, q: float) -> tuple[SimpleNamespace, dict[str, torch.Tensor]]:
    """Returns a configuration, and weights that make outputs show the attention of 8 tokens.

    There are two heads of 9 columns, and proj adds 3 to every output.
    """
    shown = torch.nn.functional.pad(shown_weights(8, 2), (0, 10))
    weights = {f"{name}.weight": torch.full((18, 18), 0.25) for name in ("query", "key")}
    weights |= {f"{name}.bias": torch.zeros(18) for name in ("query", "key", "value")}
    weights |= {"proj.weight": torch.eye(18), "proj.bias": torch.full((18,), 3.0)}
    rates = {"attn_pdrop": p, "resid_pdrop": q}
    return config(18, 2, 8, **rates), weights | {"value.weight": shown}


@pytest.mark.question(GPT, points=0)
@pytest.mark.by_chance
def test_attention_weights_are_dropped_one_by_one(expect: Expect) -> None:
    built_with, weights = _visible_attention(0.3, 0.0)
    layer = expect.layer(GPT, built_with)
    layer.load(weights)
    check_dropped_weights(
        layer,
        torch.eye(8, 18).repeat(6, 1, 1),
        0.3,
        2,
        above=3.0,
        likely="attn_drop applies to the attention weights, after softmax, with probability "
        "attn_pdrop; if resid_pdrop is 0, nothing else is dropped",
    )


@pytest.mark.question(GPT, points=0)
@pytest.mark.by_chance
def test_outputs_are_dropped_one_by_one(expect: Expect) -> None:
    built_with, weights = _visible_attention(0.0, 0.3)
    layer = expect.layer(GPT, built_with)
    layer.load(weights)
    x = torch.eye(8, 18).repeat(8, 1, 1)
    likely = (
        "resid_drop applies to what proj returns, with probability resid_pdrop; if attn_pdrop is "
        "0, nothing else is dropped"
    )
    undropped = layer.eval().result(x)
    check_dropped_outputs(layer, x, 0.3, undropped, likely=likely)


@pytest.mark.question(GPT, points=0)
def test_scores_are_divided_by_the_root_of_the_head_size(expect: Expect) -> None:
    layer = expect.layer(GPT, config(4, 1, 3))
    names = ("query", "key", "value", "proj")
    weights = {f"{name}.weight": torch.eye(4) for name in names}
    layer.load(weights | {f"{name}.bias": torch.zeros(4) for name in names})
    layer.value(
        # before the division by 2, the scores of the second token are 0 and 2 ln 3
        (torch.tensor([[[0.0, 0, 4, 0], [1.4823038, 0, 0, 0]]]),),
        torch.tensor([[[0.0, 0, 4, 0], [1.1117279, 0, 1, 0]]]),
        likely="one head of size 4: the second token gives itself 3/4 and the first one 1/4; the "
        "number of tokens has nothing to do with the scale",
    )
