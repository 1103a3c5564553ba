"""Public checks of `cross_attention`."""

import math

import pytest
import torch

from autograder.suite import Draw, Expect, ExpectLayer, Tolerance, rules_of
from autograder.suite.traits import CustomInput, Size, Sizes, Tensor, Traits, check_by_itself

# for numbers that are given with four decimals
PRINTED = Tolerance(atol=6e-5, rtol=0.0)

RULES = rules_of(__file__)


@pytest.mark.question("padding_mask", points=0)
def test_three_sentences_of_different_lengths(expect: Expect) -> None:
    expect.value(
        "padding_mask",
        (torch.tensor([2, 4, 1]), 4),
        torch.tensor(
            [
                [False, False, True, True],
                [False, False, False, False],
                [False, True, True, True],
            ]
        ),
        likely="one row for each sentence; True is padding, so a sentence of length 2 has False "
        "at positions 0 and 1",
    )


@pytest.mark.question("padding_mask", points=0)
def test_every_sentence_is_padded(expect: Expect) -> None:
    got = expect.result("padding_mask", torch.tensor([3, 1]), 5, likely="num_keys columns")
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (2, 5),
        got=str(shape),
        expected="(2, 5): two sentences, five keys",
        likely="the number of columns is num_keys, not the longest length",
    )


@pytest.mark.question("masked_attention", points=0)
def test_equal_keys_and_two_lengths(expect: Expect) -> None:
    values = torch.tensor([[[1.0, 50], [2, 10], [6, 60], [7, 20]]]).expand(2, 4, 2)
    expect.value(
        "masked_attention",
        (
            torch.tensor([[[0.3, -1.0]], [[2.0, 0.5]]]),
            torch.ones(2, 4, 2),
            values,
            torch.tensor([[[False, False, True, True]], [[False, False, False, True]]]),
        ),
        torch.tensor([[[1.5, 30.0]], [[3.0, 40.0]]]),
        likely="equal keys get equal weights: the result is the mean of the values that are "
        "allowed, 2 of them in the first sample and 3 in the second",
        tolerance=PRINTED,
    )


@pytest.mark.question("masked_attention", points=0)
def test_worked_example(expect: Expect) -> None:
    expect.value(
        "masked_attention",
        (
            torch.tensor([[2.0, 0, 0, 0], [0.0, 2, 0, 0]]),
            torch.tensor([[0.0, 5, 0, 0], [math.log(3), 5, 0, 0], [9.0, 5, 0, 0]]),
            torch.tensor([[4.0, 0], [8.0, 4], [100.0, 100]]),
            torch.tensor([[False, False, True], [True, True, False]]),
        ),
        torch.tensor([[7.0, 3.0], [100.0, 100.0]]),
        likely="query 0 may see keys 0 and 1, with scores 0 and 2 ln 3, divided by the square "
        "root of 4; query 1 may see only key 2",
        tolerance=PRINTED,
    )


@pytest.mark.question("masked_attention", points=0)
def test_each_row_of_weights_sums_to_one(expect: Expect, draw: Draw) -> None:
    mask = torch.tensor([[True, False, False], [False, True, True]])
    arguments = (draw.normal(2, 4), draw.normal(3, 4), torch.ones(3, 1), mask)
    expect.value(
        "masked_attention",
        arguments,
        torch.ones(2, 1),
        likely="all values are 1, so every mean of them is 1: mask before softmax, not after",
    )


def _plain(expect: Expect, d_model: int, num_heads: int) -> ExpectLayer:
    """Builds cross-attention whose linear layers return their input."""
    layer = expect.layer("CrossAttention", d_model, d_model, num_heads)
    names = ("W_query", "W_key", "W_value", "out_proj")
    weights = {f"{name}.weight": torch.eye(d_model) for name in names}
    layer.load(weights | {f"{name}.bias": torch.zeros(d_model) for name in names})
    return layer


@pytest.mark.question("CrossAttention", points=0)
def test_who_looks_at_whom(expect: Expect) -> None:
    x = torch.tensor([[[6.0, 0], [0.0, 6]]])
    context = torch.tensor([[[4.0, 0], [0.0, 4], [0.0, 0]]])
    near = torch.softmax(torch.tensor([24.0, 0, 0]) / math.sqrt(2), dim=0)
    weights = torch.stack([near, near[[1, 0, 2]]])
    _plain(expect, 2, 1).value(
        (x, context),
        (weights @ context[0])[None],
        likely="word 0 of x looks at word 0 of the context, and word 1 at word 1: the result "
        "consists of words of the context",
    )


