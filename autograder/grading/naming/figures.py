"""Summarizes a tensor by a few figures to compare, each with a bound for rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from ...suite.compare import FLOAT32, FLOAT64

_PLACES, SUMS = 4, 2
#: the numbers of one tensor; a larger tensor is compared by its shape only
_MOST_NUMBERS = 1 << 18
#: the factor for gradients in float32, in which rounding is larger, as in `suite.compare`
_OF_GRADIENTS = 100.0


def _is_plain(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor has numbers to read, and not too many."""
    dense = tensor.layout == torch.strided and not tensor.is_quantized
    return dense and not tensor.is_complex() and 0 < tensor.numel() <= _MOST_NUMBERS


def largest_of(tensors: Iterable[torch.Tensor]) -> float:
    """Returns the largest finite number."""
    plain = (np.nan_to_num(_numbers(t), posinf=0.0, neginf=0.0) for t in tensors if _is_plain(t))
    return max((float(np.abs(values).max()) for values in plain), default=0.0)


def figures_of(tensor: torch.Tensor, of_gradients: float | None) -> Iterator[tuple[float, float]]:
    """Yields figures of a tensor, each with the largest change by rounding.

    Gradients have larger bounds: in float32, and in proportion to the largest of all gradients,
    which may be part of sums that cancel.
    """
    if not _is_plain(tensor):
        return
    values = _numbers(tensor)
    directions = _directions(len(values))
    size = float(np.abs(values).max())
    if not math.isfinite(size):
        odd = np.stack([np.isnan(values), values == np.inf, values == -np.inf]).astype(np.float64)
        yield from ((figure, 1e-6) for figure in (odd @ directions[0]).tolist())
        values = np.where(np.isfinite(values), values, 0.0)
        size = float(np.abs(values).max())
    is_double = tensor.dtype == torch.float64
    bound = FLOAT64 if is_double else FLOAT32
    more = 1.0 if is_double or of_gradients is None else _OF_GRADIENTS
    size = max(1.0, size, of_gradients or 0.0)
    far = more * (bound.atol * size + bound.rtol * np.abs(values))
    places = _places(len(values))
    yield from zip(values[places].tolist(), far[places].tolist(), strict=True)
    with np.errstate(over="ignore", invalid="ignore"):  # sums of huge numbers are infinite
        moved = np.sqrt(np.square(directions * far).sum(axis=1))
        sums = directions @ values
    yield from zip(sums.tolist(), (3 * moved + 1e-9).tolist(), strict=True)


def _numbers(tensor: torch.Tensor) -> NDArray[np.float64]:
    """Returns all numbers of a tensor as a row of numpy, which is three times as fast here."""
    return tensor.detach().flatten().double().numpy()


def shares_of(tensor: torch.Tensor) -> Iterator[float]:
    """Yields figures that samples of one mistake roughly share; the sizes are first."""
    yield from map(float, tensor.shape)
    if not _is_plain(tensor) or not tensor.dtype.is_floating_point:
        return
    values = tensor.detach().double().nan_to_num(0.0, 0.0, 0.0)
    yield float((values == 0).double().mean())
    yield float(values.mean())
    yield float(values.abs().mean())
    yield float(values.square().mean().sqrt())
    for dim in range(values.dim()):
        yield float(values.mean(dim).square().mean().sqrt())
        yield float((values == 0).all(dim).double().mean())


@lru_cache(maxsize=64)
def _directions(size: int) -> NDArray[np.float64]:
    draws = torch.Generator().manual_seed(size)
    return torch.randn(SUMS, size, generator=draws, dtype=torch.float64).numpy()


@lru_cache(maxsize=64)
def _places(size: int) -> NDArray[np.int64]:
    if size <= _PLACES:
        return np.arange(size)
    draws = torch.Generator().manual_seed(size)
    return torch.randint(size, (_PLACES,), generator=draws).numpy()
