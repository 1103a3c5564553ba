"""Reads the descriptions of families of mistakes, and the families' hints, from `words.toml`.

`steps.toml` contains the changes to each step and the family of each change. `details.toml`
contains descriptions of parts of a solution.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

#: alternatives to a step, each with the key of its family
Rows = Iterable[tuple[str, str]]

_NO_NAME = re.compile(r"[^a-z0-9]+")


def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


_WORDS, STEPS = _read("words.toml"), _read("steps.toml")
#: words for the operations, functions and values of a solution
DETAILS: Mapping[str, Mapping[str, str]] = _read("details.toml")
#: the hint for families without their own hint, and for two mistakes at once
LEAD: str = _WORDS["lead"]
#: the position of each frequent family in the order of frequency, by the family's id
FREQUENT: Mapping[str, int] = {name: at for at, name in enumerate(_WORDS["frequent"])}
#: the position of all other families
RARE = len(FREQUENT)
#: small changes, each with its family
SMALL_CHANGES: Mapping[str, str] = STEPS["small_changes"]


def words_of(key: str) -> str:
    """Returns a description of a family's effect that can follow "This answer behaves as if"."""
    words: str = _WORDS[key]["words"]
    return words


def lead_of(key: str) -> str:
    """Returns a family's hint for students: a question, or something to try."""
    lead: str = _WORDS[key].get("lead", LEAD)
    return lead


def id_of(words: str) -> str:
    """Returns the id that results contain for a description or for a family's key."""
    return _NO_NAME.sub("_", words.lower()).strip("_")


def frequency_place(name: str) -> int:
    """Returns a family's position in the list of frequent families, or `RARE` if not listed."""
    return FREQUENT.get(name, RARE)


def likeliest_first(items: Iterable[tuple[str, Any]]) -> list[Any]:
    """Returns the items, the likeliest first.

    Each item is paired with its family's id. An item counts as less likely if its family is rarer,
    or if more items of the same family precede the item.
    """
    turns: Counter[str] = Counter()
    found: list[tuple[float, Any]] = []
    for name, item in items:
        found.append(((1 + frequency_place(name) / 2) * (1 + turns[name]), item))
        turns[name] += 1
    return [item for _, item in sorted(found, key=lambda item: item[0])]