@pytest.mark.question("CrossAttention", points=0)
def test_padding_of_two_sentences(expect: Expect) -> None:
    context = torch.tensor([[[1.0, 2], [3, 4], [50, 50]], [[70.0, 70], [5, 6], [60, 60]]])
    layer = _plain(expect, 2, 2)
    zeros = torch.zeros(2, 1, 2)  # all scores are 0, so the result is the mean without the padding
    layer.value(
        (zeros, context, torch.tensor([[False, False, True], [True, False, True]])),
        torch.tensor([[[2.0, 3.0]], [[5.0, 6.0]]]),
        likely="True is padding; a mask (B, S) needs two more dimensions before it fits scores "
        "of the shape (B, H, T, S)",
        tolerance=PRINTED,
    )


@pytest.mark.question("CrossAttention", points=0)
def test_heads_that_do_not_divide(expect: Expect) -> None:
    expect.construction_raises(
        "CrossAttention", 6, 3, 4, error=ValueError, likely="6 columns can't be shared by 4 heads"
    )


def _last_two_forbidden(draw: Draw, sizes: Sizes) -> torch.Tensor:
    return torch.arange(sizes.of("S")) >= sizes.of("S") - 2


@pytest.mark.question("masked_attention", points=0)
def test_masked_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "masked_attention",
            [
                Tensor("... T d"),
                Tensor("... S d"),
                Tensor("... S d_v"),
                CustomInput(_last_two_forbidden, ["S"]),
            ],
        ),
    )


@pytest.mark.question("CrossAttention", points=0)
def test_cross_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "CrossAttention",
            [Tensor("B T H*d"), Tensor("B S c")],
            build=[Size("H*d"), Size("c"), Size("H")],
        ),
    )


@pytest.mark.question("padding_mask", points=0)
def test_a_batch_of_one_sentence(expect: Expect) -> None:
    expect.value(
        "padding_mask",
        (torch.tensor([1]), 3),
        torch.tensor([[False, True, True]]),
        likely="a single sentence is also a batch: keep its dimension",
    )


@pytest.mark.question("CrossAttention", points=0)
def test_two_heads_look_at_different_words(expect: Expect) -> None:
    layer = expect.layer("CrossAttention", 8, 2, 2)
    # the two context words have the keys 0 and ln 3 in head 0, 0 and -ln 3 in head 1
    keys, values = torch.zeros(8, 2), torch.zeros(8, 2)
    keys[0, 1], keys[4, 1] = math.log(3), -math.log(3)
    values[:, 0] = torch.tensor([4.0, 0, 0, 0, 8, 0, 0, 12])
    values[:, 1] = torch.tensor([8.0, 4, 0, 0, 4, 0, 0, 0])
    layer.load(
        {
            "W_query.weight": torch.eye(8),
            "W_key.weight": keys,
            "W_value.weight": values,
            "out_proj.weight": torch.eye(8).flip(0),
            "out_proj.bias": torch.arange(8.0) * 100,
            **{f"{name}.bias": torch.zeros(8) for name in ("W_query", "W_key", "W_value")},
        }
    )
    x, context = torch.zeros(1, 2, 8), torch.eye(2)[None]
    x[0, 0, 0] = x[0, 0, 4] = 2.0  # the second word's queries are 0
    right = torch.tensor(
        [[[9.0, 100, 200, 307, 400, 500, 603, 707], [6.0, 100, 200, 306, 400, 500, 602, 706]]]
    )
    likely = (
        "head 0 has columns 0 to 3, so its size is 4: the scores of the first word are 0 and 2 ln "
        "3, divided by 2; in head 1, they are 0 and -ln 3 after the division; out_proj reverses "
        "the columns and adds 0, 100 and so on"
    )
    layer.value((x, context), right, likely=likely)
    layer.result(x, context, torch.tensor([[False, True]]), likely=likely)
    kept = "use only the padding of this call, not that of an earlier one"
    layer.value((x, context), right, likely=kept)


@pytest.mark.question("masked_attention", points=0)
def test_masked_attention_uses_allowed_calls(expect: Expect, draw: Draw) -> None:
    tensors = [draw.normal(2, 3, 4) for _ in range(3)]
    mask = torch.ones(3, 3).triu(1).bool()
    expect.allowed("masked_attention", *tensors, mask, rule=RULES["masked_attention"])
