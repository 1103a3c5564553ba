"""Hidden suite of `feed_forward`: 20 of the assignment's 100 points."""

import pytest
import torch

from autograder.suite import Draw, Expect, ExpectLayer
from autograder.suite.traits import Size, Tensor, Traits, check_trait


def _network(expect: Expect, d_model: int, hidden_dim: int) -> ExpectLayer:
    """Builds the network in eval mode; only one test uses train mode."""
    return expect.layer("FeedForward", d_model, hidden_dim).eval()


@pytest.mark.question("FeedForward", points=2)
def test_weights_are_those_of_two_linear_layers(expect: Expect) -> None:
    layer = _network(expect, 5, 8)
    layer.exact_weights(
        likely="linear1 and linear2 are nn.Linear layers with a bias, and nothing else is trained"
    )


@pytest.mark.question("FeedForward", points=4)
def test_tokens_of_one_sequence(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 5, 8)
    layer.same(
        draw.normal(7, 5),
        likely="apply linear1, then ReLU, then linear2, and nothing after that",
    )


@pytest.mark.question("FeedForward", points=3)
def test_batch_of_sequences(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 4, 9)
    layer.same(
        draw.normal(3, 5, 4),
        likely="every token is processed separately, whatever dimensions come before the last one",
    )


@pytest.mark.question("FeedForward", points=1)
def test_hidden_layer_smaller_than_the_model(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 7, 3)
    layer.same(
        draw.normal(1, 4, 7),
        likely="the size of the hidden layer is the second argument, whatever it is",
    )


@pytest.mark.question("FeedForward", points=2)
def test_large_inputs_in_float64(expect: Expect, draw: Draw) -> None:
    likely = (
        "ReLU keeps a positive number as it is, however large, and makes a negative number "
        "exactly 0, however close to 0; nothing is converted to float32 on the way"
    )
    layer = _network(expect, 5, 8).move(dtype=torch.float64)
    # with so many tokens, some sums are near zero, which reveals any use of float32
    layer.same(draw.normal(40, 5, scale=30.0, dtype=torch.float64), likely=likely)
    layer.fill(lambda name, shape: draw.normal(*shape, scale=float(name.endswith("weight"))))
    layer.same(draw.normal(6, 5, scale=1e-5, dtype=torch.float64), likely=likely)


# general properties, tested from declarations

FEED_FORWARD = Traits(
    "FeedForward",
    [Tensor("... D")],
    build=[Size("D"), Size("F")],
    own={"float64": "test_large_inputs_in_float64"},
    without={
        "errors": "none is promised",
        "chance": "nothing is random: train and eval mode are compared in call after call",
    },
)


@pytest.mark.question("FeedForward", shared=8)
@pytest.mark.parametrize("trait", FEED_FORWARD.tested)
def test_feed_forward_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, FEED_FORWARD, trait)
