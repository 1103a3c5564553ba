"""Compact records of an answer's replies in one test, to store and compare with many others.

A reply becomes an event (a value, or the name of an error), an event a record. A tensor is
represented by its shape and dtype, some of its values, and two sums of all of them with random
signs and sizes: answers that differ anywhere differ in the sums.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import torch

from ...errors import AnswerFault, AnswerRaised
from ...records import Limits
from ...sandbox.replies import RawReply, value_of
from ...suite.compare import is_rounding
from ...worker import wire
from ...worker.execution import tensors_in
from ..judging import reply_forms as forms
from .figures import SUMS, figures_of, largest_of, shares_of

Request = tuple[Any, ...]

_MAKING = ("restore", "build", "load_weights")
#: the bytes of the tensors of a reply, each counted as often as it is referenced, because all are
#: read
_MOST_BYTES = Limits().reply_bytes
#: incoming gradients are compared unscaled up to this power of ten
_ORDINARY = 2
_THROUGH_NAN = "gradients of what is not finite"
#: recorded instead of the arguments of a call if none was changed
UNCHANGED = "arguments as they were"
#: a layer that could not be built, or did not accept its weights, is asked only for its parameters
NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True)
class Event:
    """One request: the operation, and its result - a value, or the name of an error."""

    operation: str
    value: Any = None
    raised: str = ""


def events_of(requests: Sequence[Request], replies: Sequence[RawReply]) -> Iterator[Event]:
    """Yields one event for each request; the replies are hostile."""
    broken: set[Any] = set()
    missing: set[Any] = set()
    for request, reply in zip(requests, replies, strict=True):
        operation, number, *rest = request
        if (number in broken and operation not in ("build", "weights")) or (
            number in missing and operation == "weights"
        ):
            event = Event(operation, raised=NOT_ASKED)
        else:
            event = _event(request, reply)
        if event.raised and operation in _MAKING:
            made = rest[0] if operation == "restore" else number
            broken.add(made)
            missing |= set() if operation == "load_weights" else {made}
        yield event


def _event(request: Request, reply: RawReply) -> Event:
    operation = request[0]
    try:
        frame = wire.decode(reply[0], bytearray(reply[1]), most_bytes=_MOST_BYTES)
        value = value_of(frame)
        return Event(operation, _compared_parts(request, value))
    except wire.BadFrame:
        return Event(operation, raised="no answer")
    except AnswerFault as fault:
        return Event(operation, raised=_name_of(operation, fault))


def _compared_parts(request: Request, value: Any) -> Any:
    """Returns the compared parts of a value; raises `AnswerProtocol` if its form is not right."""
    operation, asked = request[0], request[2:3]
    if operation in ("call", "forward"):
        (args,) = asked
        outcome = forms.outcome(value, args)
        after = list(outcome.inputs_after)
        return outcome.value, UNCHANGED if _is_same(args, after) else after
    if operation in ("gradients", "layer_gradients"):
        found = forms.gradients(value, request[2])
        if not _is_finite(found.value):
            return found.value, _THROUGH_NAN
        inputs, weights = _for_ones([list(found.inputs), dict(found.weights)], _size(request[3]))
        inputs, weights = _without_zeros([inputs, weights])
        return found.value, inputs, _by_name(weights), *found.left
    if operation in ("steps", "layer_steps"):
        return forms.values(value, len(*asked))
    if operation == "weights" and forms.is_named_tensors(value):
        return {name: tuple(weight.shape) for name, weight in _by_name(value)}
    return None


def _size(cotangent: Any) -> float:
    """Returns the power of ten of an incoming gradient, if it is far from 1."""
    largest = max((float(t.abs().max()) for t in tensors_in(cotangent) if t.numel()), default=1.0)
    power = round(math.log10(largest)) if largest > 0 and math.isfinite(largest) else 0
    return 10.0**power if abs(power) > _ORDINARY else 1.0


def _for_ones(gradients: Any, size: float) -> Any:
    """Returns the gradients scaled to incoming ones of size 1, so that they can be compared."""
    if size == 1:
        return gradients
    if isinstance(gradients, tuple | list):
        return type(gradients)(_for_ones(item, size) for item in gradients)
    if isinstance(gradients, dict):
        return {key: _for_ones(item, size) for key, item in gradients.items()}
    is_number = isinstance(gradients, torch.Tensor) and gradients.is_floating_point()
    return gradients / size if is_number else gradients


def _without_zeros(gradients: Any) -> Any:
    """Returns the gradients with None for what is only rounding: suites accept either."""
    if isinstance(gradients, tuple | list):
        return type(gradients)(_without_zeros(item) for item in gradients)
    if isinstance(gradients, dict):
        return {key: _without_zeros(item) for key, item in gradients.items()}
    is_number = isinstance(gradients, torch.Tensor) and gradients.device.type != "meta"
    return None if is_number and is_rounding(gradients) else gradients


def _by_name(weights: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Returns weights sorted by name: the order in which layers are built does not matter."""
    return sorted(weights.items(), key=lambda named: named[0])


