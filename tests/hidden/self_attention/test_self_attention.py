"""Hidden suite of `self_attention`: 30 of the assignment's 100 points."""

import pytest
import torch

from autograder.attention.suites.low_scores import (
    FAR_APART,
    ScaledScores,
    far_scoring,
    far_tokens,
    low_scoring,
    low_tokens,
)
from autograder.suite import Draw, Expect, ExpectLayer
from autograder.suite.traits import CustomInput, Size, Tensor, Traits, check_trait

FAR = (
    "scores far from 0, of either sign, count unchanged: do not clip them, and do not add anything "
    "to them"
)


def _weights_stay(layer: ExpectLayer) -> None:
    """Checks that calling the layer has not changed its weights."""
    after = layer.answer.weights()
    changed = [
        name
        for name, weight in layer.reference.weights().items()
        if name in after and not torch.equal(after[name], weight)
    ]
    layer.that(
        not changed,
        got=f"changed by the calls: {', '.join(changed)}",
        expected="the same weights as before the calls",
        likely="`forward` must only read the weights: do not change them in place",
    )


def _tokens(draw: Draw, *shape: int) -> torch.Tensor:
    """Draws inputs without outliers, so that scores stay below 50."""
    return draw.uniform(*shape, low=-2.0, high=2.0)


def _in_float64(layer: ExpectLayer, draw: Draw, inputs_dim: int) -> None:
    """Compares results in float64 for inputs with two large entries that cancel.

    float32 would lose the digits of the other entries.
    """

    def weight(name: str, shape: tuple[int, ...]) -> torch.Tensor:
        drawn = draw.normal(*shape, scale=0.5)
        if len(shape) == 2:
            drawn.select(inputs_dim, 1).copy_(drawn.select(inputs_dim, 0))
        return drawn

    layer.fill(weight)
    inputs = draw.strided(2, 5, 4, dtype=torch.float64)
    inputs[..., 0] += 1e3
    inputs[..., 1] -= 1e3
    layer.move(dtype=torch.float64).same(
        inputs,
        likely="after `.double()`, the layer computes in float64; `.view` needs contiguous memory",
    )


# SelfAttentionV1: 15 points


@pytest.mark.question("SelfAttentionV1", points=2)
def test_three_weights_are_trained(expect: Expect) -> None:
    expect.layer("SelfAttentionV1", 4, 3).exact_weights(
        likely="each of the three weights is a separate `nn.Parameter` of shape (d_in, d_out); "
        "nothing else is trained"
    )


@pytest.mark.question("SelfAttentionV1", points=1)
def test_one_token_attends_to_itself(expect: Expect, draw: Draw) -> None:
    expect.layer("SelfAttentionV1", 5, 3).same(
        _tokens(draw, 1, 5),
        likely="a single token has weight 1 for itself, so its context is its own value",
    )


@pytest.mark.question("SelfAttentionV1", points=2)
def test_a_sentence(expect: Expect, draw: Draw) -> None:
    expect.layer("SelfAttentionV1", 3, 5).same(
        _tokens(draw, 6, 3),
        likely="check these steps in order: project, compute scores, divide by the square root of "
        "`d_out`, softmax over the keys, weighted sum of the values",
    )


@pytest.mark.question("SelfAttentionV1", points=1)
def test_as_many_tokens_as_numbers(expect: Expect, draw: Draw) -> None:
    expect.layer("SelfAttentionV1", 3, 3).same(
        _tokens(draw, 3, 3),
        likely="with square matrices, an extra transpose or a softmax over the wrong dimension "
        "raises no error; no token is masked",
    )
    layer = expect.layer("SelfAttentionV1", 4, 1)
    far, low = far_scoring(draw), low_scoring(draw, 1)
    layer.fill(lambda name, shape: far(name, shape[::-1]).mT)
    layer.same(far_tokens(draw, 2, 4, 4), likely=FAR_APART)
    layer.fill(lambda name, shape: low(name, shape[::-1]).mT)
    layer.move(dtype=torch.float64).same(low_tokens(draw, 2, 5, 4), likely=FAR)


@pytest.mark.question("SelfAttentionV1", points=2)
def test_a_batch_of_sentences(expect: Expect, draw: Draw) -> None:
    expect.layer("SelfAttentionV1", 4, 2).same(
        _tokens(draw, 3, 5, 4),
        likely="each sentence is computed separately; `.T` reverses all dimensions, so name the "
        "two that you want to swap",
    )


