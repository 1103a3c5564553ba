"""Detects random patterns that are copies of each other: partial, shifted, reversed or negated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import torch

from . import tails


def echo_problem(calls: Sequence[torch.Tensor], present: torch.Tensor | None = None) -> str | None:
    """Return a problem if a pattern repeats part of itself or of another pattern, otherwise None.

    `calls` contains bool tensors of equal size; entries where `present`, of the same size, is False
    do not count, but keep their positions in memory. Needs 600 entries, between a fifth and four
    fifths of them True. Notices a repeated part that is at least 45% of 600 entries, or an eighth
    of 6,000. If almost all entries are equal, the check notices nothing.

    A correlation is a sum of products of two entries with mean 0 and variance 1. Between two calls,
    every product occurs once; between a pattern and itself, or its reverse, a product may occur
    twice. `tails.farthest_sum` bounds these sums for all positions at the same time.
    """
    signs = torch.stack([call.double().flatten() for call in calls])
    places = torch.ones_like(signs[0]) if present is None else present.double().flatten()
    size = int(places.sum())
    share = float((signs * places).sum()) / (size * len(calls))
    if share in (0.0, 1.0):
        return None
    signs = (signs - share) / (share * (1 - share)) ** 0.5 * places
    length = len(places)
    largest = max(share / (1 - share), (1 - share) / share)
    sums = 2 * length * len(calls) * (len(calls) + 1) // 2
    once = tails.farthest_sum(largest, sums, size)
    twice = tails.farthest_sum(2 * largest, sums, 2 * size)
    spectra = torch.fft.rfft(signs)
    for one, other in combinations_with_replacement(range(len(calls)), 2):
        moved = torch.fft.irfft(spectra[one].conj() * spectra[other], length) / size
        if one == other:
            moved[0] = 0.0
        turned = torch.fft.irfft(spectra[one] * spectra[other], length) / size
        far = twice if one == other else once
        for alike, bound, how in ((moved, far, ""), (turned, twice, ", reversed")):
            place = int(alike.abs().argmax())
            if abs(float(alike[place])) * size > bound:
                return _repetition(one, other, place, float(alike[place]), how)
    return None


def _repetition(one: int, other: int, place: int, alike: float, how: str) -> str:
    what = "repeats" if alike > 0 else "is the opposite of"
    moved = f" moved by {place} entries" if place and not how else ""
    whose = "itself" if one == other else f"that of call {one + 1}"
    return f"the pattern of call {other + 1} {what} {whose}{moved}{how}: {abs(alike):.0%} agree"
