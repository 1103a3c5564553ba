"""One call of a solution that a defect spoils."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map_only


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a solution: what computes, its arguments, what earlier calls left behind."""

    compute: Callable[..., Any]
    args: tuple[Any, ...]
    kept: dict[Any, Any]
    layer: nn.Module | None = None

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The tensors among the arguments, those of a pair too."""
        return [arg for arg in tree_leaves(self.args) if isinstance(arg, torch.Tensor)]

    @property
    def training(self) -> bool:
        """Whether it is a class in train mode."""
        return self.layer is not None and self.layer.training

    @property
    def double(self) -> bool:
        """Whether it computes in float64."""
        return any(tensor.dtype == torch.float64 for tensor in self.tensors)

    def on(self, change: Callable[[torch.Tensor], torch.Tensor], places: slice | int) -> Any:
        """Computes with some of the tensor arguments changed."""
        wanted = self.tensors[places] if isinstance(places, slice) else self.tensors[places:][:1]
        chosen = {id(tensor) for tensor in wanted}
        return self.compute(*each(self.args, lambda t: change(t) if id(t) in chosen else t))

    def right(self) -> Any:
        """What the solution answers."""
        return self.compute(*self.args)


Defect = Callable[[Call], Any]
Condition = Callable[[Call], bool]


def each(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The value with every tensor in it changed."""
    return tree_map_only(torch.Tensor, change, value)


def other(tensor: torch.Tensor) -> torch.Tensor:
    """Another tensor of that shape."""
    return ~tensor if tensor.dtype == torch.bool else tensor + tensor + 1


def wrong(value: Any) -> Any:
    """Another value of that kind."""
    return {} if isinstance(value, dict) else each(value, other)


def shapes(call: Call) -> tuple[Any, ...]:
    """The shapes of the arguments, and what is not a tensor as it is."""
    return tuple(
        tuple(arg.shape) if isinstance(arg, torch.Tensor) else repr(arg)
        for arg in tree_leaves(call.args)
    )
