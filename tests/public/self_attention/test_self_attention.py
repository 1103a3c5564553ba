"""Public checks of `self_attention`."""

from __future__ import annotations

import math

import pytest
import torch

from autograder.suite import Expect
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself

V1 = "SelfAttentionV1"
V2 = "SelfAttentionV2"
#: one row for each word of "Your journey starts with one step"
INPUTS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
#: the weights from the course's notes, drawn with a seed; below are their context vectors
V1_WEIGHTS = {
    "W_query": torch.tensor([[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]]),
    "W_key": torch.tensor([[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]]),
    "W_value": torch.tensor([[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274]]),
}
V1_CONTEXT = torch.tensor(
    [
        [0.2996, 0.8053],
        [0.3061, 0.8210],
        [0.3058, 0.8203],
        [0.2948, 0.7939],
        [0.2927, 0.7891],
        [0.2990, 0.8040],
    ]
)
V2_WEIGHTS = {
    "W_query.weight": torch.tensor([[0.3161, 0.4568, 0.5118], [-0.1683, -0.3379, -0.0918]]),
    "W_key.weight": torch.tensor([[0.4058, -0.4704, 0.2368], [0.2134, -0.2601, -0.5105]]),
    "W_value.weight": torch.tensor([[0.2526, -0.1415, -0.1962], [0.5191, -0.0852, -0.2043]]),
}
V2_CONTEXT = torch.tensor(
    [
        [-0.0739, 0.0713],
        [-0.0748, 0.0703],
        [-0.0749, 0.0702],
        [-0.0760, 0.0685],
        [-0.0763, 0.0679],
        [-0.0754, 0.0693],
    ]
)
#: three tokens and weights in which the first token's scores differ by sqrt(2) * log(3)
HAND_INPUTS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
HAND_QUERY = torch.tensor([[math.sqrt(2.0), 0.0], [0.0, 0.0]])
HAND_KEY = torch.tensor([[math.log(3.0), 0.0], [0.0, 0.0]])
HAND_VALUE = torch.tensor([[15.0, 30.0], [0.0, -15.0]])
HAND_CONTEXT = torch.tensor([[9.0, 9.0], [5.0, -5.0], [5.0, -5.0]])
HAND_LIKELY = (
    "token 0 gives 3/5 of its attention to itself and 1/5 to each of the others, whose values are "
    "(0, -15) and (0, -30); the other tokens divide their attention equally"
)


@pytest.mark.question(V1, points=0)
def test_three_parameters(expect: Expect) -> None:
    layer = expect.layer(V1, 3, 2)
    shapes = {name: tuple(weight.shape) for name, weight in layer.answer.weights().items()}
    layer.that(
        shapes == {"W_query": (3, 2), "W_key": (3, 2), "W_value": (3, 2)},
        got=f"trainable parameters {shapes}",
        expected="W_query, W_key and W_value, each (3, 2)",
        likely="a tensor becomes a trainable parameter if it is wrapped in `nn.Parameter(...)` "
        "and is an attribute",
    )


@pytest.mark.question(V1, points=0)
def test_three_tokens_by_hand(expect: Expect) -> None:
    layer = expect.layer(V1, 2, 2)
    layer.load({"W_query": HAND_QUERY, "W_key": HAND_KEY, "W_value": HAND_VALUE})
    layer.value((HAND_INPUTS,), HAND_CONTEXT, likely=HAND_LIKELY)


@pytest.mark.question(V1, points=0)
def test_sentence_of_six_words(expect: Expect) -> None:
    layer = expect.layer(V1, 3, 2)
    layer.load(V1_WEIGHTS)
    layer.value(
        (INPUTS,),
        V1_CONTEXT,
        likely="project, score, divide by the square root of 2, softmax over the keys, mix the "
        "values",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question(V1, points=0)
def test_two_sentences_give_two_results(expect: Expect) -> None:
    layer = expect.layer(V1, 3, 2)
    layer.load(V1_WEIGHTS)
    got = layer.result(torch.stack([INPUTS, INPUTS.flip(0)]))
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    layer.that(
        shape == (2, 6, 2),
        got=f"shape {shape}",
        expected="shape (2, 6, 2)",
        likely="with a batch in front, swap only the last two dimensions of the keys",
    )
    layer.that(
        bool(((got[1] - V1_CONTEXT.flip(0)).abs() < 5e-4).all()),
        got="different context vectors for the same sentence read backwards",
        expected="the same context vectors in reverse order",
        likely="each sentence is computed separately; this layer does not see the order of the "
        "words",
    )


@pytest.mark.question(V2, points=0)
def test_three_layers_with_and_without_bias(expect: Expect) -> None:
    for bias, names in (
        (False, ["W_key.weight", "W_query.weight", "W_value.weight"]),
        (
            True,
            [
                "W_key.bias",
                "W_key.weight",
                "W_query.bias",
                "W_query.weight",
                "W_value.bias",
                "W_value.weight",
            ],
        ),
    ):
        layer = expect.layer(V2, 3, 2, bias)
        got = sorted(layer.answer.weights())
        layer.that(
            got == names,
            got=f"trainable parameters {got}",
            expected=str(names),
            likely="three `nn.Linear` layers; `qkv_bias` says whether they have a bias",
        )


@pytest.mark.question(V2, points=0)
def test_three_tokens_by_hand_with_bias(expect: Expect) -> None:
    layer = expect.layer(V2, 2, 2, True)
    layer.load(
        {
            "W_query.weight": HAND_QUERY.T,
            "W_query.bias": torch.tensor([0.0, 5.0]),
            "W_key.weight": HAND_KEY.T,
            "W_key.bias": torch.tensor([0.0, 1.0]),
            "W_value.weight": HAND_VALUE.T,
            "W_value.bias": torch.tensor([0.0, 10.0]),
        }
    )
    layer.value(
        (HAND_INPUTS,),
        HAND_CONTEXT + torch.tensor([0.0, 10.0]),
        likely=f"{HAND_LIKELY}; the bias of the values adds 10 to every second number",
    )


@pytest.mark.question(V2, points=0)
def test_sentence_of_six_words_linear(expect: Expect) -> None:
    layer = expect.layer(V2, 3, 2)
    layer.load(V2_WEIGHTS)
    layer.value(
        (INPUTS,),
        V2_CONTEXT,
        likely="call the three layers, then do the same steps as in the first class",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question(V2, points=0)
def test_two_sentences_give_two_results_linear(expect: Expect) -> None:
    layer = expect.layer(V2, 3, 2)
    layer.load(V2_WEIGHTS)
    got = layer.result(torch.stack([INPUTS, INPUTS.flip(0)]))
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    layer.that(
        shape == (2, 6, 2),
        got=f"shape {shape}",
        expected="shape (2, 6, 2)",
        likely="with a batch in front, swap only the last two dimensions of the keys",
    )


@pytest.mark.question("SelfAttentionV1", points=0)
def test_self_attention_v1_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits("SelfAttentionV1", [Tensor("... T d_in")], build=[Size("d_in"), Size("d_out")]),
        moves=False,
    )


@pytest.mark.question("SelfAttentionV2", points=0)
def test_self_attention_v2_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits("SelfAttentionV2", [Tensor("... T d_in")], build=[Size("d_in"), Size("d_out")]),
        moves=False,
    )
