"""Computes a plot of points against submission times: circles in a frame of 100 by 40."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ..counts import number_of
from ..deadlines import duration_text
from ..results.wording import amount
from .arriving import ArrivalSpot

WIDTH, HEIGHT = 100.0, 40.0
_LEAST, _MOST = 0.7, 2.2


@dataclass(frozen=True, slots=True)
class Circle:
    """The circle for a spot: its position, size, lateness, and a description."""

    x: float
    y: float
    radius: float
    is_late: bool
    text: str


@dataclass(frozen=True, slots=True)
class ArrivalPlot:
    """The circles, the position of the due date, and descriptions of the first and last times."""

    circles: tuple[Circle, ...]
    due: float
    first: str
    last: str


def arrival_plot(spots: Sequence[ArrivalSpot]) -> ArrivalPlot | None:
    """Returns a plot of the spots, or None if there are fewer than two spots."""
    if len(spots) < 2:
        return None
    times = [0.0, *(spot.hours for spot in spots)]
    first, last = min(times), max(times)
    scale = (WIDTH - 2 * _MOST) / ((last - first) or 1.0)
    at = [_MOST + scale * (hours - first) for hours in (0.0, *(spot.hours for spot in spots))]
    circles = zip(spots, at[1:], _radii(spots), strict=True)
    return ArrivalPlot(
        tuple(_circle(spot, x, radius) for spot, x, radius in circles),
        round(at[0], 2),
        _when(first),
        _when(last),
    )


def _radii(spots: Sequence[ArrivalSpot]) -> Iterator[float]:
    """Yields a radius of at least `_LEAST` for each spot.

    The areas of circles with larger radii are proportional to the numbers of submissions.
    """
    most = max(spot.submissions for spot in spots)
    for spot in spots:
        yield max(_LEAST, _MOST * math.sqrt(spot.submissions / most))


def _circle(spot: ArrivalSpot, x: float, radius: float) -> Circle:
    y = _MOST + (HEIGHT - 2 * _MOST) * (1 - spot.share)
    who = number_of(spot.submissions, "submission")
    text = f"{who} {_when(spot.hours)}: {amount(100 * spot.share)}% of the points"
    return Circle(round(x, 2), round(y, 2), round(radius, 2), spot.hours > 0, text)


def _when(hours: float) -> str:
    if abs(hours) < 1 / 60:
        return "when it was due"
    minutes = round(abs(hours) * 60)
    rough = minutes // 60 * 60 if minutes >= 60 else minutes
    return f"{duration_text(timedelta(minutes=rough))} {'after' if hours > 0 else 'before'}"
