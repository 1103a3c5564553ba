"""Compares a result with the expected result, and describes the difference."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch

from .witness import Witness


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The allowed error in a value: |got - expected| <= atol + rtol * |expected|."""

    atol: float
    rtol: float


FLOAT32 = Tolerance(atol=1e-5, rtol=1e-4)
FLOAT64 = Tolerance(atol=1e-7, rtol=1e-6)
#: how many values of a row a message shows
_SHOWN = 8

EXACT = Tolerance(atol=0.0, rtol=0.0)
#: for numbers that a document shows with 4 decimal places, computed from literal inputs
PRINTED = Tolerance(atol=6e-5, rtol=0.0)
#: for numbers that are computed from such rounded numbers
FROM_PRINTED = Tolerance(atol=5e-4, rtol=0.0)


def tolerance_of(dtype: torch.dtype) -> Tolerance:
    """Return the default tolerance for a dtype; integers and booleans must be exactly equal."""
    if not dtype.is_floating_point:
        return EXACT
    return FLOAT64 if dtype == torch.float64 else FLOAT32


def is_rounding(gradient: torch.Tensor) -> bool:
    """Return whether a gradient is zero up to rounding errors."""
    return bool((gradient.abs() <= FLOAT32.atol).all())


def tolerance_of_gradient(expected: torch.Tensor, size: float = 1.0) -> Tolerance:
    """Return the tolerance for a gradient; `atol` grows with its largest entry and with `size`.

    `size` is the approximate magnitude of the incoming gradient, with which all other gradients
    grow.

    Each entry in a gradient is a sum of terms of that magnitude, so even an entry near zero
    contains the rounding errors of these terms, for example from a scale that a correct answer
    keeps in float32. In float32, the tolerance is ten times as large, because terms that nearly
    cancel leave larger errors.
    """
    bound = tolerance_of(expected.dtype)
    if expected.dtype == torch.float32:
        bound = Tolerance(10 * bound.atol, 10 * bound.rtol)
    largest = float(expected.detach().abs().max()) if expected.numel() else 0.0
    if not math.isfinite(largest):
        return bound
    return replace(bound, atol=bound.atol * max(size, largest))


def difference(got: Any, expected: Any, tolerance: Tolerance | None = None) -> str | None:
    """Return None if `got` is correct; otherwise, say where and by how much it differs."""
    if isinstance(expected, torch.Tensor):
        return _tensor_difference(got, expected, tolerance)
    if isinstance(expected, tuple | list):
        return _sequence_difference(got, expected, tolerance)
    if isinstance(expected, Mapping):
        return _mapping_difference(got, expected)
    if type(got) is not type(expected) or got != expected:
        return f"got       {describe(got)}\nexpected  {describe(expected)}"
    return None


def is_apart(got: Any, expected: Any) -> bool:
    """Return whether `difference` finds a result different from the expected result."""
    if isinstance(got, Witness) and form_difference(got, expected) is None:
        bound = tolerance_of(expected.dtype)
        return got.is_apart(expected, bound.atol, bound.rtol, partial(_numbers_difference, bound))
    return difference(got, expected) is not None


def is_finite(got: torch.Tensor) -> bool:
    """Return whether no number in a result is infinite or nan."""
    return got.is_finite() if isinstance(got, Witness) else bool(got.isfinite().all())


def describe(value: Any, is_item: bool = False) -> str:
    """Describe a value in a few words: a tensor by shape and dtype, anything else by a short repr.

    For None, the text asks whether a `return` is missing, unless None is only an item of a result.
    """
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        article = "an" if dtype.startswith("int") else "a"
        return f"{article} {dtype} tensor of shape {tuple(value.shape)}"
    if value is None:
        return "None" if is_item else "None (is a `return` missing?)"
    if isinstance(value, tuple | list):
        kind = type(value).__name__
        items = [describe(item, is_item=True) for item in value[:4]]
        shown = [*items, *["..."] * (len(value) > 4)]
        return f"a {kind} of {len(value)}: " + ", ".join(shown)
    text = _BRIEF.repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


class _ShortRepr(reprlib.Repr):
    """Shows only the first items: an answer may contain a large tensor thousands of times."""

    def __init__(self) -> None:
        super().__init__()
        self.maxdict = self.maxlist = self.maxtuple = 12
        self.maxstring = self.maxlong = self.maxother = 200

    def repr_Tensor(self, value: torch.Tensor, level: int) -> str:
        return describe(value)

    def repr_SimpleNamespace(self, value: SimpleNamespace, level: int) -> str:
        return f"namespace {self.repr1(vars(value), level)}"


_BRIEF = _ShortRepr()


def _tensor_difference(got: Any, expected: torch.Tensor, tolerance: Tolerance | None) -> str | None:
    if not isinstance(got, torch.Tensor):
        return f"got       {describe(got)}\nexpected  {describe(expected)}"
    if got.shape != expected.shape:
        return f"got       shape {tuple(got.shape)}\nexpected  shape {tuple(expected.shape)}"
    if got.dtype != expected.dtype:
        why = ", the dtype of the inputs" if expected.is_floating_point() else ""
        return f"got       dtype {got.dtype}\nexpected  dtype {expected.dtype}{why}"
    if got.device != expected.device:
        return f"got       a tensor on the device {got.device}\nexpected  one on {expected.device}"
    bound = tolerance or tolerance_of(expected.dtype)
    if isinstance(got, Witness):
        return got.difference(expected, bound.atol, bound.rtol, partial(_numbers_difference, bound))
    return _numbers_difference(bound, got, expected)


