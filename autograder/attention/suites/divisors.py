"""Numbers that can't be shared equally, drawn: an error that is promised holds for all of them."""

from __future__ import annotations

from ...suite.draw import Draw

#: among how many at most; the number is then no larger than that of heads may be, 16
_AMONG = 6


def undivided(draw: Draw) -> list[tuple[int, int]]:
    """Pairs of a number and of one that does not divide it, of all kinds that a check may miss.

    Fewer than they are shared among, one too many, one too few, a common divisor, halves.
    """
    among, times = draw.integer(3, _AMONG), draw.integer(1, 2)
    common = 2 * draw.integer(1, 2)
    return [
        (draw.integer(1, among - 1), among),
        (among * times + 1, among),
        (among * 2 - 1, among),
        (3 * common, 2 * common),
        (2 * draw.integer(1, _AMONG) + 1, 2),
    ]
