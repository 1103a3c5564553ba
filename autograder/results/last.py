"""The last result of each student and assignment, read from the file when it is looked at.

A result takes some 40 KB of memory, so a class is kept as places in its file: what is done with
one result after the other needs no more memory for a large class than for a small one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from ..records import SubmissionResult
from .lines import Line, lines_of, parsed
from .review import latest

Key = tuple[str, str]


class LastResults(Sequence[SubmissionResult]):
    """The results of a file that count, by student and assignment.

    `wanted` are the only ones; all by default. Raises `UserError` for a damaged file.
    """

    def __init__(self, path: Path, wanted: Collection[Key] | None = None) -> None:
        self._path = path
        last: dict[Key, tuple[int, int]] = {}
        for line in lines_of(path):
            key = parsed(path, line, _key_of)
            if wanted is None or key in wanted:
                last[key] = line.number, line.start
        self._places = [last[key] for key in sorted(last)]

    @classmethod
    def _at(cls, path: Path, places: list[tuple[int, int]]) -> LastResults:
        some = cls.__new__(cls)
        some._path, some._places = path, places
        return some

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> SubmissionResult: ...
    @overload
    def __getitem__(self, index: slice) -> LastResults: ...
    def __getitem__(self, index: int | slice) -> SubmissionResult | LastResults:
        if isinstance(index, slice):
            return self._at(self._path, self._places[index])
        (result,) = self._read([self._places[index]])
        return result

    def __iter__(self) -> Iterator[SubmissionResult]:
        return self._read(self._places)

    def where(self, chosen: Callable[[SubmissionResult], bool]) -> LastResults:
        """Those that a function says yes to; each is read for it once."""
        pairs = zip(self._places, self, strict=True)
        return self._at(self._path, [place for place, result in pairs if chosen(result)])

    def _read(self, places: Collection[tuple[int, int]]) -> Iterator[SubmissionResult]:
        if not places:
            return
        with open(self._path, "rb") as file:
            for number, start in places:
                file.seek(start)
                line = Line(number, start, file.readline())
                yield parsed(self._path, line, SubmissionResult.from_json)


def last_of(results: Iterable[SubmissionResult]) -> Sequence[SubmissionResult]:
    """As `latest`; what is read from a file stays there."""
    return results if isinstance(results, LastResults) else latest(results)


def those(
    results: Sequence[SubmissionResult], chosen: Callable[[SubmissionResult], bool]
) -> Sequence[SubmissionResult]:
    """The results that a function says yes to; what is read from a file stays there."""
    if isinstance(results, LastResults):
        return results.where(chosen)
    return [result for result in results if chosen(result)]


def _key_of(document: dict[str, Any]) -> Key:
    return str(document["student"]), sys.intern(str(document["assignment"]))
