"""Skips a test whose replies match the solution's.

A test sees the form of a reply (types, shapes, dtypes, everything except the numbers in tensors)
and these numbers. If the plan's witnesses show that a test only compares the numbers of a tensor,
and that it passed for the solution, it also passes for every reply of the same form whose numbers
are close enough. If a test does anything else with the numbers, such as counting zeros, they must
equal the solution's up to rounding, because rounding must not decide a verdict. All numbers of a
test are compared in a few operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...sandbox.replies import RawReply
from ...suite.witness import After, Testimony, Witness

_Kind = type[np.floating[Any]]
_KINDS: dict[torch.dtype, _Kind] = {torch.float32: np.float32, torch.float64: np.float64}
#: the largest relative difference from the solution for a number that a test reads: dozens of units
#: in the last place, an eighth of the usual tolerance in float32 and less in float64. A zero must
#: be a zero
_ROUNDING = {dtype: 100 * torch.finfo(dtype).eps for dtype in _KINDS}


@dataclass(frozen=True, slots=True)
class _Row:
    """A run of adjacent floating-point numbers: position, dtype, expected values, tolerances."""

    at: int
    kind: _Kind
    expected: NDArray[np.float64]
    allowed: NDArray[np.float64]

    def agrees(self, data: bytes) -> bool:
        """Returns whether all numbers are close enough."""
        return self.near(np.frombuffer(data, self.kind, len(self.expected), self.at))

    def near(self, numbers: NDArray[np.floating[Any]]) -> bool:
        """Returns whether these numbers are close enough, by the rule of `torch.isclose`."""
        got = numbers.astype(np.float64)
        close = (np.abs(got - self.expected) <= self.allowed) | (got == self.expected)
        return bool(close.all())


@dataclass(frozen=True, slots=True)
class _RowAfter:
    """The expected results of a function that is applied to a tensor of this shape."""

    function: After
    shape: torch.Size
    row: _Row

    def agrees(self, data: bytes) -> bool:
        """Returns whether all numbers are close enough after the function is applied."""
        numbers = np.frombuffer(data, self.row.kind, self.shape.numel(), self.row.at)
        made = self.function(torch.from_numpy(numbers.copy()).view(self.shape))
        return self.row.near(made.numpy().ravel())


@dataclass(frozen=True, slots=True)
class Agreement:
    """The replies of the solution to a test, and the tolerances for other replies."""

    headers: tuple[bytes, ...]
    data: bytes
    rows: tuple[_Row | _RowAfter, ...]
    #: the rows that must not agree with the replies
    apart: tuple[_Row | _RowAfter, ...]
    #: the ranges of bytes that must be equal
    exact: tuple[tuple[int, int], ...]

    def holds(self, replies: Sequence[RawReply]) -> bool:
        """Returns True if a test certainly passes with these replies; otherwise it may fail."""
        if any(h != header for (h, _), header in zip(replies, self.headers, strict=True)):
            return False
        data = b"".join([data for _, data in replies])
        if len(data) != len(self.data):
            return False
        if data == self.data:
            return True
        if any(data[start:end] != self.data[start:end] for start, end in self.exact):
            return False
        with np.errstate(invalid="ignore"):
            return all(row.agrees(data) for row in self.rows) and not any(
                row.agrees(data) for row in self.apart
            )


def agreement(replies: Sequence[RawReply], witnesses: Sequence[Witness]) -> Agreement:
    """Returns the agreement with the solution's replies.

    `witnesses` are the tensors of the replies that have memory, in order.
    """
    at = 0
    near = _Numbers()
    others: list[_RowAfter] = []
    apart: list[_Row | _RowAfter] = []
    exact: list[tuple[int, int]] = []
    for witness in witnesses:
        start, at = at, at + witness.nbytes
        if witness.dtype not in _KINDS:
            exact.append((start, at))
            continue
        row = partial(_row, start, _KINDS[witness.dtype])
        if _is_read(witness.testimony):
            near.add(at, [row(witness.plain(), 0.0, _ROUNDING[witness.dtype])])
        near.add(at, starmap(row, witness.testimony.compared))
        apart += starmap(row, witness.testimony.apart)
        for function, made in witness.testimony.after:
            after = partial(_RowAfter, function, witness.shape)
            others += map(after, starmap(row, made.compared))
            apart += map(after, starmap(row, made.apart))
    headers = tuple(header for header, _ in replies)
    data = b"".join(data for _, data in replies)
    return Agreement(headers, data, (*near.rows(), *others), tuple(apart), tuple(exact))


def _is_read(testimony: Testimony) -> bool:
    return testimony.is_read or any(_is_read(made) for _, made in testimony.after)


def _row(at: int, kind: _Kind, right: torch.Tensor, atol: float, rtol: float) -> _Row:
    """Returns the row that begins at a byte position, with a tolerance for each number."""
    expected = right.double().numpy().ravel()
    finite = np.isfinite(expected)  # infinite numbers must be equal
    allowed = np.where(finite, atol + np.abs(rtol * np.where(finite, expected, 0.0)), -1.0)
    return _Row(at, kind, expected, allowed)


class _Numbers:
    """Collects rows: adjacent ones of the same dtype are joined."""

    def __init__(self) -> None:
        self._groups: list[list[_Row]] = []
        self._end = -1

    def add(self, end: int, rows: Iterable[_Row]) -> None:
        """Adds rows of one tensor; `end` is the byte position after its last number."""
        for row in rows:
            if row.at != self._end or self._groups[-1][0].kind is not row.kind:
                self._groups.append([])
            self._groups[-1].append(row)
            self._end = end

    def rows(self) -> tuple[_Row, ...]:
        """Returns the joined rows."""
        return tuple(
            _Row(
                group[0].at,
                group[0].kind,
                np.concatenate([row.expected for row in group]),
                np.concatenate([row.allowed for row in group]),
            )
            for group in self._groups
        )
