"""Compares two results of one answer and labels each number with its source."""

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
    """The names of two results that should be equal, and the likely cause if they are not."""

    one: str
    other: str
    likely: str

    def check(self, one: Any, other: Any, that: Callable[..., None]) -> None:
        """Compare both within the contract's tolerance; `that` fails if they differ.

        A nan in both counts as equal: another test reports it.
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
    """Replace nan by 0 in places where both values have it."""
    if isinstance(one, tuple | list) and isinstance(other, tuple | list) and len(one) == len(other):
        pairs = [_without_nan(*pair) for pair in zip(one, other, strict=True)]
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return one, other
    if one.shape != other.shape or one.is_meta or other.is_meta:
        return one, other
    both = one.isnan() & other.isnan()
    return one.masked_fill(both, 0), other.masked_fill(both, 0)