@pytest.mark.question("SelfAttentionV1", points=1)
def test_float64_and_any_memory_layout(expect: Expect, draw: Draw) -> None:
    _in_float64(expect.layer("SelfAttentionV1", 4, 3), draw, inputs_dim=0)


# SelfAttentionV2: 15 points


@pytest.mark.question("SelfAttentionV2", points=1)
def test_three_linear_layers_without_bias(expect: Expect) -> None:
    expect.layer("SelfAttentionV2", 4, 3).exact_weights(
        likely="each of the three is a separate `nn.Linear` from `d_in` to `d_out`; without "
        "`qkv_bias`, it has no bias"
    )


@pytest.mark.question("SelfAttentionV2", points=1.5)
def test_three_linear_layers_with_bias(expect: Expect) -> None:
    likely = "`qkv_bias` decides for all three layers whether they have a bias"
    expect.layer("SelfAttentionV2", 4, 3, True).exact_weights(likely=likely)
    expect.layer("SelfAttentionV2", 2, 5, False).exact_weights(likely=likely)


@pytest.mark.question("SelfAttentionV2", points=1)
def test_one_token_attends_to_itself_linear(expect: Expect, draw: Draw) -> None:
    expect.layer("SelfAttentionV2", 5, 3).same(
        _tokens(draw, 1, 5),
        likely="a single token has weight 1 for itself, so its context is its own value",
    )


@pytest.mark.question("SelfAttentionV2", points=2)
def test_a_sentence_linear(expect: Expect, draw: Draw) -> None:
    expect.layer("SelfAttentionV2", 3, 5).same(
        _tokens(draw, 6, 3),
        likely="check these steps in order: project, compute scores, divide by the square root of "
        "`d_out`, softmax over the keys, weighted sum of the values",
    )


@pytest.mark.question("SelfAttentionV2", points=1.5)
def test_as_many_tokens_as_numbers_linear(expect: Expect, draw: Draw) -> None:
    expect.layer("SelfAttentionV2", 3, 3, True).same(
        _tokens(draw, 3, 3),
        likely="with square matrices, an extra transpose or a softmax over the wrong dimension "
        "raises no error; no token is masked",
    )
    layer = expect.layer("SelfAttentionV2", 4, 1, True)
    layer.fill(far_scoring(draw))
    layer.same(far_tokens(draw, 2, 4, 4), likely=FAR_APART)
    layer.fill(low_scoring(draw, 1))
    layer.move(dtype=torch.float64).same(low_tokens(draw, 2, 5, 4), likely=FAR)


@pytest.mark.question("SelfAttentionV2", points=2)
def test_a_batch_of_sentences_with_bias(expect: Expect, draw: Draw) -> None:
    expect.layer("SelfAttentionV2", 4, 2, True).same(
        _tokens(draw, 3, 5, 4),
        likely="each sentence is computed separately; `.T` reverses all dimensions, so name the "
        "two that you want to swap; call the layers, so that their biases are added",
    )


@pytest.mark.question("SelfAttentionV2", points=1)
def test_float64_and_any_memory_layout_linear(expect: Expect, draw: Draw) -> None:
    _in_float64(expect.layer("SelfAttentionV2", 4, 3, True), draw, inputs_dim=1)


# general properties, tested from declarations

V1 = Traits(
    "SelfAttentionV1",
    [Tensor("... T d_in")],
    build=[Size("d_in"), Size("d_out")],
    loops="T*T*d_out+T*d_in*d_out",
    root=ScaledScores("d_out"),
    own={"float64": "test_float64_and_any_memory_layout"},
    without={
        "errors": "none is promised",
        "chance": "nothing is random: train and eval mode are compared in call after call",
    },
)


@pytest.mark.question("SelfAttentionV1", shared=6)
@pytest.mark.parametrize("trait", V1.tested)
def test_version_one_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, V1, trait)


V2 = Traits(
    "SelfAttentionV2",
    [Tensor("... T d_in")],
    build=[Size("d_in"), Size("d_out"), CustomInput(lambda draw, sizes: True)],
    loops="T*T*d_out+T*d_in*d_out",
    root=ScaledScores("d_out"),
    own={"float64": "test_float64_and_any_memory_layout_linear"},
    without={
        "errors": "none is promised",
        "chance": "nothing is random: train and eval mode are compared in call after call",
    },
)


@pytest.mark.question("SelfAttentionV2", shared=5)
@pytest.mark.parametrize("trait", V2.tested)
def test_version_two_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, V2, trait)
