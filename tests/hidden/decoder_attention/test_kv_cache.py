"""Hidden suite of `kv_cache`: 26 of the assignment's 100 points."""

from __future__ import annotations

import pytest
import torch

from autograder.attention.suites.low_scores import (
    FAR_APART,
    ScaledScores,
    low_queries_and_keys,
    low_scoring,
    low_tokens,
    rows_far_apart,
)
from autograder.suite import Draw, Expect, ExpectLayer, Step, rules_of
from autograder.suite.traits import (
    InputPair,
    OptionalInput,
    Size,
    Tensor,
    Traits,
    check_rule,
    check_trait,
)

DECODING = "decoding_mask"
WINDOW = "sliding_window_mask"
CACHED = "cached_attention"
LAYER = "CachedAttention"

Past = tuple[torch.Tensor, torch.Tensor]


# decoding_mask: 4 points

LAST = (
    "the queries are the last positions: query t is at position num_keys - num_queries + t, and "
    "only keys after that position are forbidden"
)


@pytest.mark.question(DECODING, points=1)
def test_as_many_queries_as_keys(expect: Expect) -> None:
    for size in (4, 1, 7, 4):
        expect.same(DECODING, size, size, likely="without a past, this is the causal mask")


@pytest.mark.question(DECODING, points=1)
def test_queries_are_the_last_positions(expect: Expect) -> None:
    for num_queries, num_keys in ((3, 7), (2, 3), (4, 5), (3, 7), (9, 128), (100, 101)):
        expect.same(DECODING, num_queries, num_keys, likely=LAST)


@pytest.mark.question(DECODING, points=1)
def test_one_query_sees_everything(expect: Expect) -> None:
    for num_keys in (6, 1, 2, 128):
        expect.same(
            DECODING, 1, num_keys, likely="the last position has no future, so nothing is forbidden"
        )


# sliding_window_mask: 4 points

SEEN = (
    "a query sees at most `window` positions: its own and the window - 1 before it, but none after "
    "it"
)


@pytest.mark.question(WINDOW, points=1)
def test_a_window_in_a_sequence_without_a_past(expect: Expect, draw: Draw) -> None:
    nearly_all = (128, draw.integer(113, 127))
    drawn = ((128, draw.integer(65, 112)), (draw.integer(20, 60), draw.integer(7, 19)), nearly_all)
    for size, window in ((7, 3), (5, 2), (7, 6), (7, 3), (128, 40), *drawn):
        expect.same(WINDOW, size, size, window, likely=SEEN)


@pytest.mark.question(WINDOW, points=1)
def test_a_window_of_the_last_positions(expect: Expect) -> None:
    for num_queries, num_keys, window in ((3, 8, 4), (2, 9, 2), (5, 6, 3), (1, 6, 2), (3, 128, 50)):
        expect.same(WINDOW, num_queries, num_keys, window, likely=f"{LAST}; {SEEN}")


@pytest.mark.question(WINDOW, points=0.5)
def test_the_smallest_and_the_largest_window(expect: Expect) -> None:
    for num_queries, num_keys, window in ((4, 4, 1), (2, 5, 1), (3, 6, 6), (3, 6, 9999), (1, 1, 1)):
        expect.same(
            WINDOW,
            num_queries,
            num_keys,
            window,
            likely="with a window of 1, a query sees only its own position; with a window as long "
            "as the sequence, only the future is forbidden",
        )


@pytest.mark.question(WINDOW, points=0.5)
def test_a_window_below_one_raises(expect: Expect, draw: Draw) -> None:
    below = draw.integer(-60, -1)
    for window, num_queries, num_keys in ((0, 3, 3), (below, 3, 5), (0, 1, 1), (below, 1, 9)):
        expect.raises(
            WINDOW,
            num_queries,
            num_keys,
            window,
            error=ValueError,
            likely="raise a ValueError if window is below 1: a query must see at least its own "
            "position",
        )
    expect.same(WINDOW, 3, 5, 2, likely=f"{LAST}; {SEEN}")


# cached_attention: 8 points

