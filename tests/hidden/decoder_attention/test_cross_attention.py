"""Hidden suite of `cross_attention`: 20 of the assignment's 100 points."""

import pytest
import torch

from autograder.attention.suites.divisors import undivided
from autograder.attention.suites.low_scores import (
    FAR_APART,
    ScaledScores,
    far_scoring,
    far_tokens,
    loud,
    low_queries_and_keys,
    low_scoring,
    low_tokens,
    rows_far_apart,
)
from autograder.suite import Draw, Expect, ExpectLayer, rules_of
from autograder.suite.traits import (
    CustomInput,
    OptionalInput,
    Size,
    Sizes,
    Tensor,
    Traits,
    check_rule,
    check_trait,
)

RULES = rules_of(__file__)
#: with at least this many samples, each sample gets its own mask
MANY = 17


def _some_forbidden(draw: Draw, *shape: int) -> torch.Tensor:
    """Draws a mask that forbids about half of the keys, but never all keys of a query."""
    mask = draw.uniform(*shape) < 0.5
    kept = draw.integers(*shape[:-1], 1, low=0, high=shape[-1])
    return mask.scatter(-1, kept, False)


# padding_mask: 4 points


@pytest.mark.question("padding_mask", points=1)
def test_mask_of_several_lengths(expect: Expect) -> None:
    likely = (
        "the mask is True at position s of sample b if s >= lengths[b]: True marks the padding, "
        "not the words"
    )
    expect.same("padding_mask", torch.tensor([3, 1, 5, 4]), 5, likely=likely)
    expect.same("padding_mask", torch.tensor([1, 2, 6]), 6, likely=likely)


@pytest.mark.question("padding_mask", points=1)
def test_mask_wider_than_the_longest_sample(expect: Expect, draw: Draw) -> None:
    likely = "the mask has num_keys columns, however long the longest sample is"
    expect.same("padding_mask", torch.tensor([2, 4, 1]), 7, likely=likely)
    expect.same("padding_mask", draw.integers(5, low=1, high=60), 128, likely=likely)


@pytest.mark.question("padding_mask", points=0.5)
def test_mask_of_one_sample_one_key_and_no_padding(expect: Expect) -> None:
    likely = "the result has shape (B, S), even if B or S is 1 or nothing is padded"
    expect.same("padding_mask", torch.tensor([2]), 5, likely=likely)
    expect.same("padding_mask", torch.tensor([1, 1, 1]), 1, likely=likely)
    expect.same("padding_mask", torch.tensor([1]), 1, likely=likely)
    expect.same("padding_mask", torch.tensor([128, 128]), 128, likely=likely)


@pytest.mark.question("padding_mask", points=0.5)
def test_mask_of_lengths_in_any_layout_and_of_equal_sizes(expect: Expect, draw: Draw) -> None:
    likely = (
        "rows are samples, and columns are keys; every call uses its own lengths and does not "
        "change them"
    )
    for _ in range(2):  # with as many samples as keys, swapped dimensions raise no error
        expect.same("padding_mask", draw.integers(6, low=1, high=7), 6, likely=likely)
    expect.same("padding_mask", draw.integers(4, 3, low=1, high=9)[:, 1], 8, likely=likely)
    expect.same("padding_mask", torch.tensor([3]).expand(4), 5, likely=likely)
    expect.same("padding_mask", torch.tensor([5, 1, 2, 4])[1:], 5, likely=likely)


def _lengths(draw: Draw, sizes: Sizes) -> torch.Tensor:
    return draw.integers(*sizes.shape("B"), low=1, high=sizes.of("S") + 1)


PADDING = Traits(
    "padding_mask",
    [CustomInput(_lengths, ["B", "S"]), Size("S")],
    own={"any memory layout": "test_mask_of_lengths_in_any_layout_and_of_equal_sizes"},
    without={
        "gradients": "lengths are whole numbers",
        "float64": "lengths are whole numbers",
        "errors": "none is promised",
        "chance": "nothing is random",
    },
)


@pytest.mark.question("padding_mask", shared=1)
@pytest.mark.parametrize("trait", PADDING.tested)
def test_padding_mask_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, PADDING, trait)


# masked_attention: 7 points

ATTENTION = "masked_attention"


@pytest.mark.question(ATTENTION, points=1)
def test_one_sequence_with_a_row_of_its_own_for_every_query(expect: Expect, draw: Draw) -> None:
    arguments = draw.normal(4, 3), draw.normal(7, 3), draw.normal(7, 5)
    expect.same(
        ATTENTION,
        *arguments,
        _some_forbidden(draw, 4, 7),
        likely="check these steps in order: scores, division by the square root of d, forbidden "
        "scores set to minus infinity, softmax over the keys, weighted sum of the values",
    )
    one_for_all = "a mask (S,) applies to all queries: it broadcasts to the shape of the scores"
    expect.same(ATTENTION, *arguments, _some_forbidden(draw, 1, 7)[0], likely=one_for_all)


