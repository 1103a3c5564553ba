"""Public checks of `multi_head_attention`."""

from __future__ import annotations

import pytest
import torch

from autograder.attention.suites.dropped import check_dropped_weights, shown_weights
from autograder.suite import Draw, Expect
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import Rate, Size, Tensor, Traits, check_by_itself

MHA = "MultiHeadAttention"
#: "The cat sleeps" from the course's notes; below are the notes' weights, drawn with a seed, and
#: the two heads side by side, which are the input of the last projection
SENTENCE = torch.tensor(
    [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
)
WEIGHTS = {
    "W_query.weight": [
        [-0.345255, -0.117146, -0.287519, 0.026988, -0.076223, -0.218978],
        [-0.037119, 0.386776, -0.032201, 0.012962, -0.063671, 0.064179],
        [0.363754, 0.249641, 0.144912, 0.088717, 0.096262, 0.157720],
        [-0.052755, -0.379430, -0.252466, 0.348475, 0.024402, -0.330711],
        [0.064392, 0.337324, -0.385795, -0.274849, -0.162591, 0.016386],
        [-0.095216, -0.044863, -0.397997, 0.191174, 0.358337, 0.249537],
    ],
    "W_query.bias": [-0.289094, -0.329090, 0.169526, 0.009169, 0.167354, -0.398920],
    "W_key.weight": [
        [-0.024341, 0.287915, 0.189391, 0.014908, 0.080269, -0.038653],
        [-0.224469, -0.154277, -0.248615, 0.339095, 0.224654, 0.142774],
        [-0.313066, 0.315013, 0.128003, 0.282424, -0.160601, 0.086547],
        [0.398606, 0.274612, 0.327414, -0.085726, 0.311035, -0.319753],
        [0.035309, -0.229866, -0.095210, -0.104551, 0.030545, 0.371563],
        [0.202117, -0.001729, 0.289793, -0.209209, 0.210400, -0.037858],
    ],
    "W_key.bias": [-0.071040, 0.047795, -0.312758, 0.047176, 0.137269, 0.349024],
    "W_value.weight": [
        [-0.127105, 0.146981, 0.408049, -0.175126, 0.388078, -0.202692],
        [0.179954, 0.159931, 0.114035, 0.322844, -0.164999, 0.107295],
        [0.002291, -0.307061, -0.099128, -0.272638, 0.180509, 0.036700],
        [0.039994, -0.123851, 0.001963, -0.126983, 0.117304, 0.396478],
        [0.061838, -0.180821, -0.249370, 0.031206, -0.302857, -0.306860],
        [-0.265719, -0.138659, 0.030218, 0.281125, 0.158131, 0.312767],
    ],
    "W_value.bias": [-0.256338, 0.034451, -0.362884, 0.234195, 0.085083, 0.394864],
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


@pytest.mark.question(MHA, points=0)
def test_shape_of_a_short_input(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(MHA, 3, 8, 6, 0.0, 4)
    got = layer.result(draw.normal(2, 5, 3))
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    layer.that(
        shape == (2, 5, 8),
        got=str(shape),
        expected="(2, 5, 8): d_out is the size of all heads together",
        likely="5 tokens are fewer than context_length, so a mask of 6 x 6 must be cut",
    )


@pytest.mark.question(MHA, points=0)
def test_names_of_the_weights(expect: Expect) -> None:
    layers = ("W_query", "W_key", "W_value", "out_proj")
    weights = {f"{name}.weight" for name in layers} | {"out_proj.bias"}
    biases = {f"{name}.bias" for name in layers}
    for qkv_bias, expected in ((False, weights), (True, weights | biases)):
        layer = expect.layer(MHA, 3, 4, 6, 0.0, 2, qkv_bias)
        got = set(layer.answer.weights())
        layer.that(
            got == expected,
            got=f"with qkv_bias={qkv_bias} the trainable weights {sorted(got)}",
            expected=f"{sorted(expected)}",
            likely="four linear layers with these names; out_proj always has a bias, and a mask "
            "must not be trained",
        )


@pytest.mark.question(MHA, points=0)
def test_documented_sentence(expect: Expect) -> None:
    layer = expect.layer(MHA, 6, 6, 3, 0.0, 2, True)
    last = {"out_proj.weight": TURNED, "out_proj.bias": ADDED}
    layer.load({name: torch.tensor(weight) for name, weight in WEIGHTS.items()} | last)
    layer.value(
        (SENTENCE.unsqueeze(0),),
        (MERGED.flip(1) + ADDED).unsqueeze(0),
        likely="head 0 owns the first three columns of queries, keys and values; the scores are "
        "divided by the square root of 3; out_proj comes last",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question(MHA, points=0)
def test_last_token_does_not_change_the_others(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(MHA, 4, 6, 5, 0.0, 3)
    x = draw.normal(1, 5, 4)
    before = layer.result(x)
    x[:, 4] += 3.0
    after = layer.result(x)
    layer.that(
        torch.allclose(before[:, :4], after[:, :4], atol=1e-5),
        got="different outputs for the tokens before the one that changed",
        expected="the same outputs",
        likely="is the mask applied to the scores of all heads, before softmax?",
    )


@pytest.mark.question(MHA, points=0)
@pytest.mark.by_chance
def test_dropout_is_for_training(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(MHA, 4, 6, 5, 0.5, 2)
    x = draw.normal(8, 5, 4)
    layer.train()
    layer.that(
        not torch.equal(layer.result(x), layer.result(x)),
        got="the same output twice, in training with dropout 0.5",
        expected="a different one in each call",
        likely="is the dropout layer built with the given probability, and is it called?",
    )
    layer.eval()
    layer.that(
        torch.equal(layer.result(x), layer.result(x)),
        got="two outputs for the same input in eval mode",
        expected="the same output",
        likely="dropout must stop in eval mode, and no layer may be built in forward",
    )


@pytest.mark.question(MHA, points=0)
def test_eight_columns_between_three_heads(expect: Expect) -> None:
    expect.construction_raises(
        MHA,
        3,
        8,
        6,
        0.0,
        3,
        error=ValueError,
        likely="say so with `raise ValueError(...)` in `__init__`; `assert` raises a different "
        "error",
    )


@pytest.mark.question("MultiHeadAttention", points=0)
def test_multi_head_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "MultiHeadAttention",
            [Tensor("B T d_in")],
            build=[Size("d_in"), Size("H*d"), Size("T+3"), Rate(), Size("H")],
        ),
    )


@pytest.mark.question(MHA, points=0)
@pytest.mark.by_chance
def test_attention_weights_are_dropped_one_by_one(expect: Expect) -> None:
    layer = expect.layer(MHA, 8, 18, 8, 0.3, 2)
    equal = {f"{name}.weight": torch.full((18, 8), 0.5) for name in ("W_query", "W_key")}
    last = {"out_proj.weight": torch.eye(18), "out_proj.bias": torch.full((18,), 3.0)}
    layer.load(equal | last | {"W_value.weight": shown_weights(8, 2)})
    check_dropped_weights(
        layer,
        torch.eye(8).repeat(6, 1, 1),
        0.3,
        2,
        above=3.0,
        likely="in training, each attention weight is dropped independently, after softmax, and "
        "the others are divided by 1 - p; scores, values and results are not changed",
    )
