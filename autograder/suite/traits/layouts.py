"""The layouts that a tensor may have in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

#: returns a tensor with the same numbers (`expanded` repeats the first ones)
Layout = Callable[[torch.Tensor], torch.Tensor]


def contiguous(tensor: torch.Tensor) -> torch.Tensor:
    """Row after row."""
    return tensor


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """Use the layout that `.transpose(-2, -1)` leaves."""
    if tensor.dim() < 2:
        return sliced(tensor)
    return tensor.transpose(-2, -1).contiguous().transpose(-2, -1)


def heads(tensor: torch.Tensor) -> torch.Tensor:
    """Lay out as `(B, H, T, d)` after moving the heads of `(B, T, H, d)` to the front."""
    if tensor.dim() < 3:
        return turned(tensor)
    return tensor.transpose(-3, -2).contiguous().transpose(-3, -2)


def sliced(tensor: torch.Tensor) -> torch.Tensor:
    """Every second column of a wider tensor."""
    wider = tensor.new_zeros(*tensor.shape[:-1], 2 * tensor.shape[-1])
    wider[..., 1::2] = tensor
    return wider[..., 1::2]


def expanded(tensor: torch.Tensor) -> torch.Tensor:
    """Repeat the first entry of the first dimension everywhere, as `.expand` does."""
    return tensor[:1].clone().expand_as(tensor)


def inside(tensor: torch.Tensor) -> torch.Tensor:
    """Row after row, but not from the beginning of its memory, as `x[1:]` of a batch."""
    row = tensor.reshape(-1)
    return torch.cat([row[:1], row])[1:].view(tensor.shape)


def with_holes(tensor: torch.Tensor) -> torch.Tensor:
    """Set every fifth number, in the order of memory, to zero."""
    holed = tensor.clone()
    holed.as_strided((holed.numel(),), (1,))[3::5] = 0
    return holed


def with_zeros(tensor: torch.Tensor) -> torch.Tensor:
    """Make holes, and one row of zeros if there are several."""
    holed = with_holes(tensor)
    if holed.dim() > 1 and holed.shape[-2] > 2:
        holed[..., 1, :] = 0
    return holed


def shared(arguments: Sequence[Any]) -> list[Any]:
    """Return the arguments with one tensor for all floating-point ones of the same shape."""
    first: dict[tuple[int, ...], torch.Tensor] = {}

    def same(tensor: torch.Tensor) -> torch.Tensor:
        known = first.setdefault(tuple(tensor.shape), tensor)
        return known if tensor.is_floating_point() else tensor

    return list(tree_map_only(torch.Tensor, same, list(arguments)))


#: all layouts but the plain one
LAYOUTS: tuple[Layout, ...] = (turned, heads, sliced, expanded, inside)
