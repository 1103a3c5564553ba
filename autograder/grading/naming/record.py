"""Defines compact records of an answer's replies in a test, to store and compare many records.

A reply becomes an `Event` (see `probe`), and an event becomes a `Call`. A tensor is represented by
its shape and dtype, some of its values, and two randomly weighted sums of all its values: if
tensors differ anywhere, these sums differ.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...suite.compare import FLOAT32, FLOAT64

Request = tuple[Any, ...]

PLACES, SUMS = 4, 2
#: the maximum number of values in a tensor; of a larger tensor, only the form is compared
_MOST_NUMBERS = 1 << 18
#: the maximum number of values in a small tensor; small sizes are frequent
_SMALL = 1 << 12
#: the factor by which bounds are larger for gradients in float32, because these are rounded more,
#: as in `suite.compare`
_OF_GRADIENTS = 100.0

#: recorded instead of a call's arguments if none of them was changed
UNCHANGED = "arguments as they were"
#: recorded instead of gradients if the result is not finite
THROUGH_NAN = "gradients of what is not finite"
#: recorded for requests to a layer that could not be built or did not accept its weights
NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Event:
    """A request's operation and its result, which is a value or the name of an error."""

    operation: str
    value: Any = None
    raised: str = ""


#: the maximum number of tensors that are read in a call, because a reply may refer to the same
#: tensor many times
_MOST_TENSORS = 100
_MOST_CHARACTERS = 4000
#: the maximum length of a value without tensors, in characters
_LONGEST_VALUE = 200
OF_GRADIENTS = ("gradients", "layer_gradients")
#: recorded for a test that passes, and for a test that makes other requests for this answer
PASSED, OFF_PLAN = "passed", "asks something else"
#: the errors that answers raise on purpose
_ON_PURPOSE = ("ValueError", "KeyError")
#: the rounding of a share; the number of samples needed for a range; samples with no more different
#: values than this have no range
_ROUNDING, _ENOUGH, _FEW = 1e-4, 5, 2
#: how far outside the samples' range a share may be, in widths of the range, because one of an
#: answer's hundreds of shares is often outside
_WIDTHS = 1.5
#: the largest share that an event may have although it is in none of the samples
_RARE = 0.05
#: the student's own words in a message: a line of code below the error, and the error's message
_OWN_WORDS = re.compile(r"\nin \w+:[^\n]*|(?<=Error): [^\n]*")
_DTYPE = re.compile(r"torch\.\w+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf")


def _is_within(bound: float, one: float, another: float) -> bool:
    return abs(one - another) <= bound


@dataclass(frozen=True)
class Call:
    """A call: the operation, the form of its result, and numbers that represent the result.

    `figures` contains the numbers that represent the result (see `figures_of`), and `bounds` says
    how much rounding may change each of these numbers. `shares` contains statistics that are
    similar for answers that are random in the same way (see `shares_of`).
    """

    operation: str
    raised: str
    form: str
    figures: tuple[float, ...]
    bounds: tuple[float, ...]
    shares: tuple[float, ...] = ()

    def equals(self, other: Call) -> bool:
        """Returns whether the results of both calls are equal except for rounding."""
        return (
            self.form == other.form
            and self._is_of_a_kind(other)
            and all(map(_is_within, self.bounds, self.figures, other.figures))
        )

    def has_equal_numbers(self, other: Call) -> bool:
        """Returns whether the results of both calls are equal except for rounding and dtypes."""
        return (
            self._is_of_a_kind(other)
            and all(
                map(_is_within, map(max, self.bounds, other.bounds), self.figures, other.figures)
            )
            and _DTYPE.sub("", self.form) == _DTYPE.sub("", other.form)
        )

    def _is_of_a_kind(self, other: Call) -> bool:
        """Returns whether both calls have the same operation, error and number of figures."""
        return (
            self.operation == other.operation
            and self.raised == other.raised
            and len(self.figures) == len(other.figures)
        )

    @property
    def is_asked(self) -> bool:
        """Returns whether the call was made; it is not made if its layer can't be used."""
        return self.raised != NOT_ASKED

    def is_only_nan(self, solution: Call) -> bool:
        """Returns whether a result, unlike the solution's, consists of nan and possibly zeros."""
        is_odd = len(self.figures) > len(solution.figures) and self.figures[0] != 0
        return is_odd and not any(self.figures[-SUMS:])

    def is_failing(self, solution: Call) -> bool:
        """Returns whether an error was raised although a value is expected."""
        return bool(self.raised and not solution.raised)

    def is_wrong(self, solution: Call) -> bool:
        """Returns whether the value is wrong; unexpected errors and wrong gradients don't count."""
        meant = not self.is_failing(solution) and self.operation not in OF_GRADIENTS
        return meant and not self.equals(solution)


