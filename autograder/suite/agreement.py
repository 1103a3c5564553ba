"""Two results of one answer that should be equal: which of the two a number is from is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .compare import difference

_SIDE = re.compile(r"^(got|expected) +|\b(got|expected)\b(?= )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two results are called, neither of which is known to be right, and what equals them."""

    one: str
    other: str
    likely: str

    def check(self, one: Any, other: Any, that: Callable[..., None]) -> None:
        """Both are equal, within the contract's tolerance; `that` fails where they are not."""
        text = difference(one, other)
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
