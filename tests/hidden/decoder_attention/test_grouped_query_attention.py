"""Hidden suite of `grouped_query_attention`: 16 of the assignment's 100 points."""

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
from autograder.suite.traits import CustomInput, Size, Tensor, Traits, check_rule, check_trait

RULES = rules_of(__file__)

# grouped_query_attention: 7 points

GROUPED = "grouped_query_attention"


def _heads(
    draw: Draw,
    batch: int,
    query_heads: int,
    kv_heads: int,
    sizes: tuple[int, int, int, int],
    dtype: torch.dtype = torch.float32,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Draws queries, keys and values; `sizes` are T, S, d and d_v."""
    num_queries, num_keys, size, value_size = sizes
    return (
        draw.normal(batch, query_heads, num_queries, size, dtype=dtype),
        draw.normal(batch, kv_heads, num_keys, size, dtype=dtype),
        draw.normal(batch, kv_heads, num_keys, value_size, dtype=dtype),
    )


@pytest.mark.question(GROUPED, points=1)
def test_two_groups(expect: Expect, draw: Draw) -> None:
    expect.same(
        GROUPED,
        *_heads(draw, 1, 4, 2, (5, 7, 3, 6)),
        likely="neighboring query heads share keys and values: heads 0 and 1 use keys and values "
        "0, heads 2 and 3 use keys and values 1; scores are divided by the square root of d, and "
        "softmax runs over all keys: none is masked",
    )


@pytest.mark.question(GROUPED, points=1)
def test_more_groups_in_a_batch(expect: Expect, draw: Draw) -> None:
    likely = (
        "query head h uses head h // (H / G) of the keys and values, in its own sample of the batch"
    )
    expect.same(GROUPED, *_heads(draw, 3, 6, 3, (4, 5, 3, 2)), likely=likely)
    expect.same(GROUPED, *_heads(draw, 2, 6, 2, (4, 5, 3, 2)), likely=likely)
    expect.same(GROUPED, *_heads(draw, 2, 16, 8, (3, 20, 5, 3)), likely=likely)


@pytest.mark.question(GROUPED, points=0.5)
def test_one_group_and_a_group_for_every_head(expect: Expect, draw: Draw) -> None:
    likely = (
        "if G is 1, all query heads share one head of keys and values; if G equals H, each has its "
        "own"
    )
    expect.same(GROUPED, *_heads(draw, 2, 4, 1, (5, 6, 3, 2)), likely=likely)
    expect.same(GROUPED, *_heads(draw, 2, 4, 4, (5, 6, 3, 2)), likely=likely)


@pytest.mark.question(GROUPED, points=0.5)
def test_grouped_with_equal_sizes_and_sizes_of_one(expect: Expect, draw: Draw) -> None:
    likely = (
        "if sizes are equal, swapped dimensions raise no error: their order is batch, head, "
        "token, column; a dimension of size 1 must stay"
    )
    for _ in range(2):
        expect.same(GROUPED, *_heads(draw, 4, 4, 2, (4, 4, 4, 4)), likely=likely)
    far = rows_far_apart(draw, (2, 2, 2, 1), (2, 2, 2, 1))
    expect.same(GROUPED, *far, draw.normal(2, 2, 2, 2), likely=likely)
    expect.same(GROUPED, *_heads(draw, 1, 1, 1, (1, 1, 1, 1)), likely=likely)
    expect.same(GROUPED, *_heads(draw, 2, 4, 2, (1, 128, 5, 1)), likely=likely)


@pytest.mark.question(GROUPED, points=1)
def test_groups_that_do_not_divide(expect: Expect, draw: Draw) -> None:
    sizes = ((3, 3, 4, 4), (1, 1, 4, 4), (3, 1, 4, 2), (1, 5, 1, 1), (2, 3, 4, 4))
    for (query_heads, kv_heads), lengths in zip(undivided(draw), sizes, strict=True):
        expect.raises(
            GROUPED,
            *_heads(draw, 2, query_heads, kv_heads, lengths),
            error=ValueError,
            likely="before you repeat anything, check that G divides H; if not, `raise "
            "ValueError(...)`",
        )


@pytest.mark.question(GROUPED, points=0.5)
def test_grouped_layouts_and_written_out(expect: Expect, draw: Draw) -> None:
    arguments = (
        draw.normal(2, 5, 6, 4).transpose(1, 2),
        draw.strided(2, 3, 7, 4),
        draw.normal(2, 1, 7, 9)[..., 2:7].expand(2, 3, 7, 5),
    )
    check_rule(expect, GROUPED_TRAITS, RULES[GROUPED])
    expect.same(
        GROUPED,
        *arguments,
        likely="inputs may be transposed, sliced or expanded: `view` and in-place operations do "
        "not work on all such tensors",
    )


@pytest.mark.question(GROUPED, points=0.5)
def test_grouped_in_float64_and_its_gradient(expect: Expect, draw: Draw) -> None:
    queries, keys, values = _heads(draw, 2, 6, 3, (4, 5, 3, 2), torch.float64)
    # with many large values, some sums are near zero, which reveals any use of float32
    large = draw.normal(2, 3, 5, 64, scale=1e3, dtype=torch.float64)
    likely = (
        "compute everything in the dtype of the inputs; the gradient of keys and values is the "
        "sum over the query heads that share them"
    )
    far = low_queries_and_keys(draw, (2, 6, 4, 1), (2, 3, 5, 1), torch.float64)
    expect.same(GROUPED, *far, large, likely=likely)
    expect.gradients(GROUPED, queries, keys, values, likely=likely)


GROUPED_TRAITS = Traits(
    GROUPED,
    [Tensor("B G*R T d"), Tensor("B G S d"), Tensor("B G S d_v")],
    loops="B*G*R*T*S*d+B*G*R*T*S*d_v",
    sizes={"G": 2, "R": 3, "T": 3, "S": 5},
    largest={"G": 16, "R": 16},
    factors=(32, 1 / 8, 32),
    root=ScaledScores("d"),
    own={
        "float64": "test_grouped_in_float64_and_its_gradient",
        "errors": "test_groups_that_do_not_divide",
    },
    without={"chance": "nothing is random"},
)


@pytest.mark.question(GROUPED, shared=2)
@pytest.mark.parametrize("trait", GROUPED_TRAITS.tested)
def test_grouped_attention_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, GROUPED_TRAITS, trait)


# GroupedQueryAttention: 9 points

LAYER = "GroupedQueryAttention"


def _layer(
    expect: Expect, d_model: int, heads: int, kv_heads: int, *more: bool, scale: float = 0.4
) -> ExpectLayer:
    return expect.layer(LAYER, d_model, heads, kv_heads, *more, scale=scale)


@pytest.mark.question(LAYER, points=1)
def test_narrow_layers_for_keys_and_values(expect: Expect) -> None:
    likely = (
        "W_key and W_value have num_kv_heads * head size outputs, and the head size is d_model / "
        "num_heads; qkv_bias decides whether W_query, W_key and W_value have biases; out_proj "
        "always has one"
    )
    _layer(expect, 12, 4, 2).exact_weights(likely=likely)
    _layer(expect, 12, 6, 1, True).exact_weights(likely=likely)


@pytest.mark.question(LAYER, points=1)
def test_layer_with_groups(expect: Expect, draw: Draw) -> None:
    likely = (
        "query heads are blocks of columns, and neighboring heads share a head of keys and "
        "values; divide scores by the square root of the head size, mask the future, and merge "
        "the heads in the order in which you split them"
    )
    _layer(expect, 12, 4, 2).same(draw.normal(2, 5, 12), likely=likely)
    _layer(expect, 18, 6, 3, True, scale=0.3).same(draw.normal(3, 4, 18), likely=likely)
    _layer(expect, 32, 16, 8, scale=0.3).same(draw.normal(2, 7, 32), likely=likely)


@pytest.mark.question(LAYER, points=1)
def test_layer_with_one_group_and_with_one_for_every_head(expect: Expect, draw: Draw) -> None:
    likely = (
        "if num_kv_heads is 1, all query heads share one head of keys and values; if it equals "
        "num_heads, each has its own"
    )
    _layer(expect, 12, 4, 1).same(draw.normal(2, 5, 12), likely=likely)
    _layer(expect, 12, 4, 4, True).same(draw.normal(2, 5, 12), likely=likely)


@pytest.mark.question(LAYER, points=1)
def test_layer_when_all_sizes_are_equal(expect: Expect, draw: Draw) -> None:
    likely = (
        "every order of the dimensions has the right shape here: check which two you swap when "
        "you split and merge heads; the input is not contiguous"
    )
    _layer(expect, 16, 4, 2, scale=0.3).same(draw.strided(4, 4, 16), likely=likely)
    _layer(expect, 4, 2, 2, False).same(draw.strided(2, 2, 4), likely=likely)


@pytest.mark.question(LAYER, points=1)
def test_layer_with_heads_that_do_not_divide(expect: Expect, draw: Draw) -> None:
    of_columns = [(d_model, heads, heads) for d_model, heads in undivided(draw)]
    of_heads = [(2 * heads, heads, kv_heads) for heads, kv_heads in undivided(draw)]
    for d_model, heads, kv_heads in (*of_columns, (10, 4, 2), (10, 4, 1), *of_heads):
        expect.construction_raises(
            LAYER,
            d_model,
            heads,
            kv_heads,
            error=ValueError,
            likely="check in `__init__` that num_heads divides d_model and that num_kv_heads "
            "divides num_heads; if not, raise a ValueError",
        )


@pytest.mark.question(LAYER, points=1)
def test_layer_hides_the_future_when_the_past_scores_low(expect: Expect, draw: Draw) -> None:
    layer = _layer(expect, 6, 6, 1)
    layer.fill(far_scoring(draw))
    layer.same(far_tokens(draw, 2, 4, 6), likely=FAR_APART)
    layer.fill(low_scoring(draw, 1))
    layer.move(dtype=torch.float64)
    layer.same(
        low_tokens(draw, 2, 5, 6),
        likely="a token attends to the tokens up to itself; scores can be far below zero, so a "
        "masked score must be so low that softmax gives it no weight",
    )


@pytest.mark.question(LAYER, points=1)
def test_layer_moved(expect: Expect, draw: Draw) -> None:
    likely = "a tensor created in `forward` needs the dtype and device of the input"
    # heads have size 4, whose square root is exact
    layer = _layer(expect, 16, 4, 2, True).move(dtype=torch.float64)
    layer.fill(lambda name, shape: loud(draw, name, shape))
    x = draw.normal(4, 12, 16, dtype=torch.float64)
    layer.same(x, likely=likely)
    layer.moves(x, likely=likely)


LAYER_TRAITS = Traits(
    LAYER,
    [Tensor("B T G*R*d")],
    build=[Size("G*R*d"), Size("G*R"), Size("G"), CustomInput(lambda draw, sizes: True)],
    sizes={"G": 2, "R": 3},
    largest={"G": 16, "R": 16, "d": 29},
    root=ScaledScores("d", largest=256),  # larger weights would take many megabytes
    own={"float64": "test_layer_moved", "errors": "test_layer_with_heads_that_do_not_divide"},
    without={"chance": "nothing is random"},
)


@pytest.mark.question(LAYER, shared=2)
@pytest.mark.parametrize("trait", LAYER_TRAITS.tested)
def test_layer_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, LAYER_TRAITS, trait)
