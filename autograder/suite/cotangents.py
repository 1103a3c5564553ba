"""Random cotangents in the shape of a value, to test gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .draw import Draw
from .implementation import PLAIN, Pull

#: a function applied to a value before it is compared
After = Callable[[torch.Tensor], torch.Tensor]


def cotangent_of(draw: Draw, value: Any, after: After | None = None, pull: Pull = PLAIN) -> Any:
    """Draw normal numbers in the form of the value; with `after`, pulled back through it."""
    if not isinstance(value, torch.Tensor):
        return tuple(cotangent_of(draw, item, None, pull) for item in value)
    drawn = draw.normal(*value.shape, scale=pull.size, dtype=value.dtype)
    if after is not None:
        value = value.detach().requires_grad_()
        drawn = torch.autograd.grad((after(value) * drawn).sum(), value)[0]
    if not pull.turned or not drawn.dim():
        return drawn
    if drawn.dim() == 1:
        return torch.stack([drawn, drawn], -1)[:, 0]
    # in memory, the tokens of a batch are apart: no dimension can be merged with the next
    dims = (-3, -2) if drawn.dim() > 2 else (-2, -1)
    return drawn.transpose(*dims).contiguous().transpose(*dims)


def compared(got: Any, expected: Any, after: After | None) -> tuple[Any, Any]:
    """Return both values as they are compared: after that function, if their forms are equal."""
    if after is None or not isinstance(got, torch.Tensor):
        return got, expected
    alike = got.shape == expected.shape and got.dtype == expected.dtype
    return (after(got), after(expected)) if alike else (got, expected)
