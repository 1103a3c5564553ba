"""Two results of one answer that should be equal: which of the two a number is from is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .compare import difference

_SIDE = re.compile(r"^(got|expected) +|\b(got|expected)\b(?= )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two results are called, neither of which is known to be right, and what equals them."""

    one: str
    other: str
    likely: str

    def check(self, one: Any, other: Any, that: Callable[..., None]) -> None:
        """Both are equal, within the contract's tolerance; `that` fails where they are not.

        What is not a number in both is equal: that it is none, another test says.
        """
        text = difference(*_without_nan(one, other))
        that(
            text is None,
            got=f"different results, {self.one} and {self.other}:\n{self._named(text or '')}",
            expected=f"the same result, {self.one} and {self.other}",
            likely=self.likely,
        )

    def _named(self, text: str) -> str:
        width = max(len(self.one), len(self.other)) + 2

        def name(found: re.Match[str]) -> str:
            side = self.one if "got" in found[0] else self.other
            return side.ljust(width) if found[1] else side

        return _SIDE.sub(name, text)


def _without_nan(one: Any, other: Any) -> tuple[Any, Any]:
    """Both values with 0 where both have nan."""
    if isinstance(one, tuple | list) and isinstance(other, tuple | list) and len(one) == len(other):
        pairs = [_without_nan(*pair) for pair in zip(one, other, strict=True)]
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return one, other
    if one.shape != other.shape or one.is_meta or other.is_meta:
        return one, other
    both = one.isnan() & other.isnan()
    return one.masked_fill(both, 0), other.masked_fill(both, 0)
