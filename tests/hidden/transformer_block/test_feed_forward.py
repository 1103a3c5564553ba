"""Hidden suite of `feed_forward`: 20 of the assignment's 100 points."""

import pytest
import torch

from autograder.suite import Draw, Expect, ExpectLayer


def _network(expect: Expect, d_model: int, hidden_dim: int) -> ExpectLayer:
    """The network in eval mode; one test alone looks at train mode."""
    return expect.layer("FeedForward", d_model, hidden_dim).eval()


@pytest.mark.question("FeedForward", points=2)
def test_weights_are_those_of_two_linear_layers(expect: Expect) -> None:
    layer = _network(expect, 5, 8)
    layer.exact_weights(
        likely="linear1 and linear2 are nn.Linear layers with bias, and nothing else is trained"
    )


@pytest.mark.question("FeedForward", points=4)
def test_tokens_of_one_sequence(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 5, 8)
    layer.same(
        draw.normal(7, 5),
        likely="linear1, then ReLU, then linear2, and nothing after it",
    )


@pytest.mark.question("FeedForward", points=3)
def test_batch_of_sequences(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 4, 9)
    layer.same(
        draw.normal(3, 5, 4),
        likely="every token is worked on alone, whatever stands before the last dimension",
    )


@pytest.mark.question("FeedForward", points=2)
def test_four_dimensions(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 4, 6)
    layer.same(
        draw.normal(2, 3, 5, 4),
        likely="any number of leading dimensions comes back as it went in",
    )


@pytest.mark.question("FeedForward", points=1)
def test_hidden_layer_smaller_than_the_model(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 7, 3)
    layer.same(
        draw.normal(1, 4, 7),
        likely="the size in between is the second argument, whatever it is",
    )


@pytest.mark.question("FeedForward", points=2)
def test_large_inputs_in_float64(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 5, 8).move(dtype=torch.float64)
    layer.same(
        draw.normal(6, 5, scale=30.0, dtype=torch.float64),
        likely="ReLU keeps a positive number as it is, however large, and makes a negative one "
        "exactly 0; nothing turns into float32 on the way",
    )


@pytest.mark.question("FeedForward", points=1)
def test_more_calls_and_inputs_that_are_not_contiguous(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 4, 6)
    for shape in ((2, 5, 4), (2, 5, 4), (3, 2, 4), (1, 1, 4)):
        layer.same(
            draw.strided(*shape),
            likely="a call depends on its own input and on the weights only",
        )


@pytest.mark.question("FeedForward", points=2)
def test_training_and_evaluation_are_alike(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 4, 40)
    tokens = draw.normal(40, 4)
    for mode in (True, False):
        layer.train(mode).same(tokens, likely="this layer has no dropout and no other randomness")


@pytest.mark.question("FeedForward", points=3)
def test_gradient_reaches_every_weight(expect: Expect, draw: Draw) -> None:
    layer = _network(expect, 5, 8).move(dtype=torch.float64)
    layer.gradients(
        draw.normal(2, 7, 5, dtype=torch.float64),
        likely="`.detach()`, `.data`, `torch.no_grad()` or `torch.tensor(...)` of results cuts the "
        "gradient",
    )
