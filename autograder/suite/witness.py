"""Defines tensors that record what a test does with their numbers.

If a test uses a tensor's numbers only in comparisons, an answer whose numbers are close enough to
the solution's passes or fails as the solution does, so the test need not be run for this answer.
Such a test may use shapes, dtypes and devices in any way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

#: a function that describes the difference between the numbers and the expected ones
Differ = Callable[[torch.Tensor, torch.Tensor], str | None]

#: the largest finite number
_LARGEST = torch.finfo(torch.float64).max
#: a function applied to a value before it is compared
After = Callable[[torch.Tensor], torch.Tensor]

_ATTRIBUTES = ("shape", "dtype", "device", "ndim", "layout", "is_meta", "nbytes", "requires_grad")
_METHODS = ("is_floating_point", "dim", "size", "numel")
_FORM = frozenset(
    {
        *(getattr(torch.Tensor, name).__get__ for name in _ATTRIBUTES),
        *(getattr(torch.Tensor, name) for name in _METHODS),
    }
)


@dataclass(slots=True)
class Testimony:
    """A record of what a test does with the numbers of one tensor.

    `compared` contains the tensors that the numbers matched closely enough, and `apart` those that
    they did not match, each with the tolerances. `after` contains each function that was applied to
    the tensor, with a testimony for the function's result. `is_read` is true if the test used the
    numbers in any other way.
    """

    compared: list[tuple[torch.Tensor, float, float]] = field(default_factory=list)
    apart: list[tuple[torch.Tensor, float, float]] = field(default_factory=list)
    after: list[tuple[After, Testimony]] = field(default_factory=list)
    is_read: bool = False


class Witness(torch.Tensor):
    """A tensor whose `testimony` records what is done with its numbers."""

    testimony: Testimony

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Witness:
        """Makes a witness with the numbers of a tensor."""
        witness = torch.Tensor._make_subclass(cls, tensor)
        witness.testimony = Testimony()
        return witness

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            if function not in _FORM:
                for witness in witnesses_in([args, kwargs]):
                    witness.testimony.is_read = True
            return function(*args, **(kwargs or {}))

    def difference(
        self, expected: torch.Tensor, atol: float, rtol: float, differ: Differ
    ) -> str | None:
        """Returns the difference that `differ` finds, or None, and records the comparison."""
        with torch._C.DisableTorchFunctionSubclass():
            text = differ(self.plain(), expected)
            if text is None:
                self.testimony.compared.append((expected.detach().clone(), atol, rtol))
            else:
                self.testimony.is_read = True
        for witness in witnesses_in(expected):
            witness.testimony.is_read = True
        return text

    def is_apart(self, expected: torch.Tensor, atol: float, rtol: float, differ: Differ) -> bool:
        """Returns whether `differ` finds a difference, and records the comparison."""
        with torch._C.DisableTorchFunctionSubclass():
            text = differ(self.plain(), expected)
            if text is None:
                self.testimony.is_read = True
            else:
                self.testimony.apart.append((expected.detach().clone(), atol, rtol))
        return text is not None

    def after(self, function: After) -> Witness:
        """Applies a function to the numbers, and returns the result as another witness."""
        with torch._C.DisableTorchFunctionSubclass():
            made = Witness.of(function(self.plain()))
        self.testimony.after.append((function, made.testimony))
        return made

    def is_finite(self) -> bool:
        """Returns whether all numbers are finite, and records this comparison."""
        with torch._C.DisableTorchFunctionSubclass():
            finite = bool(self.isfinite().all())
            if finite:  # finite numbers are at most this far from zero
                self.testimony.compared.append((torch.zeros(self.shape), _LARGEST, 0.0))
            else:
                self.testimony.is_read = True
        return finite

    def plain(self) -> torch.Tensor:
        """Returns the numbers as a plain tensor, whose use is not recorded."""
        with torch._C.DisableTorchFunctionSubclass():
            return self.detach().as_subclass(torch.Tensor)


def witnesses_in(tree: Any) -> list[Witness]:
    """Returns all witnesses in tuples, lists and dictionaries."""
    if isinstance(tree, Witness):
        return [tree]
    items = list(tree.values()) if isinstance(tree, dict) else tree
    if not isinstance(items, tuple | list):
        return []
    return [witness for item in items for witness in witnesses_in(item)]


def with_witnesses(tree: Any, known: dict[int, Witness]) -> Any:
    """Replaces the tensors in a decoded value with witnesses, and adds these to `known` in order.

    A tensor that occurs in several places becomes a single witness.
    """
    if isinstance(tree, torch.Tensor):
        return known.setdefault(id(tree), Witness.of(tree))
    if isinstance(tree, tuple | list):
        return type(tree)(with_witnesses(item, known) for item in tree)
    if isinstance(tree, dict):
        return {key: with_witnesses(item, known) for key, item in tree.items()}
    if isinstance(tree, SimpleNamespace):
        return SimpleNamespace(**with_witnesses(vars(tree), known))
    return tree
