"""Small steps of inputs and weights: what they make of a value is what its gradient says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from ..draw import Draw
from ..failures import DTYPE

#: so small that numbers with the digits of float32 alone do not follow it
STEP = 1e-7
_GRADIENT = (
    "in float64 a small step of an input changes the value by what the gradient says: `.detach()`, "
    "`.item()` and `torch.tensor(...)` cut the gradient, `.float()` and new tensors without a "
    "dtype lose the step"
)

_NO_TENSOR = "the result is of another kind than the docstring says: is it a tensor?"


def step_of(draw: Draw, arg: Any) -> Any:
    """A step of a floating point tensor; None for what takes none."""
    if isinstance(arg, torch.Tensor) and arg.is_floating_point():
        return draw.normal(*arg.shape, dtype=arg.dtype)
    return None


def no_step(_: Any) -> None:
    """Of what stays where it is."""
    return None


def moved(args: Sequence[Any], steps: Sequence[Any], size: float) -> list[Any]:
    """The arguments, each tensor with a step that far along its own."""
    leaves, form = tree_flatten(list(args))
    pairs = zip(leaves, tree_leaves(list(steps)), strict=True)
    return list(tree_unflatten([x if s is None else x + size * s for x, s in pairs], form))


def check_dtype(value: Any, that: Callable[..., None]) -> None:
    """Of float64 inputs comes float64: no step is lost."""
    items = tree_leaves(value)
    kinds = [getattr(item, "dtype", type(item).__name__) for item in items]
    are_tensors = all(isinstance(item, torch.Tensor) for item in items)
    that(
        all(kind == torch.float64 for kind in kinds),
        got=f"{', '.join(map(str, kinds))} for float64 inputs",
        expected="torch.float64, the dtype of the inputs",
        likely=DTYPE if are_tensors else _NO_TENSOR,
    )


def dot(value: Any, cotangent: Any) -> float:
    """The sum of all products of two trees of tensors."""
    pairs = zip(tree_leaves(value), tree_leaves(cotangent), strict=True)
    return sum(float((one.detach() * other).sum()) for one, other in pairs)


def follow(gradients: Sequence[Any], steps: Sequence[Any]) -> float:
    """How far the value goes along the steps, says the gradient; none is a gradient of zero."""
    pairs = zip(tree_leaves(list(gradients)), tree_leaves(list(steps)), strict=True)
    return sum(
        float((gradient * step).sum())
        for gradient, step in pairs
        if gradient is not None and step is not None
    )


def check_slope(slopes: Sequence[float], along: float, that: Callable[..., None]) -> None:
    """The values a step ahead and a step back differ by what the gradient says.

    Where a step leads to nan, nothing is said: a weight was moved that is no weight, as a mask.
    """
    slope = (slopes[0] - slopes[1]) / (2 * STEP)
    if math.isnan(slope):
        return
    that(
        abs(slope - along) <= 1e-4 * max(1.0, abs(slope)),
        got=f"a gradient of {along:.6g} along small steps of all inputs",
        expected=f"{slope:.6g}, as far as the value goes",
        likely=_GRADIENT,
    )
