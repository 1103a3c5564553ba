"""Finds names that look alike to people and differ for a computer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

#: letters of other scripts that look like Latin ones
_CYRILLIC = str.maketrans("аеорсухіјѕԁһкмтвн", "aeopcyxijsdhkmtbh")
_GREEK = str.maketrans("οαερνυικτ", "oaepvuikt")
_LATIN = _CYRILLIC | _GREEK


def lookalikes(students: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Returns notes on new students whose names look like those of others."""
    groups: defaultdict[str, set[str]] = defaultdict(set)
    chosen = list(new)
    for student in (*students, *chosen):
        groups[_looks(student)].add(student)
    return tuple(
        f"{' and '.join(map(ascii, sorted(groups[look])))} look alike: are they one student?"
        for look in sorted({_looks(student) for student in chosen})
        if len(groups[look]) > 1
    )


def _looks(name: str) -> str:
    return re.sub(r"[\s.\u200b-\u200f]+", " ", name.casefold().translate(_LATIN)).strip()
