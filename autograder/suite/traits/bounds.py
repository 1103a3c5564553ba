"""Keeps what a generated test asks small: for plain loops, and to be sent to every worker."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from .inputs import Input, Sizes, Tensor

#: a tensor has no more numbers than this where its longest side alone does not make it larger
_MOST_NUMBERS = 1 << 17


def shorter(
    sizes: Sizes, least: Mapping[str, int], steps: Callable[[Sizes], int], most: int
) -> Sizes:
    """The same, or less of what is longest among some letters, until a call has no more steps.

    None of them becomes less than its `least`.
    """
    while steps(sizes) > most:
        longest = max((sizes.letters[x] for x in least), default=0)
        less = {
            x: max(n, longest * 31 // 32) for x, n in least.items() if sizes.letters[x] == longest
        }
        if all(sizes.letters[x] == n for x, n in less.items()):
            break
        sizes = sizes.but(less)
    return sizes


def thin(sizes: Sizes, inputs: Sequence[Input], smallest: Mapping[str, int]) -> Sizes:
    """The longest side alone of a tensor that would be very large."""
    for item in inputs:
        if isinstance(item, Tensor) and math.prod(sizes.shape(item.shape)) > _MOST_NUMBERS:
            longest = max(item.letters, key=sizes.letters.__getitem__)
            sizes = sizes.but({x: smallest.get(x, 1) for x in item.letters if x != longest})
    return sizes
