"""Names the two sizes that do not match when an answer raises torch's error about them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations

_SIZES = re.compile(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")


def sizes_that_meet(raised: Sequence[tuple[Mapping[str, int], str]]) -> tuple[str, str] | None:
    """Returns the names of two sizes that meet in every call, from its sizes and its error.

    None if there were other errors too, or if other names would also fit.
    """
    found: set[frozenset[str]] | None = None
    for sizes, error in raised:
        numbers = _SIZES.search(error)
        if not numbers:
            return None
        pair = [int(number) for number in numbers.groups()]
        here = {
            frozenset((x, y)) for x, y in permutations(sizes, 2) if [sizes[x], sizes[y]] == pair
        }
        found = here if found is None else found & here
    if not found or len(found) > 1:
        return None
    one, other = sorted(found.pop())
    return one, other
