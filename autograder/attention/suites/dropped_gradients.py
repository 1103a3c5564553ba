"""What a layer learns in a call with dropout: gradients belong to the entries that were kept.

Which these are is chance, and the value shows it: the solution is then asked for the gradients of
the same pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import torch

from ...suite.arguments import gradient_difference, gradient_faults, weight_faults
from ...suite.compare import difference
from ...suite.cotangents import cotangent_of
from ...suite.draw import Draw
from ...suite.layers import ExpectLayer

_LEARNS = (
    "what was dropped in a call learns nothing from that call, and what was kept learns with its "
    "factor 1 / (1 - p): dropout is a step of the computation like any other, which `.data`, "
    "`.detach()` or an operation in place hides from the backward pass"
)
#: from the value of a call to the entries that it kept, for each call of dropout
_Kept = Callable[[torch.Tensor], list[torch.Tensor]]
#: attention weights that were not dropped are larger
_NOTHING = 1e-3


def check_gradients_of_weights(
    layer: ExpectLayer, draw: Draw, x: torch.Tensor, num_heads: int = 1, above: float = 0.0
) -> None:
    """Gradients in train mode, where attention weights are dropped and nothing else is.

    `x` is (B, T, D); the first T columns of each head show its weights, as those that
    `check_dropped_weights` asks for, and none of them is near zero by itself.
    """
    batch, num_tokens, _ = x.shape

    def kept(value: torch.Tensor) -> list[torch.Tensor]:
        heads = (value - above).view(batch, num_tokens, num_heads, -1).transpose(1, 2)
        return list((heads[..., :num_tokens].abs() > _NOTHING).unbind(1))  # H times (B, T, T)

    _check(layer, draw, x, kept)


def check_gradients_of_outputs(layer: ExpectLayer, draw: Draw, x: torch.Tensor) -> None:
    """Gradients in train mode, where outputs are dropped and nothing else is: none is 0 by itself.

    `x` is (B, T, D).
    """
    _check(layer, draw, x, lambda value: [value != 0])


def _check(layer: ExpectLayer, draw: Draw, x: torch.Tensor, kept: _Kept) -> None:
    """In float64: a pattern of one's own keeps dtype, too."""
    layer, x = layer.move(dtype=torch.float64).train(), x.double()
    form = layer.reference.forward([x]).value
    cotangent = cotangent_of(draw, form)
    pulled = layer.pulled(x, cotangent=cotangent, likely=_LEARNS)
    got = pulled.value
    fits = isinstance(got, torch.Tensor) and got.shape == form.shape
    layer.that(fits, got="another shape", expected=f"{tuple(form.shape)}", likely=_LEARNS)
    with _dropping(kept(got.detach())):
        expected = layer.reference.gradients([x], cotangent)
    text = difference(got, expected.value)
    layer.that(text is None, got=f"{text}", expected="what was kept, / (1 - p)", likely=_LEARNS)
    faults = [
        *weight_faults(pulled.weights, expected.weights, gradient_difference),
        *gradient_faults([x], pulled.inputs, expected.inputs),
    ]
    for fault in faults[:1]:
        layer.that(
            False,
            got=f"a gradient to {fault.place} that is not right: {fault.text}",
            expected="that of the entries that were kept in this call",
            likely=_LEARNS,
        )


@contextmanager
def _dropping(kept: Sequence[torch.Tensor]) -> Iterator[None]:
    """Dropout in the solution keeps these entries: those of one call for all heads, or of each."""
    heads = iter(kept)

    def dropout(x: torch.Tensor, p: float, training: bool, inplace: bool = False) -> torch.Tensor:
        if not training or p == 0:
            return x
        pattern = next(heads) if x.shape == kept[0].shape else torch.stack(list(kept), 1)
        return x * pattern / (1 - p)

    with patch.object(torch.nn.functional, "dropout", dropout):
        yield
