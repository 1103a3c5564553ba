"""Public checks of `decoder_block`."""

import pytest
import torch

from autograder.suite import Draw, Expect, ExpectLayer, Tolerance
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself

# for numbers computed from others that were rounded to four decimals
FROM_PRINTED = Tolerance(atol=5e-4, rtol=0.0)

SIZES = (4, 1, 4)


def _block(expect: Expect) -> ExpectLayer:
    """Builds a block that can be computed by hand, whose attention gives the mean of the past."""
    layer = expect.layer("DecoderBlock", *SIZES)
    weights = {}
    for name in ("W_query", "W_key", "W_value", "out_proj"):
        mixes = name in ("W_value", "out_proj")
        weights[f"attention.{name}.weight"] = torch.eye(4) if mixes else torch.zeros(4, 4)
        weights[f"attention.{name}.bias"] = torch.zeros(4)
    for name in ("norm1", "norm2"):
        weights[f"{name}.weight"], weights[f"{name}.bias"] = torch.ones(4), torch.zeros(4)
    for name in ("linear1", "linear2"):
        weights[f"feed_forward.{name}.weight"] = torch.eye(4)
        weights[f"feed_forward.{name}.bias"] = torch.zeros(4)
    layer.load(weights | {"norm2.weight": torch.tensor([1.0, 1, 1, 10])})
    return layer


@pytest.mark.question("DecoderBlock", points=0)
def test_one_token_by_hand(expect: Expect) -> None:
    layer = _block(expect)
    got = layer.result(torch.tensor([[[1.0, 3, 1, 3]]]), likely="one token, no past")
    is_pair = isinstance(got, tuple | list) and len(got) == 2
    layer.that(
        is_pair,
        got=f"a {type(got).__name__}",
        expected="a pair: the result, and the present that the attention returned",
        likely="forward returns two things: `return out, present`",
    )
    layer.value(
        (torch.tensor([[[1.0, 3, 1, 3]]]),),
        (
            torch.tensor([[[0.0, 5, 0, 14]]]),
            (torch.zeros(1, 1, 1, 4), torch.tensor([[[[-1.0, 1, -1, 1]]]])),
        ),
        likely="norm1 gives (-1, 1, -1, 1); a single token gets its own value, so h = (0, 4, 0, "
        "4); norm2 gives (-1, 1, -1, 10), ReLU replaces negative numbers with 0, and h is added",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("DecoderBlock", points=0)
def test_a_token_after_a_past(expect: Expect) -> None:
    past = (torch.zeros(1, 1, 1, 4), torch.tensor([[[[3.0, 1, -1, -3]]]]))
    _block(expect).value(
        (torch.tensor([[[1.0, 3, 1, 3]]]), past),
        (
            torch.tensor([[[2.0, 5.4142, 0, 2]]]),
            (
                torch.zeros(1, 1, 2, 4),
                torch.tensor([[[[3.0, 1, -1, -3], [-1, 1, -1, 1]]]]),
            ),
        ),
        likely="the attention gives the mean of the past value and the new value, (1, 1, -1, -1), "
        "so h = (2, 4, 0, 2)",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("DecoderBlock", points=0)
def test_at_once_or_token_by_token(expect: Expect, draw: Draw) -> None:
    layer = expect.layer("DecoderBlock", 8, 2, 6)
    x = draw.normal(1, 3, 8)
    likely = "pass `past` to the attention, and return the present that the attention returns"
    at_once = layer.result(x, likely=likely)
    past, outputs = None, []
    for token in x.split(1, dim=1):
        got = layer.result(token, *(() if past is None else (past,)), likely=likely)
        layer.that(
            isinstance(got, tuple | list) and len(got) == 2,
            got=f"a {type(got).__name__}",
            expected="a pair (out, present)",
            likely=likely,
        )
        output, past = got[0], tuple(got[1])
        outputs.append(output)
    layer.that(
        torch.allclose(torch.cat(outputs, dim=1), at_once[0], atol=1e-5),
        got="different results for one token at a time, each with the present of the previous call",
        expected="the same results as for all tokens at once",
        likely=likely,
    )


@pytest.mark.question("DecoderBlock", points=0)
def test_decoder_block_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "DecoderBlock",
            [Tensor("B T H*2*p")],
            build=[Size("H*2*p"), Size("H"), Size("F")],
            sizes={"p": 2},
        ),
    )


@pytest.mark.question("DecoderBlock", points=0)
def test_a_token_that_hardly_varies(expect: Expect) -> None:
    # norm1 divides by the square root of 1e-6 + 1e-5, and a single token gets its own value
    size = 0.001
    normed = size / (size**2 + 1e-5) ** 0.5
    _block(expect).value(
        (torch.tensor([[[-size, size, -size, size]]]),),
        (
            torch.tensor([[[-0.3025, 1.3025, -0.3025, 10.3020]]]),
            (
                torch.zeros(1, 1, 1, 4),
                torch.tensor([[[[-normed, normed, -normed, normed]]]]),
            ),
        ),
        likely="both norms add an eps of 1e-5 to the variance before taking the square root",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("DecoderBlock", points=0)
def test_heads_of_the_attention(expect: Expect, draw: Draw) -> None:
    layer = expect.layer("DecoderBlock", 8, 2, 6)
    likely = "build the attention with num_heads, so that its past has as many heads"
    got = layer.result(draw.normal(1, 3, 8), likely=likely)
    keys = got[1][0] if isinstance(got, tuple | list) and len(got) == 2 else None
    shape = tuple(keys.shape) if isinstance(keys, torch.Tensor) else type(keys).__name__
    layer.that(
        shape == (1, 2, 3, 4), got=f"keys {shape}", expected="keys (1, 2, 3, 4)", likely=likely
    )
