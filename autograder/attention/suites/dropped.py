"""Checks dropout of attention weights or of outputs, judging only by a layer's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import torch

from ...suite.compare import tolerance_of
from ...suite.expect import Expect
from ...suite.layers import ExpectLayer
from .chance import (
    causal_dropout_problem,
    neighbours_problem,
    shared_or_rate_problem,
)

#: the number of calls in which attention weights are observed, and how many of them, the first
#: ones, compute gradients; a call with gradients takes twice as long for an answer that loops
_CALLS, _WITH_GRADIENTS = 5, 1


def shown_weights(num_tokens: int, num_heads: int = 1) -> torch.Tensor:
    """Return weights for the layer that computes values, so that outputs show attention weights.

    The shape is (num_heads * (num_tokens + 1), num_tokens). If the inputs are unit vectors, column
    s of every head's output is the weight of token s, and the last column is the sum of the other
    columns.
    """
    rows = torch.cat([torch.eye(num_tokens), torch.ones(1, num_tokens)])
    return rows.repeat(num_heads, 1)


def check_dropped_weights(
    layer: ExpectLayer,
    x: torch.Tensor,
    p: float,
    num_heads: int = 1,
    *,
    likely: str,
    above: float = 0.0,
) -> None:
    """Check that train mode drops only attention weights, each independently with probability p.

    `x` is (B, T, D). All scores are equal. The values are chosen as in `shown_weights`, so that the
    outputs show the weights. The layer's bias adds `above` to every output, so that no output is 0
    without dropout.
    """
    num_tokens = x.shape[1]
    shape = (len(x), num_tokens, num_heads * (num_tokens + 1))
    outputs = _outputs(layer, x, shape, likely)
    layer.that(
        not above or not bool((outputs == 0).any()),
        got=f"outputs that are exactly 0, though a bias adds {above:g} to each",
        expected="no dropout of the final output",
        likely=likely,
    )
    bound = tolerance_of(outputs.dtype)  # for an output, which is larger than the weight by `above`
    heads = (outputs - above).view(_CALLS, *shape[:2], num_heads, -1).transpose(2, 3)
    weights, sums = heads[..., :-1], heads[..., -1]  # (calls, B, H, T, T), (calls, B, H, T)
    problem = causal_dropout_problem(weights, p, bound.atol + bound.rtol * above)
    layer.that(
        problem is None,
        got=str(problem),
        expected=f"each attention weight is 0 with probability {p:g}, and is otherwise divided by "
        f"{1 - p:g}",
        likely=likely,
    )
    layer.that(
        torch.allclose(weights.sum(-1), sums, atol=1e-3),
        got="context vectors in which some columns were dropped and others were not",
        expected="dropout on the attention weights only",
        likely=likely,
    )


def _outputs(
    layer: ExpectLayer, x: torch.Tensor, shape: tuple[int, ...], likely: str
) -> torch.Tensor:
    """Return the results of several calls in train mode, each of the given shape."""
    layer.train()
    calls = [
        layer.result(x, likely=likely, no_grad=turn >= _WITH_GRADIENTS) for turn in range(_CALLS)
    ]
    layer.that(
        all(isinstance(call, torch.Tensor) and call.shape == shape for call in calls),
        got="a different shape in training",
        expected=f"shape {shape}",
        likely=likely,
    )
    return torch.stack(calls).detach()


def check_dropped_outputs(
    layer: ExpectLayer, x: torch.Tensor, p: float, undropped: torch.Tensor, *, likely: str
) -> None:
    """Check that train mode drops each number in the output independently with probability p.

    `x` is (B, T, D); `undropped` is the output in eval mode, which must not contain zeros.
    """
    calls = torch.stack([layer.train().result(x, likely=likely) for _ in range(4)]).detach()
    bound = tolerance_of(calls.dtype)
    dropped = calls.abs() <= bound.atol
    layer.that(
        bool(dropped.any()),
        got="no output that is 0; in training the outputs "
        + ("are those of eval mode" if torch.equal(calls[0], calls[1]) else "change in each call"),
        expected=f"about {p:.0%} of them are 0",
        likely=likely,
    )
    layer.that(
        torch.allclose(
            calls, torch.where(dropped, 0.0, undropped / (1 - p)), bound.rtol, bound.atol
        ),
        got="outputs that are neither 0 nor the undropped output divided by 1 - p",
        expected="each output is one or the other",
        likely=likely,
    )
    problem = shared_or_rate_problem(
        dropped, p, ("calls", "samples", "tokens", "columns")
    ) or neighbours_problem(dropped, p)
    layer.that(
        problem is None,
        got=str(problem),
        expected=f"each output is 0 with probability {p:g}, independently of the others",
        likely=likely,
    )


def check_layers_apart(
    expect: Expect, question: str, build: Sequence[Any], x: torch.Tensor, *, likely: str
) -> None:
    """Check that two layers with the same weights drop different entries, as a model's blocks must.

    `x` is (B, T, D), and so large that no two patterns are equal by chance.
    """
    calls: list[torch.Tensor] = []
    weights: Mapping[str, torch.Tensor] = {}
    for _ in range(2):
        layer = expect.layer(question, *build)
        weights = weights or layer.reference.weights()
        layer.load(weights)
        calls += [layer.train().result(x, likely=likely).detach() for _ in range(2)]
    alike = [
        f"{one} and {other}"
        for one, other in combinations(range(1, len(calls) + 1), 2)
        if torch.equal(calls[one - 1], calls[other - 1])
    ]
    layer.that(
        not alike,
        got=f"calls {alike[0]} are equal" if alike else "",
        expected="different entries dropped in calls 1 and 2 of one layer, and 3 and 4 of another",
        likely=likely,
    )
