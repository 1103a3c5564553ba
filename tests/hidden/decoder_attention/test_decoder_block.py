"""Hidden suite of `decoder_block`: 8 of the assignment's 100 points."""

import pytest
import torch

from autograder.suite import Draw, Expect, ExpectLayer, Step
from autograder.suite.traits import InputPair, OptionalInput, Size, Tensor, Traits, check_trait

BLOCK = "DecoderBlock"
Pair = tuple[torch.Tensor, torch.Tensor]

#: the spread of tokens, so large that eps does not matter, because another test checks eps. In
#: float32 it must not be larger, because an addition may nearly cancel a token.
WIDE = {torch.float32: 3.0, torch.float64: 300.0}

ORDER = (
    "check these steps in order: norm1, attention, add the block's input; then norm2, "
    "feed-forward, add the result of the first half; return the pair of this sum and the present "
    "that the attention returned"
)
GO_ON = (
    "pass `past` to the attention, and return the attention's new pair; keep nothing from a call "
    "in the module"
)


def _weights(draw: Draw, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Draws weights that keep all scores small."""
    if name == "attention.out_proj.weight":
        return draw.normal(*shape, scale=1.0)
    if name in ("attention.W_query.weight", "attention.W_key.weight"):
        return draw.normal(*shape, scale=min(0.4, 1.2 / shape[-1] ** 0.5))
    return draw.normal(*shape, scale=min(0.8, 2.0 / shape[-1] ** 0.5))


def _block(expect: Expect, d_model: int = 8, num_heads: int = 2, hidden: int = 11) -> ExpectLayer:
    layer = expect.layer(BLOCK, d_model, num_heads, hidden)
    layer.fill(lambda name, shape: _weights(expect.draw, name, shape))
    return layer


def _tokens(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return draw.normal(*shape, scale=WIDE[dtype], dtype=dtype)


def _past(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32) -> Pair:
    return draw.normal(*shape, dtype=dtype), draw.normal(*shape, dtype=dtype)


@pytest.mark.question(BLOCK, points=1)
def test_weights_are_those_of_the_four_submodules(expect: Expect) -> None:
    _block(expect).exact_weights(
        likely="the submodules are norm1, attention, norm2 and feed_forward; each norm has its "
        "own weight and bias"
    )


@pytest.mark.question(BLOCK, points=1)
def test_prefill(expect: Expect, draw: Draw) -> None:
    _block(expect, 12, 3, 7).same(_tokens(draw, 1, 5, 12), likely=ORDER)
    _block(expect).same(_tokens(draw, 3, 6, 8), None, likely=ORDER)
    square = _block(expect, 16, 4, 16)  # equal batch, heads, tokens and head size
    square.same(_tokens(draw, 4, 4, 16), likely=ORDER)


@pytest.mark.question(BLOCK, points=1)
def test_tokens_after_a_past(expect: Expect, draw: Draw) -> None:
    layer = _block(expect)
    for new, old in ((1, 5), (1, 1), (3, 4), (3, 4), (4, 2)):
        layer.same(_tokens(draw, 2, new, 8), _past(draw, 2, 2, old, 4), likely=GO_ON)


@pytest.mark.question(BLOCK, points=1)
def test_two_texts_are_written_in_turns(expect: Expect, draw: Draw) -> None:
    _block(expect).eval().steps(
        Step((_tokens(draw, 1, 4, 8),)),
        Step((_tokens(draw, 1, 1, 8),)),  # a first token has no past
        Step((_tokens(draw, 1, 1, 8),), after=0),
        Step((_tokens(draw, 1, 1, 8),), after=1),
        Step((_tokens(draw, 1, 2, 8),), after=2),
        Step((_tokens(draw, 1, 1, 8),), after=2),  # continues the same past with different tokens
        likely=GO_ON,
    )


@pytest.mark.question(BLOCK, points=1)
def test_both_norms_have_the_same_eps(expect: Expect, draw: Draw) -> None:
    layer = _block(expect)
    # the inputs of both norms have a variance near eps, because tokens and attention are small
    layer.fill(lambda name, shape: draw.normal(*shape, scale=3e-3 if "out_proj" in name else 0.4))
    layer.move(dtype=torch.float64).same(
        draw.normal(2, 5, 8, scale=3e-3, dtype=torch.float64),
        likely="both norms add an eps of 1e-5 to the biased variance before taking the square root",
    )


@pytest.mark.question(BLOCK, points=1)
def test_moved_and_far_along(expect: Expect, draw: Draw) -> None:
    likely = (
        "after a module is moved, everything is computed in its new dtype and on its new device"
    )
    double = torch.float64
    layer = _block(expect).move(dtype=double)
    layer.same(_tokens(draw, 1, draw.integer(65, 80), 8, dtype=double), likely=likely)
    for new, old in ((2, 490), (1, draw.integer(100, 140))):
        past = _past(draw, 2, 2, old, 4, dtype=double)
        layer.same(_tokens(draw, 2, new, 8, dtype=double), past, likely=likely)
        layer.eval()
    layer.train().moves(_tokens(draw, 2, 4, 8, dtype=double), likely=likely)


# general properties, tested from declarations


def _tokens_with_large_spread(
    draw: Draw, shape: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    return _tokens(draw, *shape, dtype=dtype)


BLOCK_TRAITS = Traits(
    BLOCK,
    [
        Tensor("B T 2*H*d", values=_tokens_with_large_spread),
        OptionalInput(InputPair(Tensor("B H P 2*d"), Tensor("B H P 2*d"))),
    ],
    build=[Size("2*H*d"), Size("H"), Size("F")],
    weights=_weights,
    dtype=torch.float64,
    loops="B*H*T*P+B*H*T*T",
    sizes={"P": 6},
    largest={"T": 24, "P": 24, "B": 5, "d": 9, "F": 33},
    smallest={"d": 2},  # a norm of two entries gives -1 and 1, whatever the entries are
    own={"float64": "test_moved_and_far_along"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(BLOCK, shared=2)
@pytest.mark.parametrize("trait", BLOCK_TRAITS.tested)
def test_block_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, BLOCK_TRAITS, trait)
