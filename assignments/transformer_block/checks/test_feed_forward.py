"""Public checks of `feed_forward`."""

import pytest
import torch

from autograder.suite import Draw, Expect, Tolerance
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself

# for numbers computed from others that were rounded to four decimals
FROM_PRINTED = Tolerance(atol=5e-4, rtol=0.0)


@pytest.mark.question("FeedForward", points=0)
def test_shape_is_kept(expect: Expect, draw: Draw) -> None:
    layer = expect.layer("FeedForward", 3, 5)
    for shape in ((6, 3), (2, 6, 3)):
        got = layer.result(draw.normal(*shape))
        layer.that(
            isinstance(got, torch.Tensor) and got.shape == shape,
            got=f"{tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__}",
            expected=f"{shape}, the shape of the input",
            likely="linear1 maps from D to hidden_dim, and linear2 back to D; the other "
            "dimensions do not change",
        )


@pytest.mark.question("FeedForward", points=0)
def test_three_tokens_by_hand(expect: Expect) -> None:
    layer = expect.layer("FeedForward", 2, 3)
    layer.load(
        {
            "linear1.weight": torch.tensor([[1.0, 0], [0, 1], [1, 1]]),
            "linear1.bias": torch.tensor([0.0, 0, -1]),
            "linear2.weight": torch.tensor([[1.0, 2, 3], [4, 5, 6]]),
            "linear2.bias": torch.tensor([0.5, -0.5]),
        }
    )
    layer.value(
        (torch.tensor([[3.0, -2], [-1, 4], [-1, -2]]),),
        torch.tensor([[3.5, 11.5], [14.5, 31.5], [0.5, -0.5]]),
        likely="for the last token, all three hidden entries are negative, so its result is the "
        "bias of linear2",
    )


@pytest.mark.question("FeedForward", points=0)
def test_documented_sentence(expect: Expect) -> None:
    layer = expect.layer("FeedForward", 2, 4)
    layer.load(
        {
            "linear1.weight": torch.tensor(
                [
                    [-0.055773, 0.022451],
                    [-0.110281, 0.111162],
                    [0.630041, 0.432391],
                    [0.250996, 0.153662],
                ]
            ),
            "linear1.bias": torch.tensor([0.166731, 0.273179, -0.091375, -0.657191]),
            "linear2.weight": torch.tensor(
                [
                    [-0.309206, 0.426793, 0.029887, -0.405037],
                    [0.078864, 0.413136, -0.472500, -0.336620],
                ]
            ),
            "linear2.bias": torch.tensor([-0.199133, 0.020069]),
        }
    )
    layer.value(
        (torch.tensor([[[-0.9634, 0.9634], [-0.9998, 0.9998], [1.0, -1.0]]]),),
        torch.tensor([[[-0.0663, 0.2402], [-0.0638, 0.2437], [-0.2012, -0.0018]]]),
        likely="linear1, then ReLU, then linear2",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("FeedForward", points=0)
def test_feed_forward_called_in_other_ways(expect: Expect) -> None:
    feed_forward = Traits("FeedForward", [Tensor("... D")], build=[Size("D"), Size("F")])
    check_by_itself(expect, feed_forward, moves=False)


@pytest.mark.question("FeedForward", points=0)
def test_numbers_above_six(expect: Expect) -> None:
    layer = expect.layer("FeedForward", 1, 1)
    one, zero = torch.ones(1, 1), torch.zeros(1)
    weights = {"linear1.weight": one, "linear1.bias": zero, "linear2.weight": one}
    layer.load(weights | {"linear2.bias": zero})
    likely = "ReLU replaces negative numbers with 0 and leaves all others unchanged"
    layer.value((torch.tensor([[50.0], [-50.0]]),), torch.tensor([[50.0], [0.0]]), likely=likely)


@pytest.mark.question("FeedForward", points=0)
def test_names_of_the_weights(expect: Expect) -> None:
    layer = expect.layer("FeedForward", 2, 3)
    got = sorted(layer.answer.weights())
    expected = sorted(
        f"{name}.{kind}" for name in ("linear1", "linear2") for kind in ("weight", "bias")
    )
    layer.that(
        got == expected,
        got=f"the trainable weights {got}",
        expected=f"{expected}",
        likely="two linear layers with these names, and nothing else is trained",
    )
