"""Checks that gradients in a call with dropout belong to the entries that were kept.

The kept entries are random, so the checks read from the returned value which entries were kept; the
solution then computes gradients with the same entries kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import torch

from ...suite.arguments import (
    Draw,
    cotangent_of,
    gradient_difference,
    gradient_faults,
    weight_faults,
)
from ...suite.compare import difference
from ...suite.implementation import GradientOptions
from ...suite.layers import ExpectLayer

_LEARNS = (
    "a dropped entry gets no gradient, and the gradient of a kept entry is multiplied by "
    "1 / (1 - p): dropout is a step of the computation, and `.data`, `.detach()` or an in-place "
    "operation hides it from the backward pass"
)
_FROZEN = (
    "train mode alone decides whether entries are dropped: layers with frozen weights "
    "(`requires_grad = False`) drop entries like other layers"
)
#: returns the entries that each dropout in a call kept, given the call's value
_Kept = Callable[[torch.Tensor], list[torch.Tensor]]
#: attention weights that were not dropped are larger than this
_NOTHING = 1e-3


def check_gradients_of_weights(
    layer: ExpectLayer, draw: Draw, x: torch.Tensor, num_heads: int = 1, above: float = 0.0
) -> None:
    """Check gradients in train mode for a layer that drops only attention weights.

    `x` is (B, T, D). The first T columns of each head show its weights, as in
    `check_dropped_weights`; without dropout, none of these weights is near zero.
    """
    batch, num_tokens, _ = x.shape

    def kept(value: torch.Tensor) -> list[torch.Tensor]:
        heads = (value - above).view(batch, num_tokens, num_heads, -1).transpose(1, 2)
        return list((heads[..., :num_tokens].abs() > _NOTHING).unbind(1))  # H tensors (B, T, T)

    _check(layer, draw, x, kept)


def check_gradients_of_outputs(layer: ExpectLayer, draw: Draw, x: torch.Tensor) -> None:
    """Check gradients in train mode for a layer that drops only outputs.

    `x` is (B, T, D); without dropout, no output is 0.
    """
    _check(layer, draw, x, lambda value: [value != 0])


def _check(layer: ExpectLayer, draw: Draw, x: torch.Tensor, kept: _Kept) -> None:
    """Compare gradients in float64; the mask that an answer draws must also be float64.

    In a second call, all weights are frozen, because train mode alone must decide whether entries
    are dropped.
    """
    layer, x = layer.move(dtype=torch.float64).train(), x.double()
    frozen = tuple(layer.reference.weights())
    _check_way(layer, draw, x, kept, GradientOptions(results=True), _LEARNS)
    _check_way(layer, draw, x, kept, GradientOptions(still=frozen), _FROZEN)


def _check_way(
    layer: ExpectLayer, draw: Draw, x: torch.Tensor, kept: _Kept, way: GradientOptions, likely: str
) -> None:
    form = layer.reference.forward([x]).value
    cotangent = cotangent_of(draw, form)
    pulled = layer.pulled(x, cotangent=cotangent, likely=likely, options=way)
    got = pulled.value
    fits = isinstance(got, torch.Tensor) and got.shape == form.shape
    layer.that(fits, got="a different shape", expected=f"{tuple(form.shape)}", likely=likely)
    with _dropping(kept(got.detach())):
        expected = layer.reference.gradients([x], cotangent, way)
    text = difference(got, expected.value)
    layer.that(
        text is None, got=f"{text}", expected="each kept entry divided by 1 - p", likely=likely
    )
    faults = [
        *weight_faults(pulled.weights, expected.weights, gradient_difference),
        *gradient_faults([x], pulled.inputs, expected.inputs),
    ]
    for fault in faults[:1]:
        layer.that(
            False,
            got=f"a wrong gradient with respect to {fault.place}: {fault.text}",
            expected="the gradient for the entries that were kept in this call",
            likely=likely,
        )


@contextmanager
def _dropping(kept: Sequence[torch.Tensor]) -> Iterator[None]:
    """Make the solution's dropout keep the entries in `kept`: one tensor, or one for each head."""
    heads = iter(kept)

    def dropout(x: torch.Tensor, p: float, training: bool, inplace: bool = False) -> torch.Tensor:
        if not training or p == 0:
            return x
        pattern = next(heads) if x.shape == kept[0].shape else torch.stack(list(kept), 1)
        return x * pattern / (1 - p)

    with patch.object(torch.nn.functional, "dropout", dropout):
        yield
