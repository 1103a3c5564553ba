"""The answers of known mistakes to the probe: computed once, and kept in the course or a cache.

A table has a row for each mistake and a column for each request. Few answers to a request differ,
so a cell contains the number of an answer. Entries of the catalogue are answers of students: they
run in a worker, and only when the table is made. Members of families are changes of the solution:
they run on the screen, the tests with the fewest requests, and on the rest only if nothing is wrong
there. `search` computes the remaining cells, within its budget.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import gzip
import json
import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...course import TABLES
from .record import Answered, Call, Request
from .rows import Row

#: the number of requests that members are asked before it is known whether they matter
SCREEN = 60
#: how often an entry with random answers is asked: a kind of answer with probability q has been
#: seen before with probability 1 - (1 - q)^n
SAMPLES = 8
#: the number of members of one family that are kept if the screen can't tell them apart; more would
#: take time without adding anything
_ALIKE = 3
UNKNOWN = -1
#: a layer's parameters say something even if it can't be called
_WEIGHTS = "weights"
#: the errors for a file that is missing or is not a table
_NO_TABLE = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError)
#: the number of tables of one question in a cache, and the days that unused ones are kept
_KEPT, _DAYS = 3, 30
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Samples:
    """The answers of an entry to one test, each time with different random numbers.

    `may_be_right` says for each request whether some sample was right.
    """

    judged: tuple[Answered, ...]
    may_be_right: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a question, and the answers of each.

    `answers` are the different ones to each request, `cells` their numbers; `right` are the numbers
    of the solution's. `samples` are by row and test; `said` are the words of tests, by row and
    test, for entries whose answers are all right.
    """

    rows: tuple[Row, ...]
    answers: tuple[tuple[Call, ...], ...]
    cells: NDArray[np.int16]
    right: tuple[int, ...]
    samples: Mapping[tuple[int, str], Samples]
    said: Mapping[tuple[int, str], str]

    def to_bytes(self) -> bytes:
        """Returns the table as the contents of a file."""
        plain = {
            "rows": [row.to_json() for row in self.rows],
            "answers": [[_plain(call) for call in answers] for answers in self.answers],
            "cells": base64.b64encode(self.cells.T.tobytes()).decode(),
            "right": self.right,
            "samples": [
                [row, test, found.may_be_right, [_whole(answered) for answered in found.judged]]
                for (row, test), found in self.samples.items()
            ],
            "said": [[row, test, words] for (row, test), words in self.said.items()],
        }
        return gzip.compress(json.dumps(plain).encode(), mtime=0)

    @classmethod
    def from_bytes(cls, data: bytes) -> Table:
        """Returns the table from the output of `to_bytes`; raises one of `_NO_TABLE` otherwise."""
        plain = json.loads(gzip.decompress(data))
        rows = tuple(map(Row.from_json, plain["rows"]))
        cells = np.frombuffer(base64.b64decode(plain["cells"]), np.int16)
        return cls(
            rows,
            tuple(tuple(map(_call, answers)) for answers in plain["answers"]),
            cells.reshape(-1, len(rows)).T,
            tuple(plain["right"]),
            {
                (row, test): Samples(tuple(map(_answered, judged)), tuple(may_be_right))
                for row, test, may_be_right, judged in plain["samples"]
            },
            {(row, test): words for row, test, words in plain["said"]},
        )


@dataclass(frozen=True, slots=True)
class OfRow:
    """The answers of one row of a table; `tests` are the columns of each test."""

    table: Table
    tests: Mapping[str, slice]
    row: int

    def answered(self, test: str) -> Answered:
        """Returns the record of one test."""
        numbers = self.table.cells[self.row, self.tests[test]]
        known = zip(self.table.answers[self.tests[test]], numbers, strict=True)
        return Answered(tuple(answers[number] for answers, number in known))

    def judged(self, test: str) -> Answered:
        """Returns the record with the test's words and shares."""
        samples = self.table.samples.get((self.row, test))
        if samples:
            return samples.judged[0]
        words = self.table.said.get((self.row, test), "")
        return Answered(self.answered(test).calls, words)


#: returns a row's answers to some tests; None if it can't be asked
Ask = Callable[[Sequence[str]], Mapping[str, Answered] | None]


