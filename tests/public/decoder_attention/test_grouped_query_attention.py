"""Public checks of `grouped_query_attention`."""

import pytest
import torch

from autograder.suite import Draw, Expect, Tolerance, rules_of
from autograder.suite.traits import CustomInput, Size, Tensor, Traits, check_by_itself

# for numbers that are given with four decimals
PRINTED = Tolerance(atol=6e-5, rtol=0.0)

RULES = rules_of(__file__)


@pytest.mark.question("grouped_query_attention", points=0)
def test_four_query_heads_and_two_heads_of_keys(expect: Expect) -> None:
    # all scores are 0, so every head gets the mean of its values
    values = torch.tensor([[[[1.0, 2], [3, 4]], [[10.0, 20], [30, 40]]]])
    expect.value(
        "grouped_query_attention",
        (torch.zeros(1, 4, 1, 3), torch.ones(1, 2, 2, 3), values),
        torch.tensor([[[[2.0, 3]], [[2.0, 3]], [[20.0, 30]], [[20.0, 30]]]]),
        likely="heads 0 and 1 use values 0, and heads 2 and 3 use values 1: neighbors share",
    )


@pytest.mark.question("grouped_query_attention", points=0)
def test_keys_are_shared_as_values_are(expect: Expect) -> None:
    keys = torch.tensor([[[[2.0, 0, 0, 0], [0, 0, 0, 0]], [[0.0, 0, 0, 0], [2, 0, 0, 0]]]])
    queries = torch.tensor([1.0986, 0, 0, 0]).expand(1, 4, 1, 4)  # 1.0986 is ln 3
    expect.value(
        "grouped_query_attention",
        (queries, keys, torch.tensor([[[[0.0], [4]], [[0.0], [8]]]])),
        torch.tensor([[[[1.0]], [[1.0]], [[6.0]], [[6.0]]]]),
        likely="the scores are ln 3 and 0 after the division by the square root of 4; heads 0 and "
        "1 look at key 0, and heads 2 and 3 at key 1",
        tolerance=PRINTED,
    )


@pytest.mark.question("grouped_query_attention", points=0)
def test_one_head_of_keys_for_all(expect: Expect, draw: Draw) -> None:
    query = draw.normal(1, 1, 2, 5)
    got = expect.result(
        "grouped_query_attention",
        query.expand(1, 3, 2, 5),
        draw.normal(1, 1, 4, 5),
        draw.normal(1, 1, 4, 2),
        likely="if there is one head of keys, every query head uses it",
    )
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (1, 3, 2, 2),
        got=str(shape),
        expected="(1, 3, 2, 2): as many heads as the queries have, columns as the values have",
        likely="the result is (B, H, T, d_v)",
    )
    expect.that(
        torch.allclose(got[:, 0], got[:, 1]) and torch.allclose(got[:, 0], got[:, 2]),
        got="different results for equal queries",
        expected="the same: all heads share the keys and values",
        likely="does every query head use head 0 of the keys and values?",
    )


@pytest.mark.question("grouped_query_attention", points=0)
def test_five_query_heads_cannot_share_two(expect: Expect) -> None:
    expect.raises(
        "grouped_query_attention",
        torch.zeros(1, 5, 2, 3),
        torch.zeros(1, 2, 2, 3),
        torch.zeros(1, 2, 2, 3),
        error=ValueError,
        likely="5 query heads can't be divided into 2 equal groups",
    )


@pytest.mark.question("GroupedQueryAttention", points=0)
def test_means_of_the_past(expect: Expect) -> None:
    layer = expect.layer("GroupedQueryAttention", 4, 4, 2)
    # queries are 0, so all tokens up to a query get equal weights; values are columns 0 and 1
    layer.load(
        {
            "W_query.weight": torch.zeros(4, 4),
            "W_key.weight": torch.ones(2, 4),
            "W_value.weight": torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]]),
            "out_proj.weight": torch.eye(4),
            "out_proj.bias": torch.tensor([0.0, 0, 0, 100]),
        }
    )
    layer.value(
        (torch.tensor([[[2.0, 10, 7, 7], [4, 30, 7, 7], [0, 80, 7, 7]]]),),
        torch.tensor([[[2.0, 2, 10, 110], [3, 3, 20, 120], [2, 2, 40, 140]]]),
        likely="every token gets the mean of the values up to its own: heads 0 and 1 from the "
        "first column, heads 2 and 3 from the second",
        tolerance=PRINTED,
    )


