"""Public checks of `encoder_block`."""

import pytest
import torch

from autograder.suite import Draw, Expect, ExpectLayer, Tolerance, rules_of
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself

# for numbers that are given with four decimals
PRINTED = Tolerance(atol=6e-5, rtol=0.0)
# for numbers computed from others that were rounded to four decimals
FROM_PRINTED = Tolerance(atol=5e-4, rtol=0.0)

RULES = rules_of(__file__)


@pytest.mark.question("add_and_norm", points=0)
def test_two_tokens_by_hand(expect: Expect) -> None:
    expect.value(
        "add_and_norm",
        (
            torch.tensor([[1.0, 2, 3], [4, 4, 0]]),
            torch.tensor([[1.0, 0, 5], [-4, 0, 0]]),
            torch.tensor([1.0, 2, -1]),
            torch.tensor([0.0, 10, 20]),
        ),
        torch.tensor([[-0.7071, 8.5858, 18.5858], [-0.7071, 12.8284, 20.7071]]),
        likely="the first sum is [2, 2, 8]: mean 4, variance 8 (divided by 3); then weight times "
        "that, plus bias",
        tolerance=PRINTED,
    )


@pytest.mark.question("add_and_norm", points=0)
def test_every_token_has_mean_0_and_variance_1(expect: Expect, draw: Draw) -> None:
    got = expect.result(
        "add_and_norm",
        draw.normal(2, 3, 8),
        draw.normal(2, 3, 8) * 4 + 7,
        torch.ones(8),
        torch.zeros(8),
        likely="with weight 1 and bias 0, only the normalized sum is left",
    )
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (2, 3, 8),
        got=str(shape),
        expected="(2, 3, 8), the shape of the input",
        likely="mean and variance need `keepdim=True` to line up with the tokens again",
    )
    means, variances = got.mean(-1), got.var(-1, unbiased=False)
    expect.that(
        bool((means.abs() < 1e-4).all() and ((variances - 1).abs() < 1e-2).all()),
        got=f"means up to {means.abs().max():.4f}, variances from {variances.min():.4f} to "
        f"{variances.max():.4f}",
        expected="mean 0 and variance 1 in every token",
        likely="take mean and variance over the last dimension, after the addition",
    )


@pytest.mark.question("add_and_norm", points=0)
def test_documented_sentence(expect: Expect) -> None:
    # the first token hardly varies, so eps matters; otherwise, two entries become -1 and 1
    expect.value(
        "add_and_norm",
        (
            torch.tensor([[0.3374, -0.1778], [0.4954, 0.2692], [0.6984, -1.4097]]),
            torch.tensor([[0.1839, 0.7218], [0.1774, 0.6997], [0.1777, 0.7618]]),
            torch.ones(2),
            torch.zeros(2),
        ),
        torch.tensor([[-0.9634, 0.9634], [-0.9998, 0.9998], [1.0, -1.0]]),
        likely="x plus the sublayer's output is normalized; eps (1e-5) is added to its variance "
        "before the square root is taken, and the variance is divided by D",
        tolerance=FROM_PRINTED,
    )


def _block(expect: Expect) -> ExpectLayer:
    """Builds a block that can be computed by hand."""
    layer = expect.layer("EncoderBlock", 4, 2, 3)
    attention = {}
    for name in ("W_query", "W_key", "W_value", "out_proj"):
        attention[f"attention.{name}.weight"] = torch.eye(4)
        attention[f"attention.{name}.bias"] = torch.zeros(4)
    attention["attention.W_key.weight"] = torch.tensor(
        [[0.0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]]
    )
    attention["attention.out_proj.bias"] = torch.tensor([0.0, 1, 0, -1])
    layer.load(
        attention
        | {
            "norm1.weight": torch.tensor([1.0, 2, 1, 1]),
            "norm1.bias": torch.tensor([0.0, 0, 1, 0]),
            "feed_forward.linear1.weight": torch.tensor(
                [[1.0, 0, 0, -1], [0, 1, 1, 0], [-1, 0, 0, 2]]
            ),
            "feed_forward.linear1.bias": torch.tensor([0.0, -1, 0]),
            "feed_forward.linear2.weight": torch.tensor(
                [[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0]]
            ),
            "feed_forward.linear2.bias": torch.tensor([0.0, 0, 1, 0]),
            "norm2.weight": torch.tensor([1.0, 1, 3, 1]),
            "norm2.bias": torch.tensor([0.0, -1, 0, 0]),
        }
    )
    return layer


