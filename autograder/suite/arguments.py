"""Draws a test's arguments from a recorded seed, and checks them after the call.

The call must not change its arguments. Gradients with respect to the arguments are compared for
random cotangents, which have the shape of the call's value. An argument is a tensor, or a tuple or
list that may contain tensors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..worker.execution import CHANGED, CLEARED, HOOK, SEED_CHANGED
from .compare import EXACT, describe, difference, is_finite, is_rounding, tolerance_of_gradient
from .implementation import PLAIN, GradientOptions, Gradients, Outcome
from .witness import After, Witness


class Draw:
    """A stream of random inputs that depends only on a seed and the test's name."""

    def __init__(self, seed: int, test: str) -> None:
        digest = hashlib.sha256(f"{seed}/{test}".encode()).digest()
        self._generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
        self._turn = -1

    def normal(
        self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Draw normal values of the given shape with standard deviation `scale`."""
        return torch.randn(shape, generator=self._generator, dtype=dtype) * scale

    def uniform(
        self,
        *shape: int,
        low: float = 0.0,
        high: float = 1.0,
        dtype: torch.dtype = torch.float32,
    ) -> torch.Tensor:
        """Draw values of the given shape, uniformly distributed in [low, high)."""
        return low + (high - low) * torch.rand(shape, generator=self._generator, dtype=dtype)

    def strided(
        self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Draw normal values that are not contiguous: the last two dimensions are swapped."""
        turned = (*shape[:-2], shape[-1], shape[-2])
        return self.normal(*turned, scale=scale, dtype=dtype).transpose(-2, -1)

    def integers(self, *shape: int, low: int, high: int) -> torch.Tensor:
        """Draw int64 values of the given shape in [low, high)."""
        return torch.randint(low, high, shape, generator=self._generator)

    def integer(self, low: int, high: int) -> int:
        """Draw one integer in [low, high]."""
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def permutation(self, n: int) -> list[int]:
        """Draw the numbers 0 to n - 1 in a random order."""
        return [int(i) for i in torch.randperm(n, generator=self._generator)]

    def turn(self) -> int:
        """Return how many times this method has been called before in this test."""
        self._turn += 1
        return self._turn

    def until(
        self, make: Callable[[Draw], torch.Tensor], good: Callable[[torch.Tensor], bool]
    ) -> torch.Tensor:
        """Draw inputs until `good` accepts one; raise `ValueError` if it rejects 100 inputs."""
        for _ in range(100):
            candidate = make(self)
            if good(candidate):
                return candidate
        raise ValueError("none of 100 drawn inputs met the condition: loosen it")


#: a function that describes what is wrong with a gradient, given the expected one; None if it is
#: right
Compare = Callable[[Any, Any], str | None]

#: the likely causes if a call changed a tensor, and if it changed a list or dictionary
IN_PLACE = (
    "an in-place operation (`x -= ...`, `x[...] = ...`, a name ending in `_`) writes into the "
    "caller's tensor; work on a new one"
)
_CONTAINER_CHANGED = (
    "the list or dictionary belongs to the caller: `append`, `pop` and `x[0] = ...` change it for "
    "everybody; make a new one"
)


#: the likely cause if a call left hooks or flags on the caller's own tensors
_LEFT = (
    "an argument belongs to the caller: `x += layer(x)` writes into it, and the effects of "
    "`x.requires_grad_()` and `x.register_hook(...)` remain after the call; work on a new tensor"
)
#: a description and the likely cause of each thing that a call and its backward pass may leave
#: behind
_LEFT_BEHIND: Mapping[str, tuple[str, str]] = {
    HOOK: ("a hook that your code registered stays on an argument", _LEFT),
    CHANGED: ("an argument was changed by the call", IN_PLACE),
    SEED_CHANGED: (
        "the incoming gradient was changed by the backward pass",
        "other code uses the incoming gradient, too: an in-place operation, such as "
        "`grad.mul_(...)`, changes it for everybody; work on a new tensor",
    ),
    CLEARED: (
        "the call cleared or changed `.grad`",
        "gradients of several calls add up in `.grad` until the optimizer's step: `forward` must "
        "not call `zero_grad()`",
    ),
}


def left_behind(gradients: Gradients) -> Iterator[tuple[str, str]]:
    """Yield a description and the likely cause of each change that a call left behind."""
    for what in gradients.left:
        text, likely = _LEFT_BEHIND[what]
        yield f"got       {text}\nexpected  the caller's objects unchanged", likely


def changes(args: Sequence[Any], outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield a description and the likely cause of each change that a call made to its arguments."""
    for index, (before, after) in enumerate(zip(args, outcome.inputs_after, strict=False)):
        if not isinstance(before, torch.Tensor | tuple | list | dict) or _is_meta(before):
            continue
        text = difference(after, before, EXACT)
        if text is not None:
            holds = isinstance(before, list | dict)
            likely = _CONTAINER_CHANGED if holds else IN_PLACE
            likely = _LEFT if isinstance(after, str) else likely
            yield f"argument {index + 1} was changed by the call:\n{text}", likely


def _is_meta(value: Any) -> bool:
    """Return whether a value has no numbers to compare, because it is on the meta device."""
    if isinstance(value, tuple | list):
        return any(map(_is_meta, value))
    return isinstance(value, torch.Tensor) and value.device.type == "meta"


@dataclass(frozen=True, slots=True)
class GradientFault:
    """A wrong gradient, its place and a description; `got` is None if the gradient is missing."""

    place: str
    text: str
    got: Any
    expected: Any


def weight_faults(
    got: Mapping[str, Any], expected: Mapping[str, Any], compare: Compare
) -> Iterator[GradientFault]:
    """Yield a fault for each weight whose gradient differs from the expected gradient."""
    for name, other in expected.items():
        text = compare(got.get(name), other)
        if text is not None:
            yield GradientFault(name, text, got.get(name), other)


def gradient_faults(
    args: Sequence[Any], got: Sequence[Any], expected: Sequence[Any], compare: Compare | None = None
) -> Iterator[GradientFault]:
    """Yield a fault for each argument whose gradient differs from the expected gradient."""
    compare = compare or gradient_difference
    for index, (arg, one, other) in enumerate(zip(args, got, expected, strict=True)):
        yield from _faults(f"argument {index + 1}", arg, one, other, compare)


def _faults(
    where: str, arg: Any, got: Any, expected: Any, compare: Compare
) -> Iterator[GradientFault]:
    if isinstance(expected, tuple | list):
        items = got if isinstance(got, tuple | list) else [None] * len(expected)
        for index, (item, one, other) in enumerate(zip(arg, items, expected, strict=True)):
            yield from _faults(f"{where}[{index}]", item, one, other, compare)
        return
    text = compare(got, expected)
    if text is not None:
        yield GradientFault(where, text, got, expected)


def gradient_difference(got: Any, expected: Any, size: float = 1.0) -> str | None:
    """Describe what is wrong with a gradient, or return None; treat a missing gradient as zero.

    `size` is the approximate magnitude of the incoming gradient.
    """
    if not isinstance(expected, torch.Tensor):
        return None
    bound = tolerance_of_gradient(expected, size)
    if got is not None:
        return difference(got, expected, bound)
    if difference(torch.zeros_like(expected), expected, bound) is None:
        return None
    return f"got       none\nexpected  {describe(expected)}"


def not_finite(got: Any, expected: Any) -> str | None:
    """Return None if a gradient is finite and has the expected shape; otherwise, describe it.

    A gradient may be missing if the expected gradient is only rounding error, such as the gradient
    of a bias that is added to all keys.
    """
    if not isinstance(expected, torch.Tensor):
        return None
    if got is None and is_rounding(expected):
        return None
    if got is not None and got.shape == expected.shape and is_finite(got):
        return None
    return f"got       {'none' if got is None else describe(got)}\nexpected  finite numbers"


def cotangent_of(
    draw: Draw, value: Any, after: After | None = None, options: GradientOptions = PLAIN
) -> Any:
    """Draw a random cotangent for a value.

    With `after`, pull the cotangent back through that function.
    """
    if not isinstance(value, torch.Tensor):
        return tuple(cotangent_of(draw, item, None, options) for item in value)
    drawn = draw.normal(*value.shape, scale=options.size, dtype=value.dtype)
    if after is not None:
        value = value.detach().requires_grad_()
        drawn = torch.autograd.grad((after(value) * drawn).sum(), value)[0]
    if not options.turned or not drawn.dim():
        return drawn
    if drawn.dim() == 1:
        return torch.stack([drawn, drawn], -1)[:, 0]
    # a batch's tokens are not adjacent in memory, so no dimension can be merged with the next
    dims = (-3, -2) if drawn.dim() > 2 else (-2, -1)
    return drawn.transpose(*dims).contiguous().transpose(*dims)


def compared(got: Any, expected: Any, after: After | None) -> tuple[Any, Any]:
    """Return the two values to compare.

    If `after` is given, and the shapes and dtypes are equal, these values are the results of
    `after`; otherwise, they are `got` and `expected`.
    """
    if after is None or not isinstance(got, torch.Tensor):
        return got, expected
    alike = got.shape == expected.shape and got.dtype == expected.dtype
    if not alike:
        return got, expected
    return got.after(after) if isinstance(got, Witness) else after(got), after(expected)
