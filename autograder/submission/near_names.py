"""Suggests why an answer is missing: it may have a different name, or be in the wrong place."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

_ALIKE = 0.7
#: how many names to compare, and how long they may be, because finding a similar name takes time
_MOST_NAMES, _LONGEST_NAME = 1_000, 100


def hints(
    missing: Iterable[str],
    others: Collection[str],
    elsewhere: Collection[str] = (),
    by_magic: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Returns a hint for each missing question for which a similar definition was found.

    `others` contains other names that the file defines; `elsewhere` contains names whose
    definitions do not count, because they are inside another definition or in a cell that is not
    code. If a name is defined in a cell that a magic such as `%%writefile` treats as text,
    `by_magic` maps the name to that magic.
    """
    found: dict[str, str] = {}
    names = [*sorted(others), *sorted(set(elsewhere))]
    for name in missing:
        if name in by_magic:
            found[name] = (
                f"its definition is in a cell that begins with {by_magic[name]}, which treats "
                "the cell as text and does not execute it; delete that line"
            )
        elif name in elsewhere:
            found[name] = (
                "its definition is inside another one, or in a cell that is not a code cell; "
                "put it at the top level of a code cell or module"
            )
        elif alike := closest(name, names):
            found[name] = f"found {alike}: is the name wrong?"
    return found


def closest(name: str, others: Sequence[str]) -> str | None:
    """Returns the name in `others` that is most similar to `name`, or None if none is similar."""
    wanted = _plain(name)
    plain = {_plain(other): other for other in reversed(others) if len(other) <= _LONGEST_NAME}
    near = sorted(plain, key=lambda other: abs(len(other) - len(wanted)))[:_MOST_NAMES]
    best = difflib.get_close_matches(wanted, near, n=1, cutoff=_ALIKE)
    return plain[best[0]] if best else None


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())
