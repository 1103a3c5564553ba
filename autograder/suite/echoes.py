"""Whether random patterns repeat each other: in part, moved along, turned round or the opposite."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import torch

#: standard deviations that no correlation of independent patterns reaches at any place: those
#: moved along have all of their entries once in each sum, those turned round have each twice
_FAR, _FAR_TURNED = 8.0, 12.0


def echo_problem(calls: Sequence[torch.Tensor]) -> str | None:
    """None if no pattern has anything of another one, or of itself at another place.

    `calls` holds bool tensors of one size, of which a fifth to four fifths are True. Wants 600
    entries; a part that repeats is noticed from a third of 600, and a tenth of 6,000, upwards.
    """
    signs = torch.stack([call.double().flatten() for call in calls])
    share = float(signs.mean())
    signs = (signs - share) / (share * (1 - share)) ** 0.5
    size = signs.shape[-1]
    spectra = torch.fft.rfft(signs)
    for one, other in combinations_with_replacement(range(len(calls)), 2):
        moved = torch.fft.irfft(spectra[one].conj() * spectra[other], size) / size
        if one == other:
            moved[0] = 0.0
        turned = torch.fft.irfft(spectra[one] * spectra[other], size) / size
        for alike, far, how in ((moved, _FAR, ""), (turned, _FAR_TURNED, ", turned round")):
            place = int(alike.abs().argmax())
            if abs(float(alike[place])) > far / size**0.5:
                return _told(one, other, place, float(alike[place]), how)
    return None


def _told(one: int, other: int, place: int, alike: float, how: str) -> str:
    what = "repeats" if alike > 0 else "is the opposite of"
    moved = f" moved by {place} entries" if place and not how else ""
    whose = "itself" if one == other else f"that of call {one + 1}"
    return f"the pattern of call {other + 1} {what} {whose}{moved}{how}: {abs(alike):.0%} are bound"