@pytest.mark.question("GroupedQueryAttention", points=0)
def test_two_ways_not_to_divide(expect: Expect) -> None:
    for sizes in ((6, 4, 2), (8, 4, 3)):
        expect.construction_raises(
            "GroupedQueryAttention",
            *sizes,
            error=ValueError,
            likely="num_heads must divide d_model, and num_kv_heads must divide num_heads",
        )


@pytest.mark.question("GroupedQueryAttention", points=0)
def test_any_length(expect: Expect, draw: Draw) -> None:
    layer = expect.layer("GroupedQueryAttention", 8, 4, 2, True)
    for num_tokens in (3, 6, 1):
        got = layer.result(draw.normal(2, num_tokens, 8), likely="any number of tokens")
        shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
        layer.that(
            shape == (2, num_tokens, 8),
            got=str(shape),
            expected=str((2, num_tokens, 8)),
            likely="make the mask for the number of tokens in this call",
        )


@pytest.mark.question("grouped_query_attention", points=0)
def test_grouped_query_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "grouped_query_attention",
            [Tensor("B G*R T d"), Tensor("B G S d"), Tensor("B G S d_v")],
            sizes={"G": 2, "R": 3},
        ),
    )


@pytest.mark.question("GroupedQueryAttention", points=0)
def test_grouped_query_attention_layer_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "GroupedQueryAttention",
            [Tensor("B T G*R*d")],
            build=[Size("G*R*d"), Size("G*R"), Size("G"), CustomInput(lambda draw, sizes: True)],
            sizes={"G": 2, "R": 3},
        ),
    )


@pytest.mark.question("GroupedQueryAttention", points=0)
def test_names_of_the_weights(expect: Expect) -> None:
    layers = ("W_query", "W_key", "W_value", "out_proj")
    weights = {f"{name}.weight" for name in layers} | {"out_proj.bias"}
    biases = {f"{name}.bias" for name in layers}
    for qkv_bias, expected in ((False, weights), (True, weights | biases)):
        layer = expect.layer("GroupedQueryAttention", 4, 2, 1, qkv_bias)
        got = set(layer.answer.weights())
        layer.that(
            got == expected,
            got=f"with qkv_bias={qkv_bias} the trainable weights {sorted(got)}",
            expected=f"{sorted(expected)}",
            likely="four linear layers with these names; out_proj always has a bias, and a mask "
            "must not be trained",
        )


@pytest.mark.question("GroupedQueryAttention", points=0)
def test_two_heads_and_equal_keys(expect: Expect) -> None:
    # before the division by 2, the second token's scores are 0 and 2 ln 3 in head 0, and 0 and
    # -2 ln 3 in head 1
    length = 1.4823038
    x = torch.tensor([[[0.0, 0, 0, 4, 0, 0, 0, 0], [length, 0, 0, 0, -length, 0, 0, 0]]])
    right = torch.tensor([[[0.0, 0, 0, 4, 0, 0, 0, 4], [1.1117279, 0, 0, 1, 0.3705760, 0, 0, 3]]])
    for num_kv_heads in (1, 2):
        layer = expect.layer("GroupedQueryAttention", 8, 2, num_kv_heads)
        # every head uses the first four columns as keys and values
        copied = torch.eye(8)[:4].repeat(num_kv_heads, 1)
        plain = {f"{name}.weight": torch.eye(8) for name in ("W_query", "out_proj")}
        shared = {f"{name}.weight": copied for name in ("W_key", "W_value")}
        layer.load({**plain, **shared, "out_proj.bias": torch.zeros(8)})
        layer.value(
            (x,),
            right,
            likely="the size of a head is 4, so its scores are divided by 2; the queries of head "
            "0 are columns 0 to 3, those of head 1 are columns 4 to 7",
        )


@pytest.mark.question("grouped_query_attention", points=0)
def test_each_head_asks_for_itself(expect: Expect) -> None:
    log_3 = 1.0986123
    queries = torch.tensor([[[[2.0, 0, 0, 0]], [[-2.0, 0, 0, 0]]]])
    keys = torch.tensor([[[[0.0, 0, 0, 0], [log_3, 0, 0, 0]]]])
    expect.value(
        "grouped_query_attention",
        (queries, keys, torch.tensor([[[[0.0], [8.0]]]])),
        torch.tensor([[[[6.0]], [[2.0]]]]),
        likely="heads that share keys and values still have their own queries: nothing is averaged",
    )


@pytest.mark.question("grouped_query_attention", points=0)
def test_grouped_query_attention_uses_allowed_calls(expect: Expect, draw: Draw) -> None:
    tensors = [draw.normal(2, heads, 3, 5) for heads in (4, 2, 2)]
    expect.allowed("grouped_query_attention", *tensors, rule=RULES["grouped_query_attention"])
