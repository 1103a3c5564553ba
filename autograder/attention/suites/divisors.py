"""Draws numbers that can't be divided equally: the promised error must be raised for all."""

from __future__ import annotations

from ...suite.arguments import Draw

#: the largest divisor; the number is then at most 16, the largest number of heads
_AMONG = 6


def undivided(draw: Draw) -> list[tuple[int, int]]:
    """Return pairs of a number and one that does not divide it, of all kinds that a check may miss.

    Smaller than the divisor, one too many, one too few, a common divisor, halves.
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
