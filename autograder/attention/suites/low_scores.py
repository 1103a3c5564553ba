"""Draws inputs whose scores are all far below zero, so that masked scores must be even lower.

A mask that fills in -20, -30 or -50 works as well as minus infinity while visible scores are near
zero. Only a few questions require correct results for scores of 50 or more, so the scores here stay
above -50, before scaling and, for heads of size one, after it. In the last sample of a batch, the
scores of the later half of the keys are as far above zero as the other scores are below it. If an
answer hides these keys by lowering their scores by only a hundred, the hidden scores are still
close to the visible ones. Float64 can represent a softmax over all of these scores, so an answer
that masks the weights after the softmax and normalizes the rows again is also correct.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...suite.arguments import Draw

#: the approximate magnitude of the lowest scores, before division by the root of the head size
_LOW = 48.0
#: the largest relative difference between entries, and that between the first and the last key
_APART, _LATER = 0.02, 0.15
#: the likely cause if scores of `rows_far_apart` give a wrong result
FAR_APART = (
    "rows of scores may be far apart: subtract the maximum of each row, not that of all scores"
)
#: the factor for the values of later keys, so that even a tiny weight on a hidden key shows
_LOUD = 1e5


@dataclass(frozen=True, slots=True)
class ScaledScores:
    """Declares that scores are divided by the square root of a size, and provides very low scores.

    A function's first three tensors are its queries, keys and values, or else tokens and the
    weights (H, d, d_in) that turn them into queries and keys.
    """

    letter: str
    largest: int = 4096

    @property
    def likely(self) -> str:
        """The likely cause if an answer is wrong with these scores."""
        return (
            "a query may have thousands of entries: divide scores by the exact square root of "
            "that number, and keep hidden positions hidden, however large the root is"
        )

    def arguments(self, draw: Draw, made: Sequence[Any], size: int) -> list[Any]:
        """Return arguments with low scores, or `made` if the shapes in it don't fit this class.

        All values except those of the first key are large.
        """
        first, second = made[0].shape, made[1].shape
        if second[-2] == size and first[-1] != size:
            low = [_near(draw, weights.shape, torch.float64) for weights in made[1:3]]
            root = math.sqrt(_LOW / size) / first[-1]
            tokens = _rising(_near(draw, first, torch.float64))
            return [tokens, low[0] * root, low[1] * -root, *made[3:]]
        if first[-1] != size or second[-1] != size:
            return [*made]
        for values in made[2:3]:
            values[..., 1:, :] *= _LOUD
        return [*low_queries_and_keys(draw, first, second, torch.float64), *made[2:]]

    def weights(self, draw: Draw, size: int) -> Callable[[str, tuple[int, ...]], torch.Tensor]:
        """Return the function that `low_scoring` returns, extended to matrices (d_in, d_out)."""
        low = low_scoring(draw, size)

        def weight(name: str, shape: tuple[int, ...]) -> torch.Tensor:
            return low(name, shape[::-1]).mT if shape[1:] == (size,) else low(name, shape)

        return weight

    def tokens(self, draw: Draw, *shape: int) -> torch.Tensor:
        return low_tokens(draw, *shape)


def low_queries_and_keys(
    draw: Draw,
    queries: tuple[int, ...],
    keys: tuple[int, ...],
    dtype: torch.dtype = torch.float32,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw two tensors of shapes (..., T, d) and (..., S, d) with scores from -48 to -39.

    The later a key, the higher its score, so that a causal mask hides the highest scores. The later
    keys in the last sample have scores from 39 to 48.
    """
    size = math.sqrt(_LOW / queries[-1])
    return _near(draw, queries, dtype) * size, _turned(_rising(_near(draw, keys, dtype))) * -size


def rows_far_apart(
    draw: Draw, queries: tuple[int, ...], keys: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw float32 tensors (..., T, 1) and (..., S, 1) with scores near 49 or -49.

    All scores of a query have the same sign, and the signs alternate from query to query. In
    float32, the exponential of the distance between such rows keeps only two digits, so an answer
    must shift each row separately, or shift no row.
    """
    signs = 1.0 - 2.0 * (torch.arange(queries[-2]) % 2).unsqueeze(-1)
    one, other = (draw.uniform(*shape, low=6.98, high=7.03) for shape in (queries, keys))
    return one * signs, other


def far_scoring(draw: Draw) -> Callable[[str, tuple[int, ...]], torch.Tensor]:
    """Return a function that draws weights; with `far_tokens`, scores are as in `rows_far_apart`.

    The layer has heads of size 1; matrices have shape (d_out, d_in). Queries are the first entries
    of the tokens, and keys are the second entries.
    """

    def weight(name: str, shape: tuple[int, ...]) -> torch.Tensor:
        if "query" not in name and "key" not in name:
            return draw.normal(*shape, scale=0.5)
        made = torch.zeros(shape)
        if len(shape) > 1:
            made[:, 0 if "query" in name else 1] = 1.0
        return made

    return weight


def far_tokens(draw: Draw, *shape: int) -> torch.Tensor:
    """Draw float32 tokens (B, T, d) for a layer whose weights `far_scoring` draws."""
    single = (*shape[:-1], 1)
    return torch.cat([*rows_far_apart(draw, single, single), draw.normal(*shape)[..., 2:]], -1)


def low_tokens(draw: Draw, *shape: int) -> torch.Tensor:
    """Draw tokens (B, T, d) in float64 for a layer whose weights `low_scoring` draws."""
    return _turned(_rising(_near(draw, shape, torch.float64)))


def low_scoring(draw: Draw, head_size: int) -> Callable[[str, tuple[int, ...]], torch.Tensor]:
    """Return a function that draws weights with which `low_tokens` have scores from -48 to -33.

    The weights of queries and keys, whose names contain `query` or `key`, have shape (d_out, d_in);
    their biases are zero. All other weights are normal.
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
    """Draw weights that give an attention layer large values but moderate scores.

    Some of the sums in the output are near zero, so that the use of single precision becomes
    visible.
    """
    scores = "query" in name or "key" in name
    return draw.normal(*shape, scale=0.4 if scores else 20.0)


def _near(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return draw.uniform(*shape, low=1 - _APART, high=1.0, dtype=dtype)


def _turned(keys: torch.Tensor) -> torch.Tensor:
    """Negate the later half of the last sample's keys; without a batch, change nothing."""
    if keys.dim() > 2:
        keys[-1, ..., (keys.shape[-2] + 1) // 2 :, :] *= -1
    return keys


def _rising(keys: torch.Tensor) -> torch.Tensor:
    later = torch.linspace(0.0, _LATER, keys.shape[-2], dtype=keys.dtype)
    return keys * (1 - later).unsqueeze(-1)
