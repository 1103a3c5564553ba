"""When submissions arrived against what they earned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from ..classroom import Lateness

#: how long before it was due a submission arrived, from early to late
_BEFORE = (
    (timedelta(days=3), "more than 3 days before"),
    (timedelta(days=1), "1 to 3 days before"),
    (timedelta(hours=3), "on the last day"),
    (timedelta(), "in the last 3 hours"),
)
_LATE = "late"


@dataclass(frozen=True, slots=True)
class ArrivalGroup:
    """How many submissions arrived when, and their mean part of the points."""

    when: str
    submissions: int
    share: float


def arrival_groups(
    found: Iterable[tuple[Lateness | None, float]],
) -> tuple[ArrivalGroup, ...]:
    """The groups of submissions whose time and due date are known, from early to late.

    Each is given with its part of the points. A submission within its extension is not late.
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
    if arrived.submitted is None or arrived.due is None:
        return ""
    left = arrived.due - arrived.submitted
    return next((name for least, name in _BEFORE if left >= least), "")
