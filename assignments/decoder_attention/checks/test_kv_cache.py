"""Public checks of `kv_cache`."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from autograder.suite import Draw, Expect, difference, rules_of
from autograder.suite.compare import FROM_PRINTED, describe
from autograder.suite.traits import InputPair, Size, Tensor, Traits, check_by_itself

LN_3, LN_12 = math.log(3), math.log(12)

RULES = rules_of(__file__)


@pytest.mark.question("decoding_mask", points=0)
def test_two_queries_over_five_keys(expect: Expect) -> None:
    expect.value(
        "decoding_mask",
        (2, 5),
        torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 0, 0]]).bool(),
        likely="the queries are positions 3 and 4: position 3 must not see position 4, and "
        "position 4 sees all positions",
    )


@pytest.mark.question("decoding_mask", points=0)
def test_three_queries_without_a_past(expect: Expect) -> None:
    expect.value(
        "decoding_mask",
        (3, 3),
        torch.tensor([[0, 1, 1], [0, 0, 1], [0, 0, 0]]).bool(),
        likely="with three positions and no past, the future is above the diagonal",
    )


@pytest.mark.question("sliding_window_mask", points=0)
def test_a_window_of_two(expect: Expect) -> None:
    expect.value(
        "sliding_window_mask",
        (3, 5, 2),
        torch.tensor([[1, 0, 0, 1, 1], [1, 1, 0, 0, 1], [1, 1, 1, 0, 0]]).bool(),
        likely="the queries are positions 2, 3 and 4; with a window of 2, each sees itself and "
        "the position before it",
    )


@pytest.mark.question("sliding_window_mask", points=0)
def test_windows_of_no_position(expect: Expect) -> None:
    expect.raises(
        "sliding_window_mask",
        2,
        4,
        0,
        error=ValueError,
        likely="a query sees at least its own position: raise a ValueError if window is below 1",
    )


def _row(*numbers: float) -> torch.Tensor:
    """Returns positions of one head, (1, 1, T, 4), each with a number and three zeros."""
    return torch.nn.functional.pad(torch.tensor(numbers)[None, None, :, None], (0, 3))


def _values(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers)[None, None, :, None]  # (1, 1, T, 1)


@pytest.mark.question("cached_attention", points=0)
def test_one_new_position_after_one(expect: Expect) -> None:
    expect.value(
        "cached_attention",
        (_row(2.0), _row(LN_3), _values(8.0), (_row(0.0), _values(4.0))),
        (_values(7.0), (_row(0.0, LN_3), _values(4.0, 8.0))),
        likely="the scaled scores are 0 and ln 3, so the weights are 1/4 for the past and 3/4 for "
        "the new position; the present has both positions, with the past first",
    )


@pytest.mark.question("cached_attention", points=0)
def test_two_new_positions_after_one(expect: Expect) -> None:
    expect.value(
        "cached_attention",
        (_row(2.0, 2.0), _row(LN_3, LN_12), _values(8.0, 15.0), (_row(0.0), _values(4.0))),
        (_values(7.0, 13.0), (_row(0.0, LN_3, LN_12), _values(4.0, 8.0, 15.0))),
        likely="the first new position sees the past and itself, but not the second one, so its "
        "context is 7; the second new position sees all three",
    )


@pytest.mark.question("cached_attention", points=0)
def test_a_prefill_of_two_positions(expect: Expect) -> None:
    expect.value(
        "cached_attention",
        (_row(2.0, 2.0), _row(0.0, LN_3), _values(4.0, 8.0)),
        (_values(4.0, 7.0), (_row(0.0, LN_3), _values(4.0, 8.0))),
        likely="without a past, this is causal attention, and the present is the pair of the keys "
        "and values that were passed in",
    )


#: the weights of the notebook's example: one head of size 2, whose linear layers are the identity
PLAIN = {
    f"{name}.{part}": torch.eye(2) if part == "weight" else torch.zeros(2)
    for name in ("W_query", "W_key", "W_value", "out_proj")
    for part in ("weight", "bias")
}


def _plain_layer(expect: Expect) -> Any:
    layer = expect.layer("CachedAttention", 2, 1)
    layer.load(PLAIN)
    return layer


@pytest.mark.question("CachedAttention", points=0)
def test_two_tokens_by_hand(expect: Expect) -> None:
    _plain_layer(expect).value(
        (torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),),
        (
            torch.tensor([[[1.0, 0.0], [0.2138, 0.7862]]]),
            (
                torch.tensor([[[[1.0, 0.0], [-0.8415, 0.5403]]]]),
                torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]]),
            ),
        ),
        likely="the query and key of token 1 are rotated by one radian, but its value is not; the "
        "scaled scores of token 1 are -0.5950 and 0.7071",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("CachedAttention", points=0)
def test_prefill_and_step_give_what_one_call_gives(expect: Expect) -> None:
    layer = _plain_layer(expect)
    tokens = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -1.0]]])
    likely = (
        "the new tokens are at the positions after the past, and see all of it; the past keys "
        "have already been rotated"
    )
    whole = _pair(layer, layer.result(tokens, likely=likely), likely)
    first = _pair(layer, layer.result(tokens[:, :2], likely=likely), likely)
    then = layer.result(tokens[:, 2:], first[1], likely=likely)
    second = _pair(layer, then, likely)
    layer.that(
        difference(second[0], whole[0][:, 2:], FROM_PRINTED) is None,
        got=f"{second[0].detach()} in two steps",
        expected=f"{whole[0][:, 2:].detach()}, as in one call",
        likely=likely,
    )


def _pair(layer: Any, value: Any, likely: str) -> Any:
    is_pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], torch.Tensor)
    layer.that(is_pair, got=describe(value), expected="the pair (output, present)", likely=likely)
    return value


@pytest.mark.question("cached_attention", points=0)
def test_cached_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "cached_attention",
            [
                Tensor("B H T d"),
                Tensor("B H T d"),
                Tensor("B H T d_v"),
                InputPair(Tensor("B H P d"), Tensor("B H P d_v")),
            ],
        ),
    )


@pytest.mark.question("CachedAttention", points=0)
def test_cached_attention_layer_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "CachedAttention",
            [Tensor("B T H*2*p")],
            build=[Size("H*2*p"), Size("H")],
            sizes={"p": 2},
        ),
    )


def _two_heads(expect: Expect) -> Any:
    """Builds a layer with two heads of size 4, whose out_proj reverses the columns."""
    layer = expect.layer("CachedAttention", 8, 2)
    names = ("W_query", "W_key", "W_value", "out_proj")
    weights = {f"{name}.weight": torch.eye(8) for name in names}
    weights["out_proj.weight"] = torch.eye(8).flip(0)
    layer.load(weights | {f"{name}.bias": torch.zeros(8) for name in names})
    return layer


@pytest.mark.question("CachedAttention", points=0)
def test_two_heads_after_a_past(expect: Expect) -> None:
    # at position 1, a head's coordinates 0 and 2 turn by 1 radian, and 1 and 3 by 0.01
    cos, sin = math.cos(1.0), math.sin(1.0)
    token = torch.tensor([[[2.0, 0, 0, 0, 0, 0, 4, 0]]])
    keys = torch.tensor([[[[0.0, 0, 0, 0]], [[0.0, 0, 0, 0]]]])
    values = torch.tensor([[[[0.0, 7, 0, 0]], [[0.0, 0, 0, 5]]]])
    turned = torch.tensor([[[[2 * cos, 0, 2 * sin, 0]], [[-4 * sin, 0, 4 * cos, 0]]]])
    new = torch.tensor([[[[2.0, 0, 0, 0]], [[0.0, 0, 4, 0]]]])
    # the scaled scores of the new token are 4 / 2 in head 0 and 16 / 2 in head 1
    a, b = 1 / (1 + math.exp(-2)), 1 / (1 + math.exp(-8))
    _two_heads(expect).value(
        (token, (keys, values)),
        (
            torch.tensor([[[5 * (1 - b), 4 * b, 0, 0, 0, 0, 7 * (1 - a), 2 * a]]]),
            (torch.cat([keys, turned], dim=2), torch.cat([values, new], dim=2)),
        ),
        likely="columns 0 to 3 are head 0; after the split, coordinates 0 and 2 are rotated as a "
        "pair, and so are 1 and 3, at the position after the past; scores are divided by the "
        "square root of 4; out_proj reverses the columns",
    )


@pytest.mark.question("CachedAttention", points=0)
def test_two_sequences_in_turns(expect: Expect, draw: Draw) -> None:
    layer = _two_heads(expect)
    likely = "keep nothing in the layer: the `past` that is passed in has everything seen so far"
    first, second = (draw.normal(1, 2, 8) for _ in range(2))
    _, past = _pair(layer, layer.result(first[:, :1], likely=likely), likely)
    layer.result(second, likely=likely)
    got, _ = _pair(layer, layer.result(first[:, 1:], past, likely=likely), likely)
    right, _ = _pair(layer, layer.result(first, likely=likely), likely)
    layer.that(
        difference(got, right[:, 1:], FROM_PRINTED) is None,
        got="a different result for the second token after a call with another sequence",
        expected="the same result as without that call",
        likely=likely,
    )


@pytest.mark.question("CachedAttention", points=0)
def test_far_from_the_start(expect: Expect) -> None:
    past = (torch.zeros(1, 2, 472, 4).double(), torch.zeros(1, 2, 472, 4).double())
    layer = _two_heads(expect).move(dtype=torch.float64)
    token = torch.tensor([[[0.0, 1, 0, 0, 0, 0, 0, 1]]]).double()
    likely = "in a float64 layer, compute positions and angles in float64 from the start"
    _, present = _pair(layer, layer.result(token, past, likely=likely), likely)
    got = present[0][0, 0, -1] if isinstance(present, tuple | list) else present
    right = [0.0, math.cos(4.72), 0.0, math.sin(4.72)]
    text = difference(got, torch.tensor(right, dtype=torch.float64))
    layer.that(
        text is None,
        got=f"{text}",
        expected="the key rotated by 4.72 radians",
        likely=likely,
    )


@pytest.mark.question("cached_attention", points=0)
def test_cached_attention_uses_allowed_calls(expect: Expect, draw: Draw) -> None:
    new, past = ([draw.normal(1, 2, 3, 4) for _ in range(n)] for n in (3, 2))
    expect.allowed("cached_attention", *new, tuple(past), rule=RULES["cached_attention"])
