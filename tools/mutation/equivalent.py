"""Reads the list of mutants that no test can or should reject, with a reason for each mutant."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .mutants import Mutant

_TEXTS = ("module", "question", "operator", "before", "reason")


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A mutant that no test can or should reject, with the lines before and after the change.

    If `module` is `*`, the entry applies to all modules; likewise for `question`.
    """

    module: str
    question: str
    operator: str
    before: str
    after: str
    reason: str

    def fits(self, mutant: Mutant) -> bool:
        """Returns whether this entry explains the mutant."""
        module, question, *change = mutant.key
        where = self.module in (module, "*") and self.question in (question, "*")
        return where and change == [self.operator, self.before, self.after]


def read_equivalents(path: Path) -> tuple[Equivalent, ...]:
    """Returns the entries, one for each item in `after`; raises `ValueError` for invalid ones."""
    if not path.is_file():
        return ()
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return tuple(item for entry in entries for item in _read(path, entry))


def _read(path: Path, entry: dict[str, Any]) -> Iterator[Equivalent]:
    texts = [entry.get(key) for key in _TEXTS]
    after = entry.get("after")
    if not all(isinstance(text, str) for text in texts) or not isinstance(after, list):
        raise ValueError(
            f"{path}: an entry needs the texts {', '.join(_TEXTS)} and the list after, got {entry}"
        )
    module, question, operator, before, reason = map(str, texts)
    for line in after:
        yield Equivalent(module, question, operator, before, str(line), reason)
