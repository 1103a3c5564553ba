"""What gradients are asked for: random numbers of a value's shape, to pull back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .draw import Draw

#: what a value goes through before it is compared
After = Callable[[torch.Tensor], torch.Tensor]


def cotangent_of(draw: Draw, value: Any, after: After | None = None) -> Any:
    """Normal numbers in the form of the value; with `after`, what comes of them back through it."""
    if not isinstance(value, torch.Tensor):
        return tuple(cotangent_of(draw, item) for item in value)
    drawn = draw.normal(*value.shape, dtype=value.dtype)
    if after is None:
        return drawn
    value = value.detach().requires_grad_()
    return torch.autograd.grad((after(value) * drawn).sum(), value)[0]


def compared(got: Any, expected: Any, after: After | None) -> tuple[Any, Any]:
    """Both values as they are compared: after that function, where they are of one form."""
    if after is None or not isinstance(got, torch.Tensor):
        return got, expected
    alike = got.shape == expected.shape and got.dtype == expected.dtype
    return (after(got), after(expected)) if alike else (got, expected)
