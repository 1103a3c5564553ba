"""Compares gradients with the change in a value when inputs and weights change a little."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from ..arguments import Draw
from ..failures import DTYPE

#: a step so small that values with only float32 digits do not change
STEP = 1e-7
_GRADIENT = (
    "in float64, a small change to an input changes the value as the gradient predicts: "
    "`.detach()`, `.item()` and `torch.tensor(...)` cut the gradient, and `.float()` and new "
    "tensors without a dtype round such a small change away"
)

_NO_TENSOR = "the result does not have the type that the docstring gives: is it a tensor?"


def step_of(draw: Draw, arg: Any) -> Any:
    """Draws a random step for a floating-point tensor, or returns None for anything else."""
    if isinstance(arg, torch.Tensor) and arg.is_floating_point():
        return draw.normal(*arg.shape, dtype=arg.dtype)
    return None


def no_step(_: Any) -> None:
    """Returns None as the step for an argument that should not change."""
    return None


def moved(args: Sequence[Any], steps: Sequence[Any], size: float) -> list[Any]:
    """Returns the arguments, with each tensor moved by `size` times its step."""
    leaves, form = tree_flatten(list(args))
    pairs = zip(leaves, tree_leaves(list(steps)), strict=True)
    return list(tree_unflatten([x if s is None else x + size * s for x, s in pairs], form))


def check_dtype(value: Any, that: Callable[..., None]) -> None:
    """Checks that float64 inputs give float64 results, because float32 would lose the steps."""
    items = tree_leaves(value)
    kinds = [getattr(item, "dtype", type(item).__name__) for item in items]
    are_tensors = all(isinstance(item, torch.Tensor) for item in items)
    that(
        all(kind == torch.float64 for kind in kinds),
        got=f"{', '.join(map(str, dict.fromkeys(kinds)))} for float64 inputs",
        expected="torch.float64, the dtype of the inputs",
        likely=DTYPE if are_tensors else _NO_TENSOR,
    )


def dot(value: Any, cotangent: Any) -> float:
    """Returns the dot product of two trees of tensors."""
    pairs = zip(tree_leaves(value), tree_leaves(cotangent), strict=True)
    return sum(float((one.detach() * other).sum()) for one, other in pairs)


def change_along(gradients: Sequence[Any], steps: Sequence[Any]) -> float:
    """Returns the change in the value that gradients predict for these steps.

    A missing gradient counts as 0.
    """
    pairs = zip(tree_leaves(list(gradients)), tree_leaves(list(steps)), strict=True)
    return sum(
        float((gradient * step).sum())
        for gradient, step in pairs
        if gradient is not None and step is not None
    )


def check_slope(slopes: Sequence[float], along: float, that: Callable[..., None]) -> None:
    """Checks that the values one step ahead and one step back differ as the gradients predict.

    If a step leads to nan, nothing is compared, because such a step has changed an argument that
    acts like a mask.
    """
    slope = (slopes[0] - slopes[1]) / (2 * STEP)
    if math.isnan(slope):
        return
    that(
        abs(slope - along) <= 1e-4 * max(1.0, abs(slope)),
        got=f"a gradient of {along:.6g} along small steps of all inputs",
        expected=f"{slope:.6g}, from the change in the value",
        likely=_GRADIENT,
    )