@dataclass(frozen=True)
class AnswerRecord:
    """An answer's record in a test: every call and, if the answer is random, the test's message."""

    calls: tuple[Call, ...]
    words: str = ""

    def equals(self, other: AnswerRecord) -> bool:
        """Returns whether both records have equal results for every call."""
        is_as_long = len(self.calls) == len(other.calls)
        return is_as_long and all(map(Call.equals, self.calls, other.calls))

    @cached_property
    def forms(self) -> tuple[object, ...]:
        """The calls without numbers; equal for answers that are random in the same way."""
        return tuple((call.operation, call.raised, call.form) for call in self.calls)

    def is_among(self, samples: Iterable[AnswerRecord]) -> bool:
        """Returns whether the answer is of the same kind as these samples, and in their range.

        The answer's shares must be in or near the range of shares in the samples with the same
        forms and message (if the answer's message is known). If few samples were drawn, this is
        enough. If many samples were drawn but too few of them have the answer's forms and message,
        the answer does not count as similar.
        """
        samples = [*samples]
        alike = [s for s in samples if s.forms == self.forms and self.words in ("", s.words)]
        if len(samples) < _ENOUGH:
            return bool(alike)
        return len(alike) >= _ENOUGH and all(
            _near(call.shares, [sample.calls[number].shares for sample in alike])
            for number, call in enumerate(self.calls)
        )

    def has_another_value_than(self, solution: AnswerRecord) -> bool:
        """Returns whether any value, or any deliberate error, differs from the solution's.

        Differences in other errors say little about the mistake.
        """
        return any(
            (not call.raised or call.raised in _ON_PURPOSE or right.raised in _ON_PURPOSE)
            and not call.equals(right)
            for call, right in zip(self.calls, solution.calls, strict=False)
        )


def answered(events: Iterable[Event]) -> AnswerRecord:
    """Converts an answer's events in a test to a record."""
    return AnswerRecord(tuple(_call(event, with_shares=False) for event in events))


def measured(events: Iterable[Event]) -> AnswerRecord:
    """Converts events to a record with shares, which can be compared with stochastic answers."""
    return AnswerRecord(tuple(_call(event, with_shares=True) for event in events))


def in_words(message: str) -> str:
    """Returns a message without numbers and without text that the student wrote."""
    return _NUMBER.sub("#", _OWN_WORDS.sub("", message))


def _near(shares: Sequence[float], samples: Sequence[Sequence[float]]) -> bool:
    """Returns whether each share may have the same distribution as this share in the samples."""
    return all(map(_is_near, shares, zip(*samples, strict=True)))


def _is_near(figure: float, drawn: Sequence[float]) -> bool:
    """Returns whether a share is in or near the range of the shares that were drawn.

    If the shares that were drawn have only a few different values, such as 0 and 1, the share must
    equal one of these values. If all of them are 0, the share may be small: in one of many samples,
    all numbers of a row may be zero.
    """
    low, high = min(drawn), max(drawn)
    rounding = _ROUNDING * max(abs(low), abs(high), 1e-2)
    values = set(drawn)
    if values == {0.0}:
        return 0.0 <= figure <= _RARE
    if len(values) <= _FEW:
        return any(abs(figure - value) <= rounding for value in values)
    margin = _WIDTHS * (high - low) + rounding
    return low - margin <= figure <= high + margin


def behaviour_of(tests: Mapping[str, AnswerRecord]) -> str:
    """Returns a digest that is equal for answers whose results differ only in the last digits."""
    digest = hashlib.sha256()
    for name in sorted(tests):
        digest.update(name.encode())
        for call in tests[name].calls:
            sums = [f"{figure:.2g}" for figure in call.figures[-SUMS:]]
            digest.update(repr((call.operation, call.raised, call.form, sums)).encode())
    return f"sha256:{digest.hexdigest()}"


def _call(event: Event, with_shares: bool) -> Call:
    tensors: list[torch.Tensor] = []
    form = _form(event.value, tensors, with_sizes=not with_shares)[:_MOST_CHARACTERS]
    largest = largest_of(tensors[:_MOST_TENSORS]) if event.operation in OF_GRADIENTS else None
    pairs = [pair for tensor in tensors[:_MOST_TENSORS] for pair in figures_of(tensor, largest)]
    figures, bounds = tuple(figure for figure, _ in pairs), tuple(bound for _, bound in pairs)
    shown = tensors[:_MOST_TENSORS] if with_shares else []
    shares = tuple(share for tensor in shown for share in shares_of(tensor))
    return Call(event.operation, event.raised, form, figures, bounds, shares)