RULES = rules_of(__file__)
PAST_FIRST = (
    "put the keys and values of the past before the new ones; new position t sees the whole past "
    "and the new positions up to itself"
)


HIDDEN = (
    "a position attends to the past and to the positions up to itself; scores can be far below "
    "zero, so a masked score must be so low that softmax gives it no weight"
)


def _new_positions(
    draw: Draw, num_tokens: int, *, heads: int = 3, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Draws queries and keys of size 4 and values of size 5 for new positions of two sequences."""
    shape = (2, heads, num_tokens)
    queries, keys = (draw.normal(*shape, 4, scale=1.5, dtype=dtype) for _ in range(2))
    return queries, keys, draw.normal(*shape, 5, dtype=dtype)


def _past(
    draw: Draw, num_tokens: int, *, heads: int = 3, dtype: torch.dtype = torch.float32
) -> Past:
    return _new_positions(draw, num_tokens, heads=heads, dtype=dtype)[1:]


@pytest.mark.question(CACHED, points=1)
def test_without_a_past(expect: Expect, draw: Draw) -> None:
    likely = (
        "without a past, this is causal attention, with scores divided by the square root of the "
        "query size; the present is the pair of the keys and values that were passed in"
    )
    expect.same(CACHED, *_new_positions(draw, 5), likely=likely)
    # with equal heads, tokens and sizes, a wrong dimension raises no error
    square = [draw.normal(3, 3, 3, 3, scale=1.5) for _ in range(3)]
    expect.same(CACHED, *square, None, likely=likely)
    expect.same(CACHED, *_new_positions(draw, 1, heads=1), likely=likely)


@pytest.mark.question(CACHED, points=1)
def test_one_new_position(expect: Expect, draw: Draw) -> None:
    for size in (4, 1, 30):
        expect.same(CACHED, *_new_positions(draw, 1), _past(draw, size), likely=PAST_FIRST)


@pytest.mark.question(CACHED, points=0.5)
def test_future_stays_hidden_when_the_past_scores_low(expect: Expect, draw: Draw) -> None:
    double = torch.float64
    queries, keys = low_queries_and_keys(draw, (2, 2, 4, 1), (2, 2, 6, 1), double)
    past, new = keys.split((2, 4), dim=2)
    values, new_values = (draw.normal(2, 2, size, 5, dtype=double) for size in (2, 4))
    expect.same(CACHED, queries, new, new_values, (past, values), likely=HIDDEN)
    apart = rows_far_apart(draw, (1, 2, 4, 1), (1, 2, 4, 1))
    expect.same(CACHED, *apart, draw.normal(1, 2, 4, 3), likely=FAR_APART)


@pytest.mark.question(CACHED, points=1.5)
def test_several_new_positions(expect: Expect, draw: Draw) -> None:
    for new, old in ((3, 4), (3, 3), (5, 2), (2, 1), (3, 4)):
        expect.same(CACHED, *_new_positions(draw, new), _past(draw, old), likely=PAST_FIRST)


@pytest.mark.question(CACHED, points=1)
def test_prefill_and_steps_of_two_sequences_in_turns(expect: Expect, draw: Draw) -> None:
    steps = [
        Step(_new_positions(draw, 4)),
        Step(_new_positions(draw, 1)),  # a first position has no past
        Step(_new_positions(draw, 1), after=0),
        Step(_new_positions(draw, 1), after=1),
        Step(_new_positions(draw, 3), after=2),
        Step(_new_positions(draw, 1), after=2),  # continues the same past with different tokens
        Step(_new_positions(draw, 1), after=3),
    ]
    for no_grad in (False, True):  # with gradients as in training, and without as in generation
        expect.steps(
            CACHED,
            *steps,
            likely="all state is in the `past` that is passed in: keep nothing between calls, do "
            "not change a past, and return a present with the whole past and the new positions",
            no_grad=no_grad,
        )


@pytest.mark.question(CACHED, points=1)
def test_double_precision_and_how_it_is_built(expect: Expect, draw: Draw) -> None:
    double = torch.float64

    def large(num_tokens: int) -> torch.Tensor:
        """Draws many large values: some sums are near zero, which reveals any use of float32."""
        return draw.normal(2, 3, num_tokens, 64, scale=1e3, dtype=double)

    check_rule(expect, CACHED_TRAITS, RULES[CACHED])
    for new, old in ((3, 4), (1, 5), (4, 0)):
        past = (_past(draw, old, dtype=double)[0], large(old)) if old else None
        expect.same(
            CACHED,
            *_new_positions(draw, new, dtype=double)[:2],
            large(new),
            past,
            likely="compute everything in float64 if the inputs are float64, from the scores to "
            "the context",
        )


# CachedAttention: 10 points

GO_ON = (
    "rotate new queries and keys at the positions after the past (P, P + 1, ...); the keys of the "
    "past have already been rotated, and values are not rotated"
)


def _layer(expect: Expect, d_model: int = 12, num_heads: int = 3) -> ExpectLayer:
    # scores have the same spread for each width, so a right answer may take exponentials directly
    return expect.layer(LAYER, d_model, num_heads, scale=1.8 / d_model**0.5)


def _layer_past(
    draw: Draw, num_tokens: int, dtype: torch.dtype = torch.float32, head_dim: int = 4
) -> Past:
    """Draws a past of two sequences for a layer of three heads."""
    keys, values = (draw.normal(2, 3, num_tokens, head_dim, dtype=dtype) for _ in range(2))
    return keys, values


@pytest.mark.question(LAYER, points=0.5)
def test_four_linear_layers_hold_all_weights(expect: Expect) -> None:
    _layer(expect).exact_weights(
        likely="W_query, W_key, W_value and out_proj all map d_model to d_model and have a bias; "
        "angles and masks are not parameters"
    )


@pytest.mark.question(LAYER, points=0.5)
def test_layer_hides_the_future_when_the_past_scores_low(expect: Expect, draw: Draw) -> None:
    layer = _layer(expect, 24, 6)  # the square root of 4 is exact in any dtype
    layer.fill(low_scoring(draw, 4))
    layer.move(dtype=torch.float64)
    layer.same(
        low_tokens(draw, 2, 4, 24),
        likely="rotate queries and keys at the positions 0, 1, ..., each head by itself, but not "
        f"the values; {HIDDEN}",
    )


@pytest.mark.question(LAYER, points=1.5)
def test_a_prefill(expect: Expect, draw: Draw) -> None:
    likely = (
        "check these steps in order: project, split into heads, rotate queries and keys at the "
        "positions 0, 1, ..., causal attention with scores divided by the square root of the head "
        "size, merge, out_proj; the present is the pair of the rotated keys and the values, split "
        "into heads"
    )
    _layer(expect).same(draw.normal(2, 6, 12), likely=likely)
    _layer(expect, 8, 1).same(draw.normal(1, 5, 8), None, likely=likely)
    _layer(expect, 16, 4).same(draw.normal(4, 4, 16), likely=likely)


@pytest.mark.question(LAYER, points=2)
def test_one_token_after_a_past(expect: Expect, draw: Draw) -> None:
    layer = _layer(expect)
    for size in (5, 1, 24):
        layer.same(draw.normal(2, 1, 12), _layer_past(draw, size), likely=GO_ON)


@pytest.mark.question(LAYER, points=1)
def test_several_tokens_after_a_past(expect: Expect, draw: Draw) -> None:
    layer = _layer(expect)
    for new, old in ((3, 5), (4, 4), (6, 2), (3, 5)):
        layer.same(draw.normal(2, new, 12), _layer_past(draw, old), likely=GO_ON)


@pytest.mark.question(LAYER, points=1)
def test_two_sequences_are_decoded_in_turns(expect: Expect, draw: Draw) -> None:
    layer = _layer(expect).eval()
    steps = [
        Step((draw.normal(2, 4, 12),)),
        Step((draw.normal(2, 1, 12),)),  # a first token has no past
        Step((draw.normal(2, 1, 12),), after=0),
        Step((draw.normal(2, 1, 12),), after=1),
        Step((draw.normal(2, 2, 12),), after=2),
        Step((draw.normal(2, 1, 12),), after=2),  # continues the same past with different tokens
    ]
    layer.steps(
        *steps,
        likely="all state is in the `past` that is passed in: keep nothing from a call in the "
        "module, because a past may be used twice",
    )


@pytest.mark.question(LAYER, points=1)
def test_double_precision_far_along(expect: Expect, draw: Draw) -> None:
    layer = _layer(expect, 30, 3)
    # float32 tensors that this call creates must not be used again in float64
    layer.result(draw.normal(2, 2, 30), _layer_past(draw, 490, head_dim=10))
    layer.move(dtype=torch.float64)
    for new, old in ((2, 490), (1, 511), (draw.integer(65, 80), 0)):
        past = _layer_past(draw, old, torch.float64, 10) if old else None
        layer.same(
            draw.normal(2, new, 30, dtype=torch.float64),
            past,
            likely="compute positions and angles in the dtype of the input: in float32, angles "
            "lose more digits the farther along the position is",
        )
        layer.eval()


@pytest.mark.question(LAYER, points=0.5)
def test_another_device(expect: Expect, draw: Draw) -> None:
    layer, x = _layer(expect), draw.normal(2, 4, 12)
    layer.result(x)
    layer.moves(x, likely="create positions, angles and masks on the device of the input")


# general properties, tested from declarations

DECODING_TRAITS = Traits(
    DECODING,
    [Size("T"), Size("P+T")],
    loops="T*T+T*P",
    smallest={"P": 0},
    without={
        "any memory layout": "takes numbers",
        "gradients": "a mask has none",
        "float64": "a mask has none",
        "errors": "none is promised",
        "chance": "nothing is random",
    },
)


@pytest.mark.question(DECODING, shared=1)
@pytest.mark.parametrize("trait", DECODING_TRAITS.tested)
def test_decoding_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, DECODING_TRAITS, trait)


WINDOW_TRAITS = Traits(
    WINDOW,
    [Size("T"), Size("P+T"), Size("w")],
    loops="T*T+T*P",
    smallest={"P": 0},
    own={"errors": "test_a_window_below_one_raises"},
    without={
        "any memory layout": "takes numbers",
        "gradients": "a mask has none",
        "float64": "a mask has none",
        "chance": "nothing is random",
    },
)


@pytest.mark.question(WINDOW, shared=1)
@pytest.mark.parametrize("trait", WINDOW_TRAITS.tested)
def test_window_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, WINDOW_TRAITS, trait)


CACHED_TRAITS = Traits(
    CACHED,
    [
        Tensor("B H T d"),
        Tensor("B H T d"),
        Tensor("B H T d_v"),
        OptionalInput(InputPair(Tensor("B H P d"), Tensor("B H P d_v"))),
    ],
    loops="B*H*T*P*d+B*H*T*T*d_v+B*H*T*P*d_v",
    sizes={"T": 3, "P": 5},
    factors=(1, 1, 32),
    root=ScaledScores("d"),
    own={"float64": "test_double_precision_and_how_it_is_built"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(CACHED, shared=2)
@pytest.mark.parametrize("trait", CACHED_TRAITS.tested)
def test_cached_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, CACHED_TRAITS, trait)


LAYER_TRAITS = Traits(
    LAYER,
    [Tensor("B T H*2*p"), OptionalInput(InputPair(Tensor("B H P 2*p"), Tensor("B H P 2*p")))],
    build=[Size("H*2*p"), Size("H")],
    loops="B*H*T*P+B*H*T*T",
    sizes={"p": 2, "P": 6},
    # float32 loses digits of angles at later positions
    largest={"T": 24, "P": 24, "p": 16},
    own={"float64": "test_double_precision_far_along"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(LAYER, shared=2)
@pytest.mark.parametrize("trait", LAYER_TRAITS.tested)
def test_layer_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, LAYER_TRAITS, trait)
