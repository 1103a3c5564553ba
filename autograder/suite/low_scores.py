"""Inputs whose scores all lie far below zero: what is masked must lie lower still.

A fill of -20, of -30 or of -50 looks like minus infinity as long as visible scores are around zero.
Scores of 50 and more are asked of few questions only: before they are scaled, these stay above -50.
With heads of size one they are as low after it. In the last sample of a batch the later half of
the keys scores as high: a hundred taken off a hidden score leaves it among the visible ones there.
Float64 holds what a softmax over all of them makes of the low ones: who masks weights after it, and
makes rows sum to one again, is right, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from .draw import Draw

#: about where the lowest scores lie, before they are divided by the root of the head size
_LOW = 48.0
#: entries differ by that share; keys are smaller the later they come, by that much in all
_APART, _LATER = 0.02, 0.15


def low_queries_and_keys(
    draw: Draw,
    queries: tuple[int, ...],
    keys: tuple[int, ...],
    dtype: torch.dtype = torch.float32,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors of shapes (..., T, d) and (..., S, d) with scores from -48 to -39.

    The later a key, the higher it scores: in a causal mask what is hidden scores highest. The last
    sample's later keys score from 39 to 48.
    """
    size = math.sqrt(_LOW / queries[-1])
    return _near(draw, queries, dtype) * size, _turned(_rising(_near(draw, keys, dtype))) * -size


def rows_far_apart(
    draw: Draw, queries: tuple[int, ...], keys: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Float32 tensors (..., T, 1) and (..., S, 1): every other query has scores near 49 only.

    The queries between have scores near -49 only. Float32 has two digits left of the exponential
    of their distance, so that each row has a shift of its own, or none.
    """
    signs = 1.0 - 2.0 * (torch.arange(queries[-2]) % 2).unsqueeze(-1)
    one, other = (draw.uniform(*shape, low=6.98, high=7.03) for shape in (queries, keys))
    return one * signs, other


def low_tokens(draw: Draw, *shape: int) -> torch.Tensor:
    """Tokens (B, T, d) in float64 for a layer that `low_scoring` filled, as queries and as keys."""
    return _turned(_rising(_near(draw, shape, torch.float64)))


def low_scoring(draw: Draw, head_size: int) -> Callable[[str, tuple[int, ...]], torch.Tensor]:
    """Weights (d_out, d_in) of a layer whose scores of `low_tokens` lie from -48 to -33.

    For names that hold `query` or `key`; biases of these are zero, all else is normal.
    """
    size = math.sqrt(_LOW / head_size)

    def weight(name: str, shape: tuple[int, ...]) -> torch.Tensor:
        sign = 1.0 if "query" in name else -1.0
        if "query" not in name and "key" not in name:
            return draw.normal(*shape, scale=0.5)
        if len(shape) == 1:
            return torch.zeros(shape)
        return _near(draw, shape, torch.float32) * (sign * size / shape[1])

    return weight


def loud(draw: Draw, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Weights of a layer whose values are large, and whose scores are not.

    Some of the sums that the output is made of are near zero: single precision anywhere shows.
    """
    scores = "query" in name or "key" in name
    return draw.normal(*shape, scale=0.4 if scores else 20.0)


def _near(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return draw.uniform(*shape, low=1 - _APART, high=1.0, dtype=dtype)


def _turned(keys: torch.Tensor) -> torch.Tensor:
    """The later half of the last sample's keys with the other sign; none without a batch."""
    if keys.dim() > 2:
        keys[-1, ..., (keys.shape[-2] + 1) // 2 :, :] *= -1
    return keys


def _rising(keys: torch.Tensor) -> torch.Tensor:
    later = torch.linspace(0.0, _LATER, keys.shape[-2], dtype=keys.dtype)
    return keys * (1 - later).unsqueeze(-1)
