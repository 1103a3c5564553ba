"""Provides the last result for each student and assignment; results are read only when used.

A result takes about 40 KB of memory, so only the result's position in the file is kept in memory.
Reading the results one by one thus needs little memory, even for a large class.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, overload

from ..records import Key, SubmissionResult
from .file import Line, lines_of, parsed

Change = Callable[[SubmissionResult], SubmissionResult]

#: a line's number and position, or a result that is not in the file
_Place = tuple[int, int] | SubmissionResult


class LastResults(Sequence[SubmissionResult]):
    """The last result in a file for each student and assignment, sorted by both.

    If `wanted` is given, only results with these keys are included. Raises `UserError` if the file
    is damaged.
    """

    def __init__(self, path: Path, wanted: Collection[Key] | None = None) -> None:
        self._path = path
        self._changes: tuple[Change, ...] = ()
        last: dict[Key, _Place] = {}
        for line in lines_of(path):
            key = parsed(path, line, _key_of)
            if wanted is None or key in wanted:
                last[key] = line.number, line.start
        self._keys = sorted(last)
        self._places = [last[key] for key in self._keys]

    def _at(self, keys: list[Key], places: list[_Place], *changes: Change) -> LastResults:
        some = LastResults.__new__(LastResults)
        some._path, some._keys, some._places = self._path, keys, places
        some._changes = (*self._changes, *changes)
        return some

    @property
    def keys(self) -> Sequence[Key]:
        """The student and the assignment of each result, available without reading the file."""
        return self._keys

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> SubmissionResult: ...
    @overload
    def __getitem__(self, index: slice) -> LastResults: ...
    def __getitem__(self, index: int | slice) -> SubmissionResult | LastResults:
        if isinstance(index, slice):
            return self._at(self._keys[index], self._places[index])
        (result,) = self._read([self._places[index]])
        return result

    def __iter__(self) -> Iterator[SubmissionResult]:
        return self._read(self._places)

    def where(self, chosen: Callable[[SubmissionResult], bool]) -> LastResults:
        """Returns the results that satisfy a predicate; each result is read once."""
        return self._some([chosen(result) for result in self])

    def of(self, chosen: Callable[[Key], bool]) -> LastResults:
        """Returns the results whose key satisfies a predicate; the file is not read."""
        return self._some([chosen(key) for key in self._keys])

    def _some(self, chosen: Sequence[bool]) -> LastResults:
        numbers = [number for number, is_wanted in enumerate(chosen) if is_wanted]
        return self._at([self._keys[n] for n in numbers], [self._places[n] for n in numbers])

    def together_with(self, others: Iterable[SubmissionResult]) -> LastResults:
        """Returns these results and `others`, which take precedence for the same submission."""
        places = dict(zip(self._keys, self._places, strict=True))
        places |= {result.key: result for result in others}
        keys = sorted(places)
        return self._at(keys, [places[key] for key in keys])

    def changed(self, change: Change) -> LastResults:
        """Returns the same results, but applies a function to each result when it is read."""
        return self._at(self._keys, self._places, change)

    def renamed(self, key_of: Callable[[Key], Key], change: Change) -> LastResults:
        """Does the same as `changed`, but also changes the keys, and sorts by the new keys."""
        keys = [key_of(key) for key in self._keys]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return self._at([keys[n] for n in order], [self._places[n] for n in order], change)

    def _read(self, places: Collection[_Place]) -> Iterator[SubmissionResult]:
        is_needed = any(isinstance(place, tuple) for place in places)
        with open(self._path, "rb") if is_needed else io.BytesIO() as file:
            for place in places:
                result = self._line(file, *place) if isinstance(place, tuple) else place
                for change in self._changes:
                    result = change(result)
                yield result

    def _line(self, file: BinaryIO, number: int, start: int) -> SubmissionResult:
        file.seek(start)
        line = Line(number, start, file.readline())
        return parsed(self._path, line, SubmissionResult.from_json)


def last_of(results: Iterable[SubmissionResult]) -> Sequence[SubmissionResult]:
    """Returns the last result for each student and assignment, sorted by both.

    Results that are in a file are not read.
    """
    if isinstance(results, LastResults):
        return results
    last = {result.key: result for result in results}
    return [last[key] for key in sorted(last)]


def results_where(
    results: Sequence[SubmissionResult], chosen: Callable[[SubmissionResult], bool]
) -> Sequence[SubmissionResult]:
    """Returns the results that satisfy a predicate; results in a file are not kept in memory."""
    if isinstance(results, LastResults):
        return results.where(chosen)
    return [result for result in results if chosen(result)]


def results_of(
    results: Sequence[SubmissionResult], chosen: Callable[[Key], bool]
) -> Sequence[SubmissionResult]:
    """Returns the results whose key satisfies a predicate; results in a file are not read."""
    if isinstance(results, LastResults):
        return results.of(chosen)
    return [result for result in results if chosen(result.key)]


def keys_of(results: Iterable[SubmissionResult]) -> Sequence[Key]:
    """Returns the student and the assignment of each result; results in a file are not read."""
    if isinstance(results, LastResults):
        return results.keys
    return [result.key for result in results]


def _key_of(document: dict[str, Any]) -> Key:
    return sys.intern(str(document["student"])), sys.intern(str(document["assignment"]))
