"""Public checks of `multi_head_self_attention`."""

import pytest
import torch

from autograder.suite import Draw, Expect, Tolerance
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself

# for numbers that are given with four decimals
PRINTED = Tolerance(atol=6e-5, rtol=0.0)

LAYERS = ("W_query", "W_key", "W_value", "out_proj")


@pytest.mark.question("MultiHeadSelfAttention", points=0)
def test_shape_is_kept(expect: Expect, draw: Draw) -> None:
    layer = expect.layer("MultiHeadSelfAttention", 6, 3)
    got = layer.result(draw.normal(2, 4, 6))
    layer.that(
        isinstance(got, torch.Tensor) and got.shape == (2, 4, 6),
        got=f"{tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__}",
        expected="(2, 4, 6), the shape of the input",
        likely="after the heads are merged, a token has d_model entries again",
    )


@pytest.mark.question("MultiHeadSelfAttention", points=0)
def test_two_heads_by_hand(expect: Expect) -> None:
    layer = expect.layer("MultiHeadSelfAttention", 4, 2)
    weights = {f"{name}.weight": torch.eye(4) for name in LAYERS}
    weights |= {f"{name}.bias": torch.zeros(4) for name in LAYERS}
    weights["W_key.weight"] = torch.tensor(
        [[0.0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]]
    )
    weights["out_proj.bias"] = torch.tensor([0.0, 10, 20, 30])
    layer.load(weights)
    layer.value(
        (torch.tensor([[[1.0, 0, 2, 1], [0, 2, 1, 0], [1, 1, 0, -1]]]),),
        torch.tensor(
            [
                [
                    [0.4240, 11.4359, 21.9378, 30.9378],
                    [0.8916, 10.6626, 21.4359, 30.4359],
                    [0.5989, 11.2033, 20.2775, 29.2775],
                ]
            ]
        ),
        likely="head 0 owns columns 0 and 1, head 1 columns 2 and 3; each divides its scores by "
        "the square root of 2",
        tolerance=PRINTED,
    )


@pytest.mark.question("MultiHeadSelfAttention", points=0)
def test_every_token_sees_every_token(expect: Expect, draw: Draw) -> None:
    layer = expect.layer("MultiHeadSelfAttention", 4, 2)
    tokens = draw.normal(1, 3, 4)
    changed = tokens.clone()
    changed[0, 2] += 5.0
    before, after = layer.result(tokens), layer.result(changed)
    layer.that(
        bool((before[0, 0] - after[0, 0]).abs().max() > 1e-4),
        got="the first token's result stays the same when the last token changes",
        expected="a change: an encoder has no mask",
        likely="nothing is masked here, and softmax runs over the keys",
    )


@pytest.mark.question("MultiHeadSelfAttention", points=0)
def test_documented_sentence(expect: Expect) -> None:
    layer = expect.layer("MultiHeadSelfAttention", 2, 2)
    layer.load(
        {
            "W_query.weight": torch.tensor([[0.500026, 0.131738], [0.193359, 0.682541]]),
            "W_query.bias": torch.tensor([-0.318912, 0.223977]),
            "W_key.weight": torch.tensor([[-0.314603, 0.505334], [0.564735, -0.651933]]),
            "W_key.bias": torch.tensor([0.603619, 0.337654]),
            "W_value.weight": torch.tensor([[0.308134, 0.291098], [0.587817, -0.093366]]),
            "W_value.bias": torch.tensor([-0.597999, -0.202904]),
            "out_proj.weight": torch.tensor([[-0.497997, 0.046744], [-0.132022, -0.379281]]),
            "out_proj.bias": torch.tensor([-0.064291, 0.669916]),
        }
    )
    sentence = [
        [0.3374, -0.1778],
        [0.1794, 1.8951],
        [0.3486, 0.6603],
        [0.4954, 0.2692],
        [0.6984, -1.4097],
        [0.7671, -1.1925],
        [0.3486, 0.6603],
        [-0.2196, -0.3792],
    ]
    layer.value(
        (torch.tensor([sentence]),),
        torch.tensor(
            [
                [
                    [0.1839, 0.7218],
                    [0.1803, 0.6445],
                    [0.1805, 0.6862],
                    [0.1774, 0.6997],
                    [0.1777, 0.7618],
                    [0.1746, 0.7531],
                    [0.1805, 0.6862],
                    [0.2011, 0.7406],
                ]
            ]
        ),
        likely="these heads are one column wide, so the scores are divided by 1; which layer makes "
        "queries, keys and values?",
        tolerance=PRINTED,
    )


@pytest.mark.question("MultiHeadSelfAttention", points=0)
def test_multi_head_self_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits("MultiHeadSelfAttention", [Tensor("B T H*d")], build=[Size("H*d"), Size("H")]),
        moves=False,
    )


@pytest.mark.question("MultiHeadSelfAttention", points=0)
def test_names_of_the_weights(expect: Expect) -> None:
    layer = expect.layer("MultiHeadSelfAttention", 4, 2)
    got = sorted(layer.answer.weights())
    expected = sorted(f"{name}.{kind}" for name in LAYERS for kind in ("weight", "bias"))
    layer.that(
        got == expected,
        got=f"the trainable weights {got}",
        expected=f"{expected}",
        likely="four linear layers with these names, and nothing else is trained",
    )
