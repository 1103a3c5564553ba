"""Tensors that tell what a test does with their numbers.

A test that does nothing but compare numbers ends for each answer as it did for the solution, where
the numbers are close enough: then it need not be run. Shapes, dtypes and devices may be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

#: from the numbers that came and the expected ones to what differs
Differ = Callable[[torch.Tensor, torch.Tensor], str | None]

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
    """What a test did with one tensor: with what it compared the numbers, and how closely.

    `is_read` says that it did anything else with them.
    """

    compared: list[tuple[torch.Tensor, float, float]] = field(default_factory=list)
    is_read: bool = False


class Witness(torch.Tensor):
    """A tensor whose `testimony` says what is done with its numbers."""

    testimony: Testimony

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Witness:
        """A witness with the numbers of a tensor."""
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
        """What `differ` says of the numbers and expected ones of the same form; told of it."""
        with torch._C.DisableTorchFunctionSubclass():
            text = differ(self.detach().as_subclass(torch.Tensor), expected)
            if text is not None:
                self.testimony.is_read = True
            self.testimony.compared.append((expected.detach().clone(), atol, rtol))
        for witness in witnesses_in(expected):
            witness.testimony.is_read = True
        return text


def witnesses_in(tree: Any) -> list[Witness]:
    """All witnesses in tuples, lists and dictionaries."""
    if isinstance(tree, Witness):
        return [tree]
    items = list(tree.values()) if isinstance(tree, dict) else tree
    if not isinstance(items, tuple | list):
        return []
    return [witness for item in items for witness in witnesses_in(item)]


def with_witnesses(tree: Any, known: dict[int, Witness]) -> Any:
    """A decoded value with witnesses in the place of tensors, which `known` takes in their order.

    One tensor that stands in several places stays one.
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
