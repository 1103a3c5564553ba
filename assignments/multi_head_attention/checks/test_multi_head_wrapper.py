"""Public checks of `multi_head_wrapper`."""

from __future__ import annotations

import pytest
import torch

from autograder.attention.suites.dropped import check_dropped_weights, shown_weights
from autograder.suite import Draw, Expect
from autograder.suite.compare import PRINTED
from autograder.suite.traits import Rate, Size, Tensor, Traits, check_by_itself

WRAPPER = "MultiHeadAttentionWrapper"
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
#: the weights of two heads from the course's notes, drawn with a seed; below are their contexts
WEIGHTS = {
    "heads.0.W_query.weight": [
        [-0.235430, 0.019124, -0.286746],
        [0.217727, -0.491934, 0.423223],
    ],
    "heads.0.W_key.weight": [
        [-0.419641, -0.459018, -0.364820],
        [0.261478, -0.213326, 0.216052],
    ],
    "heads.0.W_value.weight": [
        [-0.490014, -0.350292, -0.211989],
        [-0.113461, -0.440439, 0.378044],
    ],
    "heads.1.W_query.weight": [
        [-0.136157, 0.185322, 0.408269],
        [0.107564, 0.157877, 0.557292],
    ],
    "heads.1.W_key.weight": [
        [-0.260390, 0.182876, -0.256872],
        [0.412603, 0.461105, -0.532301],
    ],
    "heads.1.W_value.weight": [
        [0.492853, 0.275693, 0.251590],
        [0.237681, 0.479951, -0.076233],
    ],
}
CONTEXTS = torch.tensor(
    [
        [-0.4519, 0.2216, 0.4772, 0.1063],
        [-0.5874, 0.0058, 0.5891, 0.3257],
        [-0.6300, -0.0632, 0.6202, 0.3860],
        [-0.5675, -0.0843, 0.5478, 0.3589],
        [-0.5526, -0.0981, 0.5321, 0.3428],
        [-0.5299, -0.1081, 0.5077, 0.3493],
    ]
)


@pytest.mark.question(WRAPPER, points=0)
def test_width_grows_with_the_heads(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(WRAPPER, 3, 2, 6, 0.0, 5)
    got = layer.result(draw.normal(2, 4, 3))
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    layer.that(
        shape == (2, 4, 10),
        got=str(shape),
        expected="(2, 4, 10): 5 heads of size 2 side by side",
        likely="d_out is the size of one head; the heads are joined in the last dimension",
    )


@pytest.mark.question(WRAPPER, points=0)
def test_every_head_has_weights_of_its_own(expect: Expect) -> None:
    layer = expect.layer(WRAPPER, 3, 2, 6, 0.0, 2)
    names = sorted(layer.answer.weights())
    layer.that(
        names == sorted(WEIGHTS),
        got=f"the trainable weights {names}",
        expected=f"{sorted(WEIGHTS)}",
        likely="`self.heads` is an `nn.ModuleList` of heads, each built by its own call of "
        "`CausalAttention(...)`",
    )


@pytest.mark.question(WRAPPER, points=0)
def test_documented_sentence(expect: Expect) -> None:
    layer = expect.layer(WRAPPER, 3, 2, 6, 0.0, 2)
    layer.load({name: torch.tensor(weight) for name, weight in WEIGHTS.items()})
    layer.value(
        (INPUTS.unsqueeze(0),),
        CONTEXTS.unsqueeze(0),
        likely="both heads see the whole sentence; head 0 gives the first two columns, and head 1 "
        "the others",
        tolerance=PRINTED,
    )


@pytest.mark.question(WRAPPER, points=0)
def test_samples_of_a_batch_are_apart(expect: Expect, draw: Draw) -> None:
    layer = expect.layer(WRAPPER, 3, 4, 6, 0.0, 2, True)
    x = draw.normal(3, 5, 3)
    together = layer.result(x)
    alone = layer.result(x[2:])
    layer.that(
        torch.allclose(together[2:], alone, atol=1e-5),
        got="a different result for a sample in a batch than for the sample alone",
        expected="the same result",
        likely="every head takes the whole batch; nothing is joined or added across samples",
    )


@pytest.mark.question("MultiHeadAttentionWrapper", points=0)
def test_multi_head_attention_wrapper_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "MultiHeadAttentionWrapper",
            [Tensor("B T d_in")],
            build=[Size("d_in"), Size("d"), Size("T+3"), Rate(), Size("H")],
        ),
    )


@pytest.mark.question(WRAPPER, points=0)
@pytest.mark.by_chance
def test_each_head_drops_attention_weights(expect: Expect) -> None:
    layer = expect.layer(WRAPPER, 8, 9, 8, 0.3, 2)
    equal = torch.full((9, 8), 0.5)
    layer.load(
        {
            f"heads.{head}.{name}.weight": shown_weights(8) if name == "W_value" else equal
            for head in range(2)
            for name in ("W_query", "W_key", "W_value")
        }
    )
    check_dropped_weights(
        layer,
        torch.eye(8).repeat(6, 1, 1),
        0.3,
        2,
        likely="each head is built with the given dropout and drops its own attention weights; "
        "nothing else is dropped",
    )


@pytest.mark.question(WRAPPER, points=0)
def test_heads_with_biases(expect: Expect) -> None:
    layer = expect.layer(WRAPPER, 3, 2, 6, 0.0, 1, True)
    names = set(layer.answer.weights())
    expected = {
        f"heads.0.{name}.{kind}"
        for name in ("W_query", "W_key", "W_value")
        for kind in ("weight", "bias")
    }
    layer.that(
        names == expected,
        got=f"with qkv_bias=True the trainable weights {sorted(names)}",
        expected=f"{sorted(expected)}",
        likely="pass every argument of the wrapper on to each head, including the last one",
    )