def _form(value: Any, tensors: list[torch.Tensor], with_sizes: bool) -> str:
    """Returns a value's form, with sizes on request; adds the value's tensors to `tensors`."""
    if isinstance(value, torch.Tensor):
        if value.device.type != "meta":
            tensors.append(value)
        sizes = tuple(value.shape) if with_sizes else f"{value.dim()} dimensions"
        return f"{value.dtype} {sizes} {value.device.type}"
    if isinstance(value, float):
        tensors.append(torch.tensor(value))
        return "float"
    if isinstance(value, tuple | list):
        items = ", ".join(_form(item, tensors, with_sizes) for item in value)
        return f"{type(value).__name__}({items})"
    if isinstance(value, dict):
        # a dict's order does not matter; a key that is a tensor is sorted by its form, without
        # printing it
        keys = sorted(value, key=lambda key: _form(key, [], with_sizes)[:_LONGEST_VALUE])
        return "{" + ", ".join(_item(key, value[key], tensors, with_sizes) for key in keys) + "}"
    if isinstance(value, SimpleNamespace):
        return _form(vars(value), tensors, with_sizes)
    return repr(value)[:_LONGEST_VALUE]


def _item(key: Any, item: Any, tensors: list[torch.Tensor], with_sizes: bool) -> str:
    return f"{_form(key, tensors, with_sizes)}: {_form(item, tensors, with_sizes)}"


# functions that compute the figures of a tensor


def _is_plain(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor contains numbers that can be read, but not too many of them."""
    dense = tensor.layout == torch.strided and not tensor.is_quantized
    return dense and not tensor.is_complex() and 0 < tensor.numel() <= _MOST_NUMBERS


def largest_of(tensors: Iterable[torch.Tensor]) -> float:
    """Returns the largest absolute value of the finite numbers in all tensors."""
    plain = (np.nan_to_num(_numbers(t), posinf=0.0, neginf=0.0) for t in tensors if _is_plain(t))
    return max((float(np.abs(values).max()) for values in plain), default=0.0)


def figures_of(tensor: torch.Tensor, of_gradients: float | None) -> Iterator[tuple[float, float]]:
    """Yields a tensor's figures, each with its bound: the largest change that rounding may cause.

    For gradients, bounds are larger in float32, and grow with the largest of all gradients, because
    a small gradient may be the sum of large numbers that cancel.
    """
    if not _is_plain(tensor):
        return
    values = _numbers(tensor)
    directions = _directions(len(values))
    size = float(np.abs(values).max())
    if not math.isfinite(size):
        odd = np.stack([np.isnan(values), values == np.inf, values == -np.inf]).astype(np.float64)
        yield from ((figure, 1e-6) for figure in (odd @ directions[0]).tolist())
        values = np.where(np.isfinite(values), values, 0.0)
        size = float(np.abs(values).max())
    is_double = tensor.dtype == torch.float64
    bound = FLOAT64 if is_double else FLOAT32
    more = 1.0 if is_double or of_gradients is None else _OF_GRADIENTS
    size = max(1.0, size, of_gradients or 0.0)
    far = more * (bound.atol * size + bound.rtol * np.abs(values))
    places = _places(len(values))
    yield from zip(values[places].tolist(), far[places].tolist(), strict=True)
    with np.errstate(over="ignore", invalid="ignore"):  # sums of huge numbers may be infinite
        moved = np.sqrt(np.square(directions * far).sum(axis=1))
        sums = directions @ values
    yield from zip(sums.tolist(), (3 * moved + 1e-9).tolist(), strict=True)


def _numbers(tensor: torch.Tensor) -> NDArray[np.float64]:
    """Returns a tensor's numbers as a flat array, because NumPy is three times as fast here."""
    return tensor.detach().flatten().double().numpy()


def shares_of(tensor: torch.Tensor) -> Iterator[float]:
    """Yields a tensor's sizes, and statistics that are similar in all samples of a mistake."""
    yield from map(float, tensor.shape)
    if not _is_plain(tensor) or not tensor.dtype.is_floating_point:
        return
    values = tensor.detach().double().nan_to_num(0.0, 0.0, 0.0)
    yield float((values == 0).double().mean())
    yield float(values.mean())
    yield float(values.abs().mean())
    yield float(values.square().mean().sqrt())
    for dim in range(values.dim()):
        yield float(values.mean(dim).square().mean().sqrt())
        yield float((values == 0).all(dim).double().mean())


def _directions(size: int) -> NDArray[np.float64]:
    """Returns the weights of a tensor's sums; keeps more of the small ones in memory."""
    return _few_directions(size) if size > _SMALL else _many_directions(size)


def _new_directions(size: int) -> NDArray[np.float64]:
    draws = torch.Generator().manual_seed(size)
    return torch.randn(SUMS, size, generator=draws, dtype=torch.float64).numpy()


_few_directions = lru_cache(maxsize=64)(_new_directions)
_many_directions = lru_cache(maxsize=1024)(_new_directions)


@lru_cache(maxsize=1024)
def _places(size: int) -> NDArray[np.int64]:
    if size <= PLACES:
        return np.arange(size)
    draws = torch.Generator().manual_seed(size)
    return torch.randint(size, (PLACES,), generator=draws).numpy()
