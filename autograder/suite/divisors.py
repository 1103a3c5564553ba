"""Numbers that can't be shared equally, drawn: an error that is promised holds for all of them."""

from __future__ import annotations

from .draw import Draw

#: how much is left over, and how many share, is not for anybody to know
_MOST = 9


def undivided(draw: Draw) -> list[tuple[int, int]]:
    """Pairs of a number and of one that does not divide it, of all kinds that a check may miss.

    Fewer than they are shared among, one too many, one too few, a common divisor, halves.
    """
    among, times = draw.integer(3, _MOST), draw.integer(1, 3)
    common = draw.integer(2, 4)
    return [
        (draw.integer(1, among - 1), among),
        (among * times + 1, among),
        (among * (times + 1) - 1, among),
        (3 * common, 2 * common),
        (2 * draw.integer(1, _MOST) + 1, 2),
    ]