def _numbers_difference(bound: Tolerance, got: torch.Tensor, expected: torch.Tensor) -> str | None:
    """Describe the difference between two tensors of equal shape and dtype."""
    if torch.equal(got, expected):
        return None
    wrong = ~_close(got, expected, bound)
    if not bool(wrong.any()):
        return None
    return _value_difference(got.detach(), expected.detach(), wrong)


def _close(got: torch.Tensor, expected: torch.Tensor, bound: Tolerance) -> torch.Tensor:
    if not expected.dtype.is_floating_point:
        return got == expected
    return torch.isclose(
        got.detach().double(), expected.detach().double(), atol=bound.atol, rtol=bound.rtol
    )


def _value_difference(got: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor) -> str:
    if expected.dim() == 0:
        one, other = _numbers([got.item()], [expected.item()])
        return f"got       {one}\nexpected  {other}"
    distance = (got.double() - expected.double()).abs().masked_fill(~wrong, -1.0)
    distance = torch.nan_to_num(distance, nan=float("inf"), posinf=float("inf"))
    worst = _unravel(int(distance.flatten().argmax()), expected.shape)
    one, other = _numbers([got[worst].item()], [expected[worst].item()])
    lines = [
        f"{int(wrong.sum())} of {wrong.numel()} values differ; the largest difference is at "
        f"{list(worst)}: got {one}, expected {other}"
    ]
    if expected.dim() > 1:
        first = _unravel(int(wrong.flatten().nonzero()[0]), expected.shape)[:-1]
        lines.append(f"first row that differs, {list(first)}:")
        got, expected = got[first], expected[first]
    more = ", ..." if expected.numel() > _SHOWN else ""
    one, other = _numbers(got[:_SHOWN].tolist(), expected[:_SHOWN].tolist())
    lines += [f"got       [{one}{more}]", f"expected  [{other}{more}]"]
    return "\n".join(lines)


def _unravel(index: int, shape: torch.Size) -> tuple[int, ...]:
    where: list[int] = []
    for size in reversed(shape):
        where.append(index % size)
        index //= size
    return tuple(reversed(where))


def _numbers(got: Sequence[Any], expected: Sequence[Any]) -> tuple[str, str]:
    """Write both rows with enough digits to show the difference."""
    for digits in range(4, 17):
        one, other = (", ".join(_number(item, digits) for item in row) for row in (got, expected))
        if one != other:
            break
    return one, other


def _number(item: Any, digits: int) -> str:
    if not isinstance(item, float):
        return str(item)
    return f"{item:.{digits}f}" if 1e-3 <= abs(item) < 1e5 else f"{item:.{digits}g}"


def _sequence_difference(
    got: Any, expected: tuple[Any, ...] | list[Any], tolerance: Tolerance | None
) -> str | None:
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        return f"got       {describe(got)}\nexpected  {describe(expected)}"
    for index, (one, other) in enumerate(zip(got, expected, strict=True)):
        text = difference(one, other, tolerance)
        if text is not None:
            return _at(index, text)
    return None


def _at(index: int, text: str) -> str:
    """Put the place before a difference, such as `at [1][0]:` for an item inside an item."""
    if text.startswith("at ["):
        return f"at [{index}]{text.removeprefix('at ')}"
    return f"at [{index}]:\n{text}"


def form_difference(got: Any, expected: Any) -> str | None:
    """Describe a difference in shapes or devices, even inside tuples and lists, or return None."""
    if isinstance(expected, tuple | list):
        if isinstance(got, tuple | list) and len(got) == len(expected):
            texts = map(form_difference, got, expected)
            return next((_at(i, text) for i, text in enumerate(texts) if text is not None), None)
    elif not isinstance(expected, torch.Tensor):
        return difference(got, expected)
    elif isinstance(got, torch.Tensor):
        if got.device != expected.device:
            return f"got       {describe(got)} on another device\nexpected  the device of the input"
        if got.shape == expected.shape:
            return None
    return f"got       {describe(got)}\nexpected  {describe(expected)}"


def _mapping_difference(got: Any, expected: Mapping[Any, Any]) -> str | None:
    if not isinstance(got, dict):
        return f"got       {describe(got)}\nexpected  {describe(dict(expected))}"
    if got == expected:
        return None
    missing = [key for key in expected if key not in got]
    extra = [key for key in got if key not in expected]
    other = [key for key in expected if key in got and got[key] != expected[key]]
    lines = []
    if missing or extra:
        what = [f"missing: {_BRIEF.repr(missing)}"] * bool(missing)
        what += [f"not expected: {_BRIEF.repr(extra)}"] * bool(extra)
        lines.append(f"got       {len(got)} entries; {'; '.join(what)}")
        lines.append(f"expected  {len(expected)} entries")
    for key in other[:3]:
        lines.append(f"for {key!r}: got {describe(got[key])}, expected {expected[key]!r}")
    return "\n".join(lines)
