"""Public checks of `causal_attention`."""

from __future__ import annotations

import pytest
import torch

from autograder.attention.suites.dropped import check_dropped_weights, shown_weights
from autograder.suite import Draw, Expect
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import Rate, Size, Tensor, Traits, check_by_itself

NAME = "CausalAttention"

#: "Your journey starts with one step" from the course's notes; below are the notes' weights, drawn
#: with a seed, and the context vectors
SENTENCE = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
WEIGHTS = {
    "W_query.weight": [[-0.235430, 0.019124, -0.286746], [0.217727, -0.491934, 0.423223]],
    "W_key.weight": [[-0.419641, -0.459018, -0.364820], [0.261478, -0.213326, 0.216052]],
    "W_value.weight": [[-0.490014, -0.350292, -0.211989], [-0.113461, -0.440439, 0.378044]],
}
CONTEXT = torch.tensor(
    [
        [-0.4519, 0.2216],
        [-0.5874, 0.0058],
        [-0.6300, -0.0632],
        [-0.5675, -0.0843],
        [-0.5526, -0.0981],
        [-0.5299, -0.1081],
    ]
)


def _tensors(weights: dict[str, list[list[float]]]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(values) for name, values in weights.items()}


@pytest.mark.question(NAME, points=0)
def test_shape_of_a_short_input(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 4, 7, 9, 0.0)
    for tokens in (2, 5):
        got = layer.result(draw.normal(3, tokens, 4))
        shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
        layer.that(
            shape == (3, tokens, 7),
            got=str(shape),
            expected=f"(3, {tokens}, 7)",
            likely=f"{tokens} tokens are fewer than context_length, so a mask of 9 x 9 must be cut",
        )


@pytest.mark.question(NAME, points=0)
def test_names_of_the_weights(expect: Expect) -> None:
    weights = {f"{name}.weight" for name in ("W_query", "W_key", "W_value")}
    biases = {f"{name}.bias" for name in ("W_query", "W_key", "W_value")}
    for qkv_bias, expected in ((False, weights), (True, weights | biases)):
        layer = expect.layer(NAME, 2, 4, 3, 0.0, qkv_bias)
        got = set(layer.answer.weights())
        layer.that(
            got == expected,
            got=f"with qkv_bias={qkv_bias} the trainable weights {sorted(got)}",
            expected=f"{sorted(expected)}",
            likely="three linear layers with these names; a mask must not be trained",
        )


@pytest.mark.question(NAME, points=0)
def test_keys_of_zero_give_a_running_mean(expect: Expect) -> None:
    layer = expect.layer(NAME, 2, 2, 5, 0.0)
    layer.load(
        _tensors(
            {
                "W_query.weight": [[1.0, 2.0], [3.0, 4.0]],
                "W_key.weight": [[0.0, 0.0], [0.0, 0.0]],
                "W_value.weight": [[1.0, 0.0], [0.0, 1.0]],
            }
        )
    )
    layer.value(
        (torch.tensor([[[2.0, 0], [4, 6], [0, 3]], [[5, 1], [1, 5], [0, 0]]]),),
        torch.tensor([[[2.0, 0], [3, 3], [2, 3]], [[5, 1], [3, 3], [2, 2]]]),
        likely="if all keys are zero, all scores are zero, and each token attends equally to "
        "itself and to all earlier tokens: row 1 is the mean of tokens 0 and 1",
    )


@pytest.mark.question(NAME, points=0)
def test_documented_sentence(expect: Expect) -> None:
    layer = expect.layer(NAME, 3, 2, 6, 0.0)
    layer.load(_tensors(WEIGHTS))
    layer.value(
        (torch.stack([SENTENCE, SENTENCE]),),
        torch.stack([CONTEXT, CONTEXT]),
        likely="row 0 depends on W_value only. If it is right and row 1 is not, look at scores, "
        "scale and softmax",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question(NAME, points=0)
def test_last_token_changes_the_last_row_only(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 3, 4, 6, 0.0)
    x = draw.normal(1, 6, 3)
    other = x.clone()
    other[:, 5] += 1.0
    before, after = layer.result(x), layer.result(other)
    fits = isinstance(before, torch.Tensor) and before.shape == (1, 6, 4) == after.shape
    layer.that(
        fits and bool(torch.allclose(before[:, :5], after[:, :5], atol=1e-5)),
        got="different rows before the last one" if fits else "a different shape",
        expected="shape (1, 6, 4), and rows 0 to 4 as before",
        likely="no token may look at one that comes later",
    )


@pytest.mark.question(NAME, points=0)
@pytest.mark.by_chance
def test_dropout_in_training_only(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 3, 4, 8, 0.5)
    x = draw.normal(5, 8, 3)
    for training, likely in (
        (
            False,
            "in eval mode, two calls give the same result: dropout must follow the module's mode",
        ),
        (True, "in train mode, each call drops different weights: is the dropout layer used?"),
    ):
        layer.train(training)
        first, second = layer.result(x), layer.result(x)
        same = isinstance(first, torch.Tensor) and torch.equal(first, second)
        layer.that(
            same is not training,
            got="the same result twice" if same else "two different results",
            expected="two different results" if training else "the same result twice",
            likely=likely,
        )


@pytest.mark.question(NAME, points=0)
def test_too_many_tokens(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(NAME, 3, 4, 2, 0.0)
    layer.raises(
        draw.normal(1, 3, 3),
        error=ValueError,
        likely="compare the number of tokens with context_length before anything else",
    )


@pytest.mark.question("CausalAttention", points=0)
def test_causal_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "CausalAttention",
            [Tensor("B T d_in")],
            build=[Size("d_in"), Size("d_out"), Size("T+3"), Rate()],
        ),
    )


@pytest.mark.question(NAME, points=0)
@pytest.mark.by_chance
def test_attention_weights_are_dropped_one_by_one(expect: Expect) -> None:
    layer = expect.layer(NAME, 8, 9, 8, 0.3)
    equal = {f"{name}.weight": torch.full((9, 8), 0.5) for name in ("W_query", "W_key")}
    layer.load(equal | {"W_value.weight": shown_weights(8)})
    check_dropped_weights(
        layer,
        torch.eye(8).repeat(6, 1, 1),
        0.3,
        likely="in training, each attention weight is dropped independently, after softmax, and "
        "the others are divided by 1 - p; scores, values and results are not changed",
    )