@pytest.mark.question(ATTENTION, points=1)
def test_padding_of_every_sample_in_a_batch(expect: Expect, draw: Draw) -> None:
    likely = (
        "a mask such as (B, 1, S) applies to all queries, because it broadcasts to the shape of "
        "the scores"
    )
    padding = torch.arange(6) >= torch.tensor([[2], [6], [1]])
    arguments = (draw.normal(3, 4, 5), draw.normal(3, 6, 5), draw.normal(3, 6, 2))
    expect.same(ATTENTION, *arguments, padding[:, None], likely=likely)
    many = (draw.normal(3, 70, 5), *arguments[1:])
    expect.same(ATTENTION, *many, padding[:, None], likely=likely)
    # a mask for all samples, and a mask that forbids nothing, for queries that are far apart
    expect.same(ATTENTION, *arguments, torch.arange(6) > 3, likely=likely)
    far = rows_far_apart(draw, (3, 4, 1), (3, 6, 1))
    nothing = torch.zeros(4, 1, dtype=torch.bool)
    expect.same(ATTENTION, *far, arguments[2], nothing, likely=likely)


@pytest.mark.question(ATTENTION, points=0.5)
def test_heads_and_more_dimensions(expect: Expect, draw: Draw) -> None:
    likely = (
        "count dimensions from the end: the last two dimensions of the scores are queries and keys"
    )
    # with as many samples as queries and heads, a mask must be matched from the last dimension
    heads = (draw.normal(3, 3, 3, 6), draw.normal(3, 3, 5, 6), draw.normal(3, 3, 5, 3))
    any_three = (
        (3, 5),
        (3, 3, 5),
        (3, 1, 3, 5),
        (3, 1, 1, 5),
        (1, 3, 3, 5),
        (3, 1, 5),
        (1, 3, 1, 5),
    )
    for shape in any_three:
        expect.same(ATTENTION, *heads, _some_forbidden(draw, *shape), likely=likely)
    many = (draw.normal(2, 1, 3, 2, 3), draw.normal(2, 1, 3, 4, 3), draw.normal(2, 1, 3, 4, 1))
    expect.same(ATTENTION, *many, _some_forbidden(draw, 2, 1, 3, 2, 4), likely=likely)


@pytest.mark.question(ATTENTION, points=0.5)
def test_equal_sizes_and_sizes_of_one(expect: Expect, draw: Draw) -> None:
    likely = (
        "if sizes are equal, swapped dimensions raise no error: which are queries, which are keys? "
        "A dimension of size 1 must stay"
    )
    masks = (_some_forbidden(draw, 4, 4, 4), _some_forbidden(draw, 1, 4, 4))
    for mask in (*masks, torch.arange(4) > 1):
        expect.same(ATTENTION, *(draw.normal(4, 4, 4) for _ in range(3)), mask, likely=likely)
    one = [draw.normal(1, 1, 1) for _ in range(3)]
    expect.same(ATTENTION, *one, torch.zeros(1, 1, 1, dtype=torch.bool), likely=likely)
    expect.same(
        ATTENTION,
        draw.normal(2, 1, 5),
        draw.normal(2, 9, 5),
        draw.normal(2, 9, 1),
        _some_forbidden(draw, 2, 1, 9),
        likely=likely,
    )


@pytest.mark.question(ATTENTION, points=1)
def test_nothing_is_left_of_a_forbidden_key(expect: Expect, draw: Draw) -> None:
    queries, keys = low_queries_and_keys(draw, (2, 3, 1), (2, 6, 1), torch.float64)
    keys[:, 3:] *= 0.9  # forbidden keys have the highest scores
    mask = (torch.arange(6) > 2).expand(3, 6)
    likely = (
        "a forbidden score must be so low that softmax gives it no weight, even if all other "
        "scores are far below zero"
    )
    values = draw.normal(2, 6, 3, dtype=torch.float64)
    expect.same(ATTENTION, queries, keys, values, mask, likely=likely)
    values[:, 3:] *= 1e4  # values of forbidden keys must not matter
    expect.same(ATTENTION, queries, keys, values, mask, likely=likely)
    # a finite fill value is no longer low enough after the division by the square root of a large d
    long = draw.integer(2049, 4096)
    queries, keys = low_queries_and_keys(draw, (1, long), (2, long), torch.float64)
    hidden = torch.tensor([[False, True]])
    expect.same(ATTENTION, queries, keys, values[0, 2:4], hidden, likely=likely)


