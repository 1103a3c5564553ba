"""What numbers an argument may hold besides ordinary ones: ordered, equal, whole, small.

Each keeps the shape and what the values are for: weights that are not negative stay so, ids and
masks stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .layouts import Layout

_SMALL = 1 / 64
#: sums of products of one sign grow with their length: attention is judged with moderate scores
_ONE_SIGN = 1 / 2


def as_drawn(tensor: torch.Tensor) -> torch.Tensor:
    """No change."""
    return tensor


def rising(tensor: torch.Tensor) -> torch.Tensor:
    """None below zero, each row from small to large, the second row equal to the first.

    Rows that are not negative anyway keep their order: what a right answer takes from their sum
    may not be lost in its rounding.
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
    """None above zero, where numbers may be negative; each row from large to small."""
    if not _is_free(tensor):
        return tensor
    one_sign = -tensor.abs() * _ONE_SIGN if _has_negative(tensor) else tensor
    return one_sign.sort(-1, descending=True).values


def level(tensor: torch.Tensor) -> torch.Tensor:
    """One number in each row, in whole eighths, and not 0.

    Sums, means and squares of these are exact, however they are computed. Of other numbers a norm
    would divide what rounding left by the root of its eps.
    """
    if not _is_free(tensor):
        return tensor
    first = tensor[..., :1]
    eighths = (first.abs() * 8).round().clamp(min=1) / 8
    return torch.where(first < 0, -eighths, eighths).expand_as(tensor)


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers, where numbers may be negative."""
    return tensor.round() if _is_free(tensor) and _has_negative(tensor) else tensor


def small(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers near zero, where numbers may be negative."""
    return tensor * _SMALL if _is_free(tensor) and _has_negative(tensor) else tensor


#: in the order in which calls take turns
NUMBERS: Sequence[Layout] = (as_drawn, rising, falling)


def of_turn(turn: int) -> Layout:
    """The numbers of the call with that number, counted from 0."""
    return NUMBERS[turn % len(NUMBERS)]


def both(numbers: Layout, layout: Layout) -> Layout:
    """These numbers in that layout."""
    return lambda tensor: layout(numbers(tensor))


def _is_free(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dim() > 0


def _has_negative(tensor: torch.Tensor) -> bool:
    return bool((tensor < 0).any())