def _is_finite(value: Any) -> bool:
    """Returns whether all numbers of a result are finite; otherwise gradients depend on details."""
    return all(
        tensor.device.type == "meta" or bool(tensor.isfinite().all())
        for tensor in tensors_in(value)
    )


def _is_same(one: Any, other: Any) -> bool:
    """Returns whether arguments are unchanged."""
    if isinstance(one, torch.Tensor):
        same = isinstance(other, torch.Tensor) and (one.dtype, one.shape, one.device) == (
            *(other.dtype, other.shape),
            other.device,
        )
        return same and (one.device.type == "meta" or torch.equal(one, other))
    if isinstance(one, tuple | list):
        return (
            type(one) is type(other) and len(one) == len(other) and all(map(_is_same, one, other))
        )
    return type(one) is type(other) and bool(one == other)


def _name_of(operation: str, fault: AnswerFault) -> str:
    """Returns the class of an error; for weights that don't fit, our own message with the name."""
    if operation == "load_weights":
        return str(fault)
    return fault.type_name if isinstance(fault, AnswerRaised) else type(fault).__name__


#: the number of tensors of one call that are read: a reply may reference one many times
_MOST_TENSORS = 100
_MOST_CHARACTERS = 4000
#: the number of characters of a value that contains no tensors
_LONGEST_VALUE = 200
OF_GRADIENTS = ("gradients", "layer_gradients")
#: the words of a test that passed, and of one that would ask this answer something different
PASSED, OFF_PLAN = "passed", "asks something else"
#: errors that an answer raises on purpose
_ON_PURPOSE = ("ValueError", "KeyError")
#: the rounding of a share; the number of samples needed to judge others; the number of different
#: values up to which they are not a range
_ROUNDING, _ENOUGH, _FEW = 1e-4, 5, 3
#: the student's own words: a line of code below the error, and the error's message
_OWN_WORDS = re.compile(r"\nin \w+:[^\n]*|(?<=Error): [^\n]*")
_DTYPE = re.compile(r"torch\.\w+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf")


def _is_within(bound: float, one: float, another: float) -> bool:
    return abs(one - another) <= bound


@dataclass(frozen=True)
class Call:
    """One call: the operation, the form of its result, and its figures with their bounds.

    `shares` are figures that answers with the same randomness share: how many zeros, how large, and
    how much along each dimension.
    """

    operation: str
    raised: str
    form: str
    figures: tuple[float, ...]
    bounds: tuple[float, ...]
    shares: tuple[float, ...] = ()

    def equals(self, other: Call) -> bool:
        """Returns whether both results are equal up to rounding."""
        return (
            self.form == other.form
            and self._is_of_a_kind(other)
            and all(map(_is_within, self.bounds, self.figures, other.figures))
        )

    def has_equal_numbers(self, other: Call) -> bool:
        """Returns whether both results are equal in different dtypes, up to rounding in either."""
        return (
            self._is_of_a_kind(other)
            and all(
                map(_is_within, map(max, self.bounds, other.bounds), self.figures, other.figures)
            )
            and _DTYPE.sub("", self.form) == _DTYPE.sub("", other.form)
        )

    def _is_of_a_kind(self, other: Call) -> bool:
        """Compares all but figures and form; results that are not finite have more figures."""
        return (
            self.operation == other.operation
            and self.raised == other.raised
            and len(self.figures) == len(other.figures)
        )

    @property
    def is_asked(self) -> bool:
        """Returns whether there was a layer to call."""
        return self.raised != NOT_ASKED

    def is_failing(self, solution: Call) -> bool:
        """Returns whether an error was raised although a value is expected."""
        return bool(self.raised and not solution.raised)

    def is_wrong(self, solution: Call) -> bool:
        """Returns whether the value is wrong; errors and gradients don't count."""
        meant = not self.is_failing(solution) and self.operation not in OF_GRADIENTS
        return meant and not self.equals(solution)


