"""What known mistakes answer, kept on disk: found out once for a suite, on whatever run.

One JSON line for each test of a mistake, appended as it is found out, so that several jobs may
write at once. A line that is broken, or of another form, is as good as none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from .answered import Answered, Call

#: a table that grew larger than this is not read
_MOST_BYTES = 256 << 20

#: mistake, test, and for the how-many-eth time it was asked
Key = tuple[str, str, int]


def cache_folder() -> Path:
    """Where tables are kept: `$XDG_CACHE_HOME/autograder`, by default below `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return home / "autograder" / "mistakes"


class Table:
    """The answers of one exercise's mistakes; without a file it is kept in memory only."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._new: list[str] = []

    @cached_property
    def _answers(self) -> dict[Key, tuple[Answered, bool]]:
        """Read when it is first asked: most runs need the tables of few questions."""
        return dict(_read(self._path)) if self._path else {}

    def get(self, key: Key) -> tuple[Answered, bool] | None:
        """What was answered, and whether random numbers were drawn; None if it was never asked."""
        return self._answers.get(key)

    def put(self, key: Key, answer: Answered, random: bool) -> None:
        """Remembers an answer; `save` writes it."""
        self._answers[key] = answer, random
        self._new.append(json.dumps([list(key), random, _plain(answer)]))

    def save(self) -> None:
        """Appends what is new; a folder that can't be written costs time later, nothing else."""
        if self._path is None or not self._new:
            return
        text = "".join(f"{line}\n" for line in self._new)
        self._new = []
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab", buffering=0) as file:
                file.write(text.encode())
        except OSError:
            self._path = None


def _read(path: Path) -> Iterator[tuple[Key, tuple[Answered, bool]]]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        try:
            (name, test, time), random, answer = json.loads(line)
            yield (str(name), str(test), int(time)), (_record(answer), bool(random))
        except (ValueError, TypeError):
            continue


def _plain(answer: Answered) -> list[Any]:
    calls = [
        [
            *(call.operation, call.raised, call.form),
            *(_short(call.figures, 10), _short(call.bounds, 3), _short(call.shares, 6)),
        ]
        for call in answer.calls
    ]
    return [answer.passed, answer.words, calls]


def _short(figures: Sequence[float], digits: int) -> list[float]:
    """More digits than rounding leaves would make a large file."""
    return [float(f"{figure:.{digits}g}") for figure in figures]


def _record(plain: Any) -> Answered:
    passed, words, calls = plain
    return Answered(bool(passed), str(words), tuple(map(_call, calls)))


def _call(plain: Any) -> Call:
    operation, raised, form, *numbers = plain
    figures, bounds, shares = (tuple(map(float, row)) for row in numbers)
    if len(figures) != len(bounds):
        raise ValueError("each figure has a bound")
    return Call(str(operation), str(raised), str(form), figures, bounds, shares)
