"""Compares the times at which submissions arrived with the points that they earned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ..classroom import Lateness

#: groups of submissions by the time left until the due date, from early to late
_BEFORE = (
    (timedelta(days=3), "more than 3 days before"),
    (timedelta(days=1), "1 to 3 days before"),
    (timedelta(hours=3), "on the last day"),
    (timedelta(), "in the last 3 hours"),
)
_LATE = "late"
#: the first and the last hour that the plot shows, relative to the due date; earlier and later
#: times are drawn at its edges
_EARLIEST, _LATEST = -14 * 24.0, 14 * 24.0
_COLUMNS, _ROWS = 28, 10

Found = Iterable[tuple[Lateness | None, float]]


@dataclass(frozen=True, slots=True)
class ArrivalGroup:
    """A period, with the number of submissions in it and their mean share of the points."""

    when: str
    submissions: int
    share: float


@dataclass(frozen=True, slots=True)
class ArrivalSpot:
    """Submissions with about the same time and score, which are drawn as one spot.

    `hours` is how many hours after the due date the submissions arrived on average (negative if
    before), `share` is their mean share of the points, and `submissions` is their number.
    """

    hours: float
    share: float
    submissions: int


def arrival_spots(found: Found) -> tuple[ArrivalSpot, ...]:
    """Groups submissions by time and points, so that the page stays small even for 2,000 students.

    `found` contains, for each submission, its lateness and the share of the points that it earned.
    Submissions whose time or due date is unknown are left out.
    """
    known = [
        (min(max(a.after.total_seconds() / 3600, _EARLIEST), _LATEST), share)
        for a, share in found
        if a and a.after is not None
    ]
    if not known:
        return ()
    first, last = min(hours for hours, _ in known), max(hours for hours, _ in known)
    width = (last - first) / _COLUMNS or 1.0
    spots: defaultdict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for hours, share in known:
        spots[int((hours - first) / width), round(share * _ROWS)].append((hours, share))
    return tuple(_spot(own) for _, own in sorted(spots.items()))


def _spot(own: Sequence[tuple[float, float]]) -> ArrivalSpot:
    hours, shares = (sum(values) / len(own) for values in zip(*own, strict=True))
    return ArrivalSpot(hours, shares, len(own))


def arrival_groups(found: Found) -> tuple[ArrivalGroup, ...]:
    """Groups submissions by the period in which they arrived, from early to late.

    `found` contains, for each submission, its lateness and the share of the points that it earned.
    A submission within its extension is not late. If a submission is not marked as late, and its
    time or due date is unknown, it is left out.
    """
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for arrived, share in found:
        if arrived and (when := _when(arrived)):
            shares[when].append(share)
    names = [*(name for _, name in _BEFORE), _LATE]
    return tuple(
        ArrivalGroup(name, len(shares[name]), sum(shares[name]) / len(shares[name]))
        for name in names
        if name in shares
    )


def _when(arrived: Lateness) -> str:
    if arrived.is_late:
        return _LATE
    if arrived.after is None:
        return ""
    return next(name for least, name in _BEFORE if -arrived.after >= least)
