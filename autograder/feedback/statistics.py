"""Figures of a class: how hard a question is, how well it tells students apart, how points lie."""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Sequence

#: fewer pairs of numbers say nothing about how they go together
_LEAST = 5
BINS = 10


def numbers() -> array[float]:
    """No numbers yet; each that is appended takes 8 bytes."""
    return array("d")


def discrimination(question: Sequence[float], rest: Sequence[float]) -> float | None:
    """How the points of a question go with those of the rest: from -1 to 1.

    None for fewer than five students, or where all have the same.
    """
    if len(question) < _LEAST:
        return None
    try:
        return statistics.correlation(question, rest)
    except statistics.StatisticsError:
        return None


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The values below which a quarter, half and three quarters lie; of at least one value."""
    if len(values) == 1:
        return (values[0],) * 3
    lower, middle, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, middle, upper


def histogram(shares: Sequence[float]) -> tuple[int, ...]:
    """How many of the shares (0 to 1) lie in each tenth."""
    counts = [0] * BINS
    for share in shares:
        counts[max(0, min(BINS - 1, int(BINS * share)))] += 1
    return tuple(counts)