@pytest.mark.question(ATTENTION, points=0.5)
def test_layouts_and_written_out(expect: Expect, draw: Draw) -> None:
    arguments = (
        draw.strided(2, 5, 4),
        draw.normal(6, 2, 4).transpose(0, 1),
        draw.normal(2, 6, 7)[..., 1:4],
        _some_forbidden(draw, 2, 6)[:, None].expand(2, 5, 6),
    )
    check_rule(expect, MASKED, RULES[ATTENTION])
    expect.same(
        ATTENTION,
        *arguments,
        likely="inputs may be transposed, sliced or expanded: `view` and in-place operations do "
        "not work on all such tensors",
    )


@pytest.mark.question(ATTENTION, points=0.5)
def test_attention_in_float64_and_its_gradient(expect: Expect, draw: Draw) -> None:
    arguments = (
        draw.normal(2, 4, 4, dtype=torch.float64),  # the square root of 4 is exact in any dtype
        draw.normal(2, 5, 4, dtype=torch.float64),
        draw.normal(2, 5, 2, dtype=torch.float64),
        _some_forbidden(draw, 2, 4, 5),
    )
    likely = (
        "compute everything in the dtype of the inputs; gradients reach queries, keys and values, "
        "and are 0 for a key that is forbidden to all queries"
    )
    # with many large values, some sums are near zero, which reveals any use of float32
    large = draw.normal(2, 5, 64, scale=1e3, dtype=torch.float64)
    expect.same(ATTENTION, *arguments[:2], large, arguments[3], likely=likely)
    expect.gradients(ATTENTION, *arguments, likely=likely)
    everybody = torch.arange(5) > 2
    expect.gradients(ATTENTION, *arguments[:3], everybody, likely=likely)


def _any_mask(draw: Draw, sizes: Sizes) -> torch.Tensor:
    """Draws a mask of the full shape, or one row for all queries, samples or heads, in turn.

    If there are many samples, each has its own mask.
    """
    full = sizes.shape("... T S")
    if len(full) == 2:
        return _some_forbidden(draw, *full)
    one_row, one_sample = (*full[:-2], 1, full[-1]), (1, *full[1:])
    shapes = (full, one_row, one_sample, full[-2:], full[-3:], (*full[-3:-2], 1, full[-1]))
    turn = 0 if full[0] >= MANY else draw.turn() % len(shapes)
    return _some_forbidden(draw, *shapes[turn])


