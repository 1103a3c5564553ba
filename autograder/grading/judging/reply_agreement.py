"""Skips a test whose replies match the solution's.

A test sees the form of a reply - types, shapes, dtypes, everything except the numbers in tensors -
and these numbers. If the plan's witnesses show that a test only compares the numbers, and that it
passed for the solution, it also passes for each reply of the same form whose numbers are as close.
All numbers of a test are compared in a few operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...sandbox.replies import RawReply
from ...suite.witness import Witness

_Kind = type[np.floating[Any]]
_KINDS: dict[torch.dtype, _Kind] = {torch.float32: np.float32, torch.float64: np.float64}


@dataclass(frozen=True, slots=True)
class _Row:
    """A run of adjacent floating-point numbers: position, dtype, expected values, tolerances."""

    at: int
    kind: _Kind
    expected: NDArray[np.float64]
    allowed: NDArray[np.float64]

    def agrees(self, data: bytes) -> bool:
        """Returns whether all numbers are close enough, by the rule of `torch.isclose`."""
        size = len(self.expected)
        got = np.frombuffer(data, self.kind, size, self.at).astype(np.float64)
        close = (np.abs(got - self.expected) <= self.allowed) | (got == self.expected)
        return bool(close.all())


@dataclass(frozen=True, slots=True)
class Agreement:
    """The replies of the solution to a test, and the tolerances for other replies."""

    headers: tuple[bytes, ...]
    data: bytes
    rows: tuple[_Row, ...]
    #: the ranges of bytes that must be equal
    exact: tuple[tuple[int, int], ...]

    def holds(self, replies: Sequence[RawReply]) -> bool:
        """Returns whether a test surely passes with these replies; if not, it may pass or fail."""
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
            return all(row.agrees(data) for row in self.rows)


def agreement(replies: Sequence[RawReply], witnesses: Sequence[Witness]) -> Agreement | None:
    """Returns the agreement with the solution's replies; None if a test does more than compare.

    `witnesses` are the tensors of the replies that have memory, in order.
    """
    if any(witness.testimony.is_read for witness in witnesses):
        return None
    at, numbers, exact = 0, _Numbers(), []
    for witness in witnesses:
        start, at = at, at + witness.nbytes
        if witness.dtype not in _KINDS:
            exact.append((start, at))
            continue
        for expected, atol, rtol in witness.testimony.compared:
            numbers.add(start, at, _KINDS[witness.dtype], expected, atol, rtol)
    headers = tuple(header for header, _ in replies)
    return Agreement(headers, b"".join(data for _, data in replies), numbers.rows(), tuple(exact))


class _Numbers:
    """Collects numbers into rows: adjacent ones of the same dtype are joined."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, _Kind, list[NDArray[np.float64]], list[NDArray[np.float64]]]]
        self._rows, self._end = [], -1

    def add(
        self, start: int, end: int, kind: _Kind, right: torch.Tensor, atol: float, rtol: float
    ) -> None:
        """Adds the numbers between two byte positions, with their tolerances."""
        expected = right.double().numpy().ravel()
        finite = np.isfinite(expected)  # the others must be equal
        allowed = np.where(finite, atol + np.abs(rtol * np.where(finite, expected, 0.0)), -1.0)
        if start != self._end or self._rows[-1][1] is not kind:
            self._rows.append((start, kind, [], []))
        self._rows[-1][2].append(expected)
        self._rows[-1][3].append(allowed)
        self._end = end

    def rows(self) -> tuple[_Row, ...]:
        """Returns all rows."""
        return tuple(
            _Row(start, kind, np.concatenate(expected), np.concatenate(allowed))
            for start, kind, expected, allowed in self._rows
        )