@dataclass(slots=True)
class Maker:
    """Collects the answers of rows into a table; `requests` are those of each test."""

    requests: Mapping[str, Sequence[Request]]
    right: Mapping[str, Answered]
    _rows: list[Row] = field(default_factory=list)
    _cells: list[list[int]] = field(default_factory=list)
    _samples: dict[tuple[int, str], Samples] = field(default_factory=dict)
    _said: dict[tuple[int, str], str] = field(default_factory=dict)
    _numbers: list[dict[str, int]] = field(default_factory=list)
    _alike: Counter[tuple[str, str, tuple[int, ...]]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._numbers = [{} for requests in self.requests.values() for _ in requests]

    @property
    def screen(self) -> list[str]:
        """The tests that every member is asked: those with the fewest requests."""
        found: list[str] = []
        count = 0
        for test in sorted(self.requests, key=lambda test: len(self.requests[test])):
            count += len(self.requests[test])
            if count > SCREEN and found:
                break
            found.append(test)
        return found

    def add_entry(
        self,
        row: Row,
        answers: Mapping[str, Answered],
        samples: Mapping[str, Samples],
        said: Mapping[str, str],
    ) -> None:
        """Adds an entry with all its answers."""
        self._samples |= {(len(self._rows), test): found for test, found in samples.items()}
        self._said |= {(len(self._rows), test): words for test, words in said.items()}
        self._rows.append(row)
        self._cells.append(self._numbered(answers))

    def add_member(self, row: Row, ask: Ask) -> None:
        """Adds a member, unless it can't be executed, returns no value, or changes nothing."""
        answers = ask(self.screen)
        if answers is None or not self._gives_a_value(answers):
            return
        if all(answers[test].equals(self.right[test]) for test in answers):
            rest = ask([test for test in self.requests if test not in answers]) or {}
            answers = {**answers, **rest}
            if all(answers[test].equals(self.right[test]) for test in answers):
                return
        cells = self._numbered(answers)
        key = row.name, row.detail, tuple(cells)
        self._alike[key] += 1
        if self._alike[key] <= (_ALIKE if UNKNOWN in cells else 1):
            self._rows.append(row)
            self._cells.append(cells)

    def table(self) -> Table:
        """Returns the table of all rows."""
        right = tuple(self._numbered(self.right))
        return Table(
            tuple(self._rows),
            tuple(tuple(_call(json.loads(text)) for text in known) for known in self._numbers),
            np.array(self._cells, np.int16).reshape(len(self._rows), len(self._numbers)),
            right,
            self._samples,
            self._said,
        )

    def _gives_a_value(self, answers: Mapping[str, Answered]) -> bool:
        return any(
            (own.figures or own.operation == _WEIGHTS) and not own.raised and not asked.raised
            for test, answered in answers.items()
            for own, asked in zip(answered.calls, self.right[test].calls, strict=True)
        )

    def _numbered(self, answers: Mapping[str, Answered]) -> list[int]:
        """Returns the numbers of the answers to each request; UNKNOWN if it was not asked."""
        numbers: list[int] = []
        for test, requests in self.requests.items():
            calls = answers[test].calls if test in answers else [None] * len(requests)
            for call in calls:
                known = self._numbers[len(numbers)]
                text = json.dumps(_plain(call)) if call else ""
                numbers.append(known.setdefault(text, len(known)) if call else UNKNOWN)
        return numbers


class Store:
    """Stores tables in the course, so that they are copied with it, and in the user's cache.

    From the cache, another copy of the same course has them without making them again. Unused
    tables are removed.
    """

    def __init__(self, course: Path) -> None:
        self._folders = (course / TABLES, cache_folder())

    def get(self, name: str, make: Callable[[], Table]) -> Table:
        """Returns the table with this name; only one process makes it, while others wait."""
        if table := self._read(name):
            return table
        shared = next(filter(_is_writable, reversed(self._folders)), None)
        with _alone(shared, name):
            if table := self._read(name):
                return table
            data = make().to_bytes()
            for folder in self._folders:
                _keep(folder / name, data)
            return Table.from_bytes(data)  # as every other process will read it

    def _read(self, name: str) -> Table | None:
        for folder in self._folders:
            with contextlib.suppress(*_NO_TABLE):
                data = (folder / name).read_bytes()
                table = Table.from_bytes(data)
                if folder != self._folders[0]:
                    _keep(self._folders[0] / name, data)
                return table
        return None


def cache_folder() -> Path:
    """Returns the folder of the cache: `$XDG_CACHE_HOME/autograder`, by default in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return home / "autograder" / "mistakes"


def _keep(path: Path, data: bytes) -> None:
    """Writes a table if its folder is writable; a full disk only costs time."""
    if _is_writable(path.parent):
        with contextlib.suppress(OSError):
            _replace(path, data)
            _clear(path)


def _is_writable(folder: Path) -> bool:
    """Returns whether files can be created in a folder; also makes git ignore it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignored = folder / ".gitignore"
        if not ignored.is_file():
            ignored.write_text("*\n", encoding="utf-8")
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@contextlib.contextmanager
def _alone(folder: Path | None, name: str) -> Iterator[None]:
    """Lets one process at a time work on a question; without a folder, nothing is locked."""
    with contextlib.ExitStack() as stack:
        if folder is not None:
            with contextlib.suppress(OSError):
                file = stack.enter_context((folder / f".{name.rpartition('-')[0]}.lock").open("a"))
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _replace(path: Path, data: bytes) -> None:
    own = path.with_name(f"{path.name}.{os.getpid()}")
    own.write_bytes(data)
    own.replace(path)


def _clear(path: Path) -> None:
    """Removes unused tables, and all but the latest tables of this question."""
    question = path.name.rpartition("-")[0]
    with contextlib.suppress(OSError):  # another process may be doing the same
        tables = {other: other.stat().st_mtime for other in path.parent.glob("*.json.gz")}
        mine = [other for other in tables if other.name.rpartition("-")[0] == question]
        mine.sort(key=lambda other: tables[other], reverse=True)
        unused = {other for other, at in tables.items() if at < time.time() - _DAYS * _DAY}
        for other in unused.union(mine[_KEPT:]) - {path}:
            other.unlink(missing_ok=True)


def _plain(call: Call) -> list[Any]:
    return [
        *(call.operation, call.raised, call.form),
        *(_short(call.figures, 10), _short(call.bounds, 3), _short(call.shares, 6)),
    ]


def _short(figures: Sequence[float], digits: int) -> list[float]:
    """Returns rounded figures: more digits would only make the file larger."""
    return [float(f"{figure:.{digits}g}") for figure in figures]


def _call(plain: Any) -> Call:
    operation, raised, form, *numbers = plain
    figures, bounds, shares = (tuple(map(float, row)) for row in numbers)
    if len(figures) != len(bounds):
        raise ValueError("each figure has a bound")
    return Call(str(operation), str(raised), str(form), figures, bounds, shares)


def _whole(answered: Answered) -> list[Any]:
    return [answered.words, [_plain(call) for call in answered.calls]]


def _answered(plain: Any) -> Answered:
    words, calls = plain
    return Answered(tuple(map(_call, calls)), str(words))