MASKED = Traits(
    ATTENTION,
    [
        Tensor("... T d"),
        Tensor("... S d"),
        Tensor("... S d_v"),
        CustomInput(_any_mask, ["T", "S"]),
    ],
    loops="T*S*d+T*S*d_v",
    factors=(32, 1 / 8, 32),
    root=ScaledScores("d"),
    own={"float64": "test_attention_in_float64_and_its_gradient"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(ATTENTION, shared=2)
@pytest.mark.parametrize("trait", MASKED.tested)
def test_masked_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, MASKED, trait)


# CrossAttention: 9 points


def _cross(
    expect: Expect, d_model: int, d_context: int, num_heads: int, scale: float = 0.4
) -> ExpectLayer:
    return expect.layer("CrossAttention", d_model, d_context, num_heads, scale=scale)


@pytest.mark.question("CrossAttention", points=1)
def test_weights_of_four_layers(expect: Expect, draw: Draw) -> None:
    _cross(expect, 6, 4, 2).exact_weights(
        likely="W_query and out_proj map d_model to d_model, W_key and W_value map d_context to "
        "d_model, and each of the four has a bias"
    )
    for turn, (d_model, num_heads) in enumerate(undivided(draw)):
        expect.construction_raises(
            "CrossAttention",
            d_model,
            (num_heads, 5)[turn % 2],  # num_heads need not divide d_context
            num_heads,
            error=ValueError,
            likely="check in `__init__` that num_heads divides d_model; if not, `raise "
            "ValueError(...)`",
        )


@pytest.mark.question("CrossAttention", points=1)
def test_several_heads_without_padding(expect: Expect, draw: Draw) -> None:
    _cross(expect, 12, 7, 3).same(
        draw.normal(2, 4, 12),
        draw.normal(2, 6, 7),
        likely="a head is a group of neighboring columns of queries, keys and values; its scores "
        "are divided by the square root of the head size; merge the heads in the order in which "
        "you split them",
    )


@pytest.mark.question("CrossAttention", points=1)
def test_padding_in_any_places(expect: Expect, draw: Draw) -> None:
    likely = (
        "True means padding: such a key has weight 0 for every query and head of its own sample, "
        "but not in other samples"
    )
    layer = _cross(expect, 8, 5, 2)
    arguments = (draw.normal(3, 4, 8), draw.normal(3, 6, 5))
    layer.same(*arguments, _some_forbidden(draw, 3, 6), likely=likely)
    layer.same(*arguments, torch.arange(6) >= torch.tensor([[2], [6], [3]]), likely=likely)
    layer.same(*arguments, torch.zeros(3, 6, dtype=torch.bool), likely=likely)
    other = draw.normal(3, 6, 5, scale=2.0)  # the content of padding must not matter
    other[:, :3] = arguments[1][:, :3]
    layer.same(arguments[0], other, (torch.arange(6) > 2).expand(3, 6), likely=likely)


@pytest.mark.question("CrossAttention", points=1)
def test_when_batch_heads_and_tokens_are_equal(expect: Expect, draw: Draw) -> None:
    # with equal sizes, neither swapped dimensions nor swapping x and context raises an error
    likely = (
        "compute queries from x, and keys and values from the context; all sizes are equal here, "
        "so swapped dimensions raise no error"
    )
    layer = _cross(expect, 9, 9, 3, scale=0.3)
    x, context = draw.strided(3, 3, 9), draw.strided(3, 3, 9)
    layer.same(x, context, likely=likely)
    layer.same(x, context, _some_forbidden(draw, 3, 3), likely=likely)
    layer.same(context, x, _some_forbidden(draw, 3, 3), likely=likely)
    layer.move(dtype=torch.float64).gradients(
        *[x.double()] * 2,
        likely="a sequence may look at itself: x and the context may be the same tensor",
    )


@pytest.mark.question("CrossAttention", points=1)
def test_every_call_has_its_own_context_and_mask(expect: Expect, draw: Draw) -> None:
    likely = (
        "each call uses only its own context, mask and sizes: keep nothing from an earlier call"
    )
    layer = _cross(expect, 6, 4, 2)
    for queries, keys, masked in ((3, 5, True), (3, 5, False), (3, 5, True), (1, 8, False)):
        mask = (_some_forbidden(draw, 2, keys),) if masked else ()
        layer.same(draw.normal(2, queries, 6), draw.normal(2, keys, 4), *mask, likely=likely)
    layer.same(draw.normal(2, 3, 6), draw.normal(2, 5, 4), None, likely=likely)


@pytest.mark.question("CrossAttention", points=1)
def test_cross_attention_when_the_real_keys_score_low(expect: Expect, draw: Draw) -> None:
    layer = _cross(expect, 6, 6, 6)
    layer.fill(far_scoring(draw))
    layer.same(far_tokens(draw, 2, 4, 6), far_tokens(draw, 2, 5, 6), likely=FAR_APART)
    layer.fill(low_scoring(draw, 1))
    layer.move(dtype=torch.float64)
    context = low_tokens(draw, 2, 5, 6)
    context[0, 3:] *= 0.9  # padding scores higher than the words
    layer.same(
        low_tokens(draw, 2, 3, 6),
        context,
        torch.arange(5) > torch.tensor([[2], [0]]),
        likely="scores can be far below zero: a score of padding must be so low that softmax "
        "gives it no weight",
    )


@pytest.mark.question("CrossAttention", points=1)
def test_cross_attention_moved(expect: Expect, draw: Draw) -> None:
    likely = (
        "`module.to(...)` moves the weights; a tensor created in `forward` needs the dtype and "
        "device of the input"
    )
    layer = _cross(expect, 8, 4, 2).move(dtype=torch.float64)  # the square root of 4 is exact
    layer.fill(lambda name, shape: loud(draw, name, shape))
    x, context = draw.normal(4, 20, 8, dtype=torch.float64), draw.normal(4, 6, 4).double()
    layer.same(x, context, likely=likely)
    layer.same(x, context, _some_forbidden(draw, 4, 6), likely=likely)
    layer.moves(x, context, likely=likely)


def _any_padding(draw: Draw, sizes: Sizes) -> torch.Tensor:
    return _some_forbidden(draw, *sizes.shape("B S"))


CROSS = Traits(
    "CrossAttention",
    [Tensor("B T H*d"), Tensor("B S c"), OptionalInput(CustomInput(_any_padding, ["B", "S"]))],
    build=[Size("H*d"), Size("c"), Size("H")],
    own={"float64": "test_cross_attention_moved", "errors": "test_weights_of_four_layers"},
    without={"chance": "nothing is random"},
)


@pytest.mark.question("CrossAttention", shared=2)
@pytest.mark.parametrize("trait", CROSS.tested)
def test_cross_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, CROSS, trait)