@pytest.mark.question("EncoderBlock", points=0)
def test_three_tokens_through_the_block(expect: Expect) -> None:
    _block(expect).value(
        (torch.tensor([[[1.0, 0, 2, 1], [0, 2, 1, 0], [1, 1, 0, -1]]]),),
        torch.tensor(
            [
                [
                    [-0.4205, -0.3140, 3.4655, -1.4206],
                    [-0.2430, 0.3141, 1.1101, -1.4412],
                    [0.2831, 0.2362, 0.0808, -1.5462],
                ]
            ]
        ),
        likely="attention, add and norm, feed-forward, add and norm: draw the two paths that go "
        "around a sublayer, and where each starts and ends",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("EncoderBlock", points=0)
def test_plain_norms_give_tokens_with_mean_0(expect: Expect, draw: Draw) -> None:
    layer = expect.layer("EncoderBlock", 6, 2, 10)
    layer.load(
        {
            "norm1.weight": torch.ones(6),
            "norm1.bias": torch.zeros(6),
            "norm2.weight": torch.ones(6),
            "norm2.bias": torch.zeros(6),
        }
    )
    got = layer.result(draw.normal(2, 3, 6))
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    layer.that(
        shape == (2, 3, 6),
        got=str(shape),
        expected="(2, 3, 6), the shape of the input",
        likely="every step of the block keeps the shape",
    )
    means = got.mean(-1).abs().max()
    layer.that(
        bool(means < 1e-4),
        got=f"tokens with means up to {means:.4f}",
        expected="tokens with mean 0, as a norm with weight 1 and bias 0 gives them",
        likely="in this block a norm is the last step",
    )


@pytest.mark.question("add_and_norm", points=0)
def test_add_and_norm_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect, Traits("add_and_norm", [Tensor("... D"), Tensor("... D"), Tensor("D"), Tensor("D")])
    )


@pytest.mark.question("EncoderBlock", points=0)
def test_encoder_block_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits("EncoderBlock", [Tensor("B T H*d")], build=[Size("H*d"), Size("H"), Size("F")]),
        moves=False,
    )


@pytest.mark.question("add_and_norm", points=0)
def test_a_batch_with_another_eps(expect: Expect) -> None:
    # in every token the mean is 0 and the variance 1, which with eps = 3 becomes 4
    tokens = torch.tensor([[[1.0, -1], [-1, 1], [-1, 1]], [[-1.0, 1], [1, -1], [-1, 1]]])
    for x in (tokens, tokens[None]):
        expect.value(
            "add_and_norm",
            (x, torch.zeros_like(x), torch.ones(2), torch.zeros(2), 3.0),
            x / 2,
            likely="the last dimension is normalized, however many dimensions there are, with the "
            "given eps",
        )


@pytest.mark.question("EncoderBlock", points=0)
def test_a_token_whose_entries_are_nearly_equal(expect: Expect) -> None:
    layer = expect.layer("EncoderBlock", 2, 1, 1)
    # attention and feed-forward return 0, so only the two norms have an effect
    weights = {name: torch.zeros_like(value) for name, value in layer.answer.weights().items()}
    layer.load(weights | {f"{norm}.weight": torch.full((2,), 0.001) for norm in ("norm1", "norm2")})
    first = 0.001 * 0.001 / (1e-6 + 1e-5) ** 0.5
    second = 0.001 * first / (first**2 + 1e-5) ** 0.5
    layer.value(
        (torch.tensor([[[0.001, -0.001]]]),),
        torch.tensor([[[second, -second]]]),
        likely="attention and feed-forward return 0 here, so norm1 gets x, and norm2 gets the "
        "result of norm1; eps is 1e-5, which matters for tokens that hardly vary",
        tolerance=Tolerance(atol=0.0, rtol=1e-3),
    )


@pytest.mark.question("EncoderBlock", points=0)
def test_names_of_the_weights(expect: Expect) -> None:
    linear = [f"attention.{name}" for name in ("W_query", "W_key", "W_value", "out_proj")]
    linear += ["norm1", "feed_forward.linear1", "feed_forward.linear2", "norm2"]
    layer = expect.layer("EncoderBlock", 4, 2, 3)
    got = sorted(layer.answer.weights())
    expected = sorted(f"{name}.{kind}" for name in linear for kind in ("weight", "bias"))
    layer.that(
        got == expected,
        got=f"the trainable weights {got}",
        expected=f"{expected}",
        likely="two sublayers and two norms with these names, and nothing else is trained",
    )


@pytest.mark.question("add_and_norm", points=0)
def test_add_and_norm_uses_allowed_calls(expect: Expect, draw: Draw) -> None:
    tensors = [draw.normal(*shape) for shape in ((2, 3, 4), (2, 3, 4), (4,), (4,))]
    expect.allowed("add_and_norm", *tensors, rule=RULES["add_and_norm"])
