"""Draws numbers that can't be divided equally and must therefore raise the promised error."""

from __future__ import annotations

from ...suite.arguments import Draw

#: the largest divisor; with it, numbers are at most 16, the largest number of heads
_AMONG = 6


def undivided(draw: Draw) -> list[tuple[int, int]]:
    """Return pairs of a number and a non-divisor, one pair for each kind that a check may miss.

    The number is smaller than the non-divisor, is one more or one less than a multiple of it, has a
    divisor in common with it, or is an odd multiple of half of it.
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
