"""Defines calls to the solution; a defect changes the result of such a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map_only


@dataclass(frozen=True, slots=True)
class Call:
    """A call to a solution: the function, the arguments, and values kept from earlier calls."""

    compute: Callable[..., Any]
    args: tuple[Any, ...]
    kept: dict[Any, Any]
    layer: nn.Module | None = None

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The tensors among the arguments, including tensors in a pair."""
        return [arg for arg in tree_leaves(self.args) if isinstance(arg, torch.Tensor)]

    @property
    def training(self) -> bool:
        """True if the call is to a layer in train mode."""
        return self.layer is not None and self.layer.training

    @property
    def double(self) -> bool:
        """True if the call computes in float64."""
        return any(tensor.dtype == torch.float64 for tensor in self.tensors)

    def on(self, change: Callable[[torch.Tensor], torch.Tensor], places: slice | int) -> Any:
        """Returns the solution's result after changing the tensors at these `places`."""
        wanted = self.tensors[places] if isinstance(places, slice) else self.tensors[places:][:1]
        chosen = {id(tensor) for tensor in wanted}
        return self.compute(*each(self.args, lambda t: change(t) if id(t) in chosen else t))

    def right(self) -> Any:
        """Returns the solution's result."""
        return self.compute(*self.args)


Defect = Callable[[Call], Any]
Condition = Callable[[Call], bool]


def each(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Returns the value, with `change` applied to every tensor in it."""
    return tree_map_only(torch.Tensor, change, value)


def other(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a different tensor of the same shape."""
    return ~tensor if tensor.dtype == torch.bool else tensor + tensor + 1


def wrong(value: Any) -> Any:
    """Returns a different value of the same kind."""
    return {} if isinstance(value, dict) else each(value, other)


def shapes(call: Call) -> tuple[Any, ...]:
    """Returns the shapes of tensors among the arguments, and the `repr` of all other arguments."""
    return tuple(
        tuple(arg.shape) if isinstance(arg, torch.Tensor) else repr(arg)
        for arg in tree_leaves(call.args)
    )