@dataclass(frozen=True)
class AnswerRecord:
    """One test of an answer: every call, and the test's words if chance is involved."""

    calls: tuple[Call, ...]
    words: str = ""

    def equals(self, other: AnswerRecord) -> bool:
        """Returns whether both gave equal answers to every call."""
        return len(self.calls) == len(other.calls) and all(
            a.equals(b) for a, b in zip(self.calls, other.calls, strict=True)
        )

    def is_partly_right(self, solution: AnswerRecord) -> bool:
        """Returns whether some call returned the expected value."""
        return any(
            call.equals(right) and not call.raised and bool(call.figures)
            for call, right in zip(self.calls, solution.calls, strict=False)
        )

    @cached_property
    def signature(self) -> tuple[object, ...]:
        """Everything except the figures, which is equal for answers with the same randomness."""
        forms = tuple((call.operation, call.raised, call.form) for call in self.calls)
        return self.words, forms

    def is_among(self, samples: Sequence[AnswerRecord]) -> bool:
        """Returns whether the answer is of the same kind as some samples, and as close as they are.

        Its shares must be in or near the range of the shares of samples with the same signature. If
        too few samples have that signature, nothing is known about it; if few were drawn at all, an
        equal signature is enough.
        """
        alike = [sample for sample in samples if sample.signature == self.signature]
        if len(samples) < _ENOUGH:
            return bool(alike)
        return len(alike) >= _ENOUGH and all(
            _near(call.shares, [sample.calls[number].shares for sample in alike])
            for number, call in enumerate(self.calls)
        )

    def has_another_value_than(self, solution: AnswerRecord) -> bool:
        """Returns whether a call returned a different value, or an intended error is different.

        Other errors alone say little about the intention.
        """
        return any(
            (not call.raised or call.raised in _ON_PURPOSE or right.raised in _ON_PURPOSE)
            and not call.equals(right)
            for call, right in zip(self.calls, solution.calls, strict=False)
        )


def answered(events: Iterable[Event], words: str = "", with_shares: bool = False) -> AnswerRecord:
    """Returns the record of one test from its events.

    Only stochastic answers are compared by the test's words and by their shares.
    """
    return AnswerRecord(tuple(_call(event, with_shares) for event in events), words)


def in_words(message: str) -> str:
    """Returns a message without numbers and without the student's own words."""
    return _NUMBER.sub("#", _OWN_WORDS.sub("", message))


def _near(shares: Sequence[float], samples: Sequence[Sequence[float]]) -> bool:
    """Returns whether each figure may have the same distribution as those of the samples."""
    return all(map(_is_near, shares, zip(*samples, strict=True)))


def _is_near(figure: float, drawn: Sequence[float]) -> bool:
    """Returns whether a figure is outside the range of others by at most the range's width.

    If the others have few different values, such as all or nothing, it must be one of these.
    """
    low, high = min(drawn), max(drawn)
    rounding = _ROUNDING * max(abs(low), abs(high), 1e-2)
    values = set(drawn)
    if len(values) <= _FEW:
        return any(abs(figure - value) <= rounding for value in values)
    margin = high - low + rounding
    return low - margin <= figure <= high + margin


def behaviour_of(tests: Mapping[str, AnswerRecord]) -> str:
    """Returns a digest that is equal for answers with the same behaviour, up to the last digits."""
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
    measured = tensors[:_MOST_TENSORS] if with_shares else []
    shares = tuple(share for tensor in measured for share in shares_of(tensor))
    return Call(event.operation, event.raised, form, figures, bounds, shares)


def _form(value: Any, tensors: list[torch.Tensor], with_sizes: bool) -> str:
    """Returns a value without its numbers, which go to `tensors`; sizes may be random too."""
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
        # the order of a dict does not matter; a tensor as a key is not printed in order to sort it
        keys = sorted(value, key=lambda key: _form(key, [], with_sizes)[:_LONGEST_VALUE])
        return "{" + ", ".join(_item(key, value[key], tensors, with_sizes) for key in keys) + "}"
    if isinstance(value, SimpleNamespace):
        return _form(vars(value), tensors, with_sizes)
    return repr(value)[:_LONGEST_VALUE]


def _item(key: Any, item: Any, tensors: list[torch.Tensor], with_sizes: bool) -> str:
    return f"{_form(key, tensors, with_sizes)}: {_form(item, tensors, with_sizes)}"
