"""Special numbers for arguments: ordered, equal, whole, small.

Each function keeps the shape and the meaning of the values: weights that are not negative stay so,
ids and masks do not change.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .layouts import Layout

_SMALL = 1 / 64
#: sums of products of one sign grow with their length: this factor keeps scores moderate
_ONE_SIGN = 1 / 2


def as_drawn(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor unchanged."""
    return tensor


def rising(tensor: torch.Tensor) -> torch.Tensor:
    """No negative numbers, each row from small to large, the second row equal to the first.

    Rows without negative numbers keep their order, because a right answer may subtract from their
    sum what rounding would lose.
    """
    if tensor.dtype == torch.int64:
        return tensor.sort(dim=-1).values
    if not _is_free(tensor):
        return tensor
    ordered = (tensor.abs() * _ONE_SIGN).sort(-1).values if _has_negative(tensor) else tensor
    if tensor.dim() > 1 and tensor.shape[-2] > 2:
        ordered = ordered.clone()
        ordered[..., 1, :] = ordered[..., 0, :]
    return ordered


def falling(tensor: torch.Tensor) -> torch.Tensor:
    """No positive numbers, if there are negative ones; each row from large to small."""
    if not _is_free(tensor):
        return tensor
    one_sign = -tensor.abs() * _ONE_SIGN if _has_negative(tensor) else tensor
    return one_sign.sort(-1, descending=True).values


def level(tensor: torch.Tensor) -> torch.Tensor:
    """One number in each row, in whole eighths, and not 0.

    Their sums, means and squares are exact in any order of computation. With other numbers, a norm
    would divide the rounding error by the root of its eps.
    """
    if not _is_free(tensor):
        return tensor
    first = tensor[..., :1]
    eighths = (first.abs() * 8).round().clamp(min=1) / 8
    return torch.where(first < 0, -eighths, eighths).expand_as(tensor)


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers, if numbers may be negative."""
    return tensor.round() if _is_free(tensor) and _has_negative(tensor) else tensor


def small(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers near zero, if numbers may be negative."""
    return tensor * _SMALL if _is_free(tensor) and _has_negative(tensor) else tensor


#: the numbers of the calls, in turn
NUMBERS: Sequence[Layout] = (as_drawn, rising, falling)


def of_turn(turn: int) -> Layout:
    """Return the numbers of a call by its index, counted from 0."""
    return NUMBERS[turn % len(NUMBERS)]


def both(numbers: Layout, layout: Layout) -> Layout:
    """Combine these numbers with that layout."""
    return lambda tensor: layout(numbers(tensor))


def _is_free(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dim() > 0


def _has_negative(tensor: torch.Tensor) -> bool:
    return bool((tensor < 0).any())
