"""Makes it possible to skip a test if the replies match the solution's.

A test sees the form of a reply (types, shapes, dtypes, everything except the numbers in tensors)
and the numbers themselves. Suppose that, according to the plan's records (see `Witness`), a test
passed for the solution and did nothing with a tensor's numbers but compare them. Then the test also
passes for every reply of the same form whose numbers are close enough. If a test does anything else
with the numbers, such as counting zeros, the numbers must equal the solution's up to rounding,
because rounding must not decide a verdict. All numbers in a test are compared in a few operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...sandbox.replies import RAISED, RawReply
from ...suite.witness import After, Testimony, Witness

_Kind = type[np.floating[Any]]
_KINDS: dict[torch.dtype, _Kind] = {torch.float32: np.float32, torch.float64: np.float64}
#: the largest relative difference from the solution for a number that a test reads: dozens of units
#: in the last place, which is an eighth of the usual tolerance in float32, and less in float64. If
#: the solution's number is zero, only zero agrees
_ROUNDING = {dtype: 100 * torch.finfo(dtype).eps for dtype in _KINDS}

#: the alignment, in bytes, of each test's replies when those of all tests are joined
_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class _Row:
    """Adjacent floating-point numbers: their position, dtype, expected values and tolerances.

    `bound` is the part of each tolerance that is safe to compare with a difference that is computed
    in the numbers' own dtype. `infinite` contains the positions of expected values that are not
    finite, and `finite` the expected values with zeros at these positions.
    """

    at: int
    kind: _Kind
    expected: NDArray[np.floating[Any]]
    allowed: NDArray[np.float64]
    finite: NDArray[np.floating[Any]]
    bound: NDArray[np.floating[Any]]
    infinite: NDArray[np.intp]

    @classmethod
    def of(cls, at: int, kind: _Kind, expected: NDArray[Any], allowed: NDArray[np.float64]) -> _Row:
        expected = expected.astype(kind)
        is_finite = np.isfinite(expected)
        finite = expected if is_finite.all() else np.where(is_finite, expected, kind(0))
        range_of = np.finfo(kind)
        bound = np.minimum(allowed * (1 - 4 * range_of.eps), range_of.max)
        bound = np.where(is_finite, np.where(bound < range_of.tiny, 0.0, bound), np.inf)
        infinite = np.flatnonzero(~is_finite)
        return cls(at, kind, expected, allowed, finite, bound.astype(kind), infinite)

    @property
    def nbytes(self) -> int:
        return len(self.expected) * np.dtype(self.kind).itemsize

    def agrees(self, data: bytes) -> bool:
        return self.near(np.frombuffer(data, self.kind, len(self.expected), self.at))

    def near(self, numbers: NDArray[np.floating[Any]]) -> bool:
        """Returns whether `numbers` are close enough, as defined by `torch.isclose`.

        For most numbers, this can be decided in their own dtype, which takes a quarter of the time.
        """
        if (np.abs(numbers - self.finite) <= self.bound).all() and (
            not len(self.infinite) or (numbers[self.infinite] == self.expected[self.infinite]).all()
        ):
            return True
        got, expected = numbers.astype(np.float64), self.expected.astype(np.float64)
        return bool(((np.abs(got - expected) <= self.allowed) | (got == expected)).all())


@dataclass(frozen=True, slots=True)
class _RowAfter:
    """The expected numbers after a function has been applied to a tensor of the given shape."""

    function: After
    shape: torch.Size
    row: _Row

    def agrees(self, data: bytes) -> bool:
        numbers = np.frombuffer(data, self.row.kind, self.shape.numel(), self.row.at)
        made = self.function(torch.from_numpy(numbers.copy()).view(self.shape))
        return self.row.near(made.numpy().ravel())


@dataclass(frozen=True, slots=True)
class _Gathered:
    """Numbers of one dtype in many parts of the data, which all begin at multiples of 4 bytes."""

    parts: tuple[slice, ...]
    row: _Row

    @classmethod
    def of(cls, rows: Sequence[_Row]) -> _Gathered:
        """Joins rows with the same dtype."""
        parts = (slice(row.at // 4, (row.at + row.nbytes) // 4) for row in rows)
        return cls(tuple(parts), _concatenated(rows))

    def agrees(self, data: bytes) -> bool:
        words = np.frombuffer(data, np.uint32, len(data) // 4)
        gathered = np.concatenate([words[part] for part in self.parts])
        return self.row.near(gathered.view(self.row.kind))


@dataclass(frozen=True, slots=True)
class Agreement:
    """The solution's replies to a test, and the tolerances for other replies."""

    headers: tuple[bytes, ...]
    data: bytes
    rows: tuple[_Row | _RowAfter | _Gathered, ...]
    #: the rows with which the replies must not agree
    apart: tuple[_Row | _RowAfter, ...]
    #: the ranges of bytes that must be equal
    exact: tuple[tuple[int, int], ...]

    @property
    def raises(self) -> bool:
        """True if the solution raises an error; other answers raise it with a different text.

        For the same reason, such a test is seldom skipped, but it is also a short one.
        """
        return any(header.startswith(RAISED) for header in self.headers)

    def holds(self, replies: Sequence[RawReply]) -> bool:
        """Returns whether a test is sure to pass with these replies; if not, it must be run."""
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
    """Returns a test's agreement, which is made from the solution's replies.

    `witnesses` contains, in order, the tensors in the replies, except those that contain no
    numbers.
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


@dataclass(frozen=True, slots=True)
class JointAgreement:
    """The agreements for many tests; compares all numbers of a dtype in one operation.

    Tests in which the solution raises an error are left out.

    `parts` contains, for each test, the position of its first reply, the position after its last
    reply, and the padding bytes after its replies that align the next test's numbers.
    """

    parts: tuple[tuple[int, int, bytes], ...]
    whole: Agreement

    @classmethod
    def of(cls, tests: Iterable[tuple[int, Agreement]]) -> JointAgreement:
        """Joins the agreements of tests, each given with the position of the test's first reply.

        Leaves out tests in which the solution raises an error.
        """
        parts, headers, data = [], list[bytes](), bytearray()
        rows: list[_Row | _RowAfter] = []
        apart: list[_Row | _RowAfter] = []
        exact: list[tuple[int, int]] = []
        for first, test in tests:
            if test.raises:
                continue
            at, padding = len(data), bytes(-len(test.data) % _ALIGNMENT)
            parts.append((first, first + len(test.headers), padding))
            headers += (*test.headers, b"")
            data += test.data + padding
            rows += (_moved(row, at) for row in test.rows)
            apart += (_moved(row, at) for row in test.apart)
            exact += ((start + at, end + at) for start, end in test.exact)
        whole = Agreement(tuple(headers), bytes(data), _gathered(rows), tuple(apart), tuple(exact))
        return cls(tuple(parts), whole)

    def holds(self, replies: Sequence[RawReply]) -> bool:
        """Returns whether these tests are sure to pass with these replies to the whole plan."""
        ordered: list[RawReply] = []
        for first, end, padding in self.parts:
            ordered += (*replies[first:end], (b"", padding))
        return self.whole.holds(ordered)


def _moved(row: Any, by: int) -> Any:
    if isinstance(row, _RowAfter):
        return replace(row, row=_moved(row.row, by))
    return replace(row, at=row.at + by)


def _gathered(rows: Sequence[_Row | _RowAfter]) -> tuple[_Row | _RowAfter | _Gathered, ...]:
    """Joins all aligned rows of the same dtype."""
    aligned: dict[_Kind, list[_Row]] = {}
    others: list[_Row | _RowAfter] = []
    for row in rows:
        if isinstance(row, _Row) and row.at % 4 == 0:
            aligned.setdefault(row.kind, []).append(row)
        else:
            others.append(row)
    return (*map(_Gathered.of, aligned.values()), *others)


def _is_read(testimony: Testimony) -> bool:
    return testimony.is_read or any(_is_read(made) for _, made in testimony.after)


def _row(at: int, kind: _Kind, right: torch.Tensor, atol: float, rtol: float) -> _Row:
    """Returns the row that begins at a byte position, with a tolerance for each number."""
    expected = right.double().numpy().ravel()
    finite = np.isfinite(expected)  # infinite numbers must be equal to the expected ones
    allowed = np.where(finite, atol + np.abs(rtol * np.where(finite, expected, 0.0)), -1.0)
    return _Row.of(at, kind, expected, allowed)


class _Numbers:
    """Collects rows, and joins adjacent rows of the same dtype."""

    def __init__(self) -> None:
        self._groups: list[list[_Row]] = []
        self._end = -1

    def add(self, end: int, rows: Iterable[_Row]) -> None:
        """Adds a tensor's rows; `end` is the byte position after its last number."""
        for row in rows:
            if row.at != self._end or self._groups[-1][0].kind is not row.kind:
                self._groups.append([])
            self._groups[-1].append(row)
            self._end = end

    def rows(self) -> tuple[_Row, ...]:
        return tuple(_concatenated(group) for group in self._groups)


def _concatenated(rows: Sequence[_Row]) -> _Row:
    """Combines rows with the same dtype into one row at the position of the first."""
    expected = np.concatenate([row.expected for row in rows])
    allowed = np.concatenate([row.allowed for row in rows])
    return _Row.of(rows[0].at, rows[0].kind, expected, allowed)
