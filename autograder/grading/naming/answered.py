"""What one test saw of an answer, small enough to keep and to compare with many others.

A tensor is known by its shape and dtype, by some of its values and by two sums of all of them with
random signs and sizes: answers that differ anywhere differ there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import torch

from .events import NOT_ASKED, Event
from .figures import SUMS, figures_of, largest_of, shares_of

#: tensors of one call that are looked at: a reply may name one many times
_MOST_TENSORS = 100
_MOST_CHARACTERS = 4000
#: of what is neither a tensor nor made of tensors
_LONGEST_VALUE = 200
OF_GRADIENTS = ("gradients", "layer_gradients")
#: the words of a test that passed, and of one that would ask something else of this answer
PASSED, OFF_PLAN = "passed", "asks something else"
#: errors that an answer raises by itself
_ON_PURPOSE = ("ValueError", "KeyError")
#: rounding of a share; samples that say something of others; so few values are no range
_ROUNDING, _ENOUGH, _FEW = 1e-4, 5, 3
#: the student's own words: a line of code, below what was raised, and what the error says
_OWN_WORDS = re.compile(r"\nin \w+:[^\n]*|(?<=Error): [^\n]*")
_DTYPE = re.compile(r"torch\.\w+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf")


@dataclass(frozen=True)
class Call:
    """One call: what was asked, the form of what came, and its figures with their bounds.

    `shares` are figures that answers by the same chance have in common: how many zeros, how large,
    how much of it along each dimension.
    """

    operation: str
    raised: str
    form: str
    figures: tuple[float, ...]
    bounds: tuple[float, ...]
    shares: tuple[float, ...] = ()

    def equals(self, other: Call) -> bool:
        """Whether the same came, within what rounding may change."""
        return (
            (self.operation, self.raised, self.form) == (other.operation, other.raised, other.form)
            and len(self.figures) == len(other.figures)
            and all(
                abs(one - another) <= bound
                for one, another, bound in zip(
                    self.figures, other.figures, self.bounds, strict=True
                )
            )
        )

    def has_equal_numbers(self, other: Call) -> bool:
        """Whether the same came in another dtype, within what rounding may change in either."""
        one, another = (_DTYPE.sub("", call.form) for call in (self, other))
        return (
            (self.operation, self.raised, one) == (other.operation, other.raised, another)
            and len(self.figures) == len(other.figures)  # what is not finite has more of them
            and all(
                abs(own - its) <= max(bounds)
                for own, its, *bounds in zip(
                    self.figures, other.figures, self.bounds, other.bounds, strict=True
                )
            )
        )

    @property
    def is_asked(self) -> bool:
        """Whether there was a layer to be asked."""
        return self.raised != NOT_ASKED

    def is_failing(self, solution: Call) -> bool:
        """Whether an error came where a value is asked for."""
        return bool(self.raised and not solution.raised)

    def is_wrong(self, solution: Call) -> bool:
        """Whether it says what was meant, and that is wrong: no error, and no gradient alone."""
        meant = not self.is_failing(solution) and self.operation not in OF_GRADIENTS
        return meant and not self.equals(solution)


@dataclass(frozen=True)
class Answered:
    """One test of an answer: every call; and, where chance is part of it, what the test said."""

    calls: tuple[Call, ...]
    words: str = ""

    def equals(self, other: Answered) -> bool:
        """Whether both answered alike on every call."""
        return len(self.calls) == len(other.calls) and all(
            a.equals(b) for a, b in zip(self.calls, other.calls, strict=True)
        )

    def alike_calls(self, other: Answered) -> int:
        """On how many calls both answered alike."""
        return sum(a.equals(b) for a, b in zip(self.calls, other.calls, strict=False))

    def is_partly_right(self, solution: Answered) -> bool:
        """Whether a call returned what is asked for."""
        return any(
            call.equals(right) and not call.raised and bool(call.figures)
            for call, right in zip(self.calls, solution.calls, strict=False)
        )

    @cached_property
    def signature(self) -> tuple[object, ...]:
        """What is left when the figures are taken away: equal for answers by the same chance."""
        forms = tuple((call.operation, call.raised, call.form) for call in self.calls)
        return self.words, forms

    def is_among(self, samples: Sequence[Answered]) -> bool:
        """Whether its shares lie in or near the range of those that others of its signature have.

        Where too few have it, nothing is known of it.
        """
        alike = [sample for sample in samples if sample.signature == self.signature]
        return len(alike) >= _ENOUGH and all(
            _near(call.shares, [sample.calls[number].shares for sample in alike])
            for number, call in enumerate(self.calls)
        )

    def is_alike_but_for_edges(self, other: Answered, solution: Answered) -> bool:
        """Whether the other answers alike, but where that is right and this one raises an error.

        What comes in the place of an error that is asked for says nothing but that none came.
        """
        return len(self.calls) == len(other.calls) == len(solution.calls) and all(
            one.equals(another)
            or (one.raised != another.raised and another.equals(right))
            or bool(right.raised and not one.raised and not another.raised)
            for one, another, right in zip(self.calls, other.calls, solution.calls, strict=True)
        )

    def shares_a_mistake_with(self, other: Answered, solution: Answered) -> bool:
        """Whether a value is wrong in both, and the same."""
        calls = zip(self.calls, other.calls, solution.calls, strict=True)
        return any(one.is_wrong(right) and one.equals(another) for one, another, right in calls)

    def has_another_value_than(self, solution: Answered) -> bool:
        """Whether a call returned something else, or an error that was meant is another one.

        Other errors alone say little of what was meant.
        """
        return any(
            (not call.raised or call.raised in _ON_PURPOSE or right.raised in _ON_PURPOSE)
            and not call.equals(right)
            for call, right in zip(self.calls, solution.calls, strict=False)
        )


def answered(events: Iterable[Event], words: str = "", with_shares: bool = False) -> Answered:
    """The record of one test from what came.

    Only stochastic answers are compared by what the test says, and by their shares.
    """
    return Answered(tuple(_call(event, with_shares) for event in events), words)


def in_words(message: str) -> str:
    """A message without numbers, and without the student's own words."""
    return _NUMBER.sub("#", _OWN_WORDS.sub("", message))


def _near(shares: Sequence[float], samples: Sequence[Sequence[float]]) -> bool:
    """Whether each figure may be of the same chance as those of the samples."""
    return all(map(_is_near, shares, zip(*samples, strict=True)))


def _is_near(figure: float, drawn: Sequence[float]) -> bool:
    """Whether a figure is at most as far outside the range of others as that is wide.

    Where they have few values, as with all or nothing, it must be one of these.
    """
    low, high = min(drawn), max(drawn)
    rounding = _ROUNDING * max(abs(low), abs(high), 1e-2)
    values = set(drawn)
    if len(values) <= _FEW:
        return any(abs(figure - value) <= rounding for value in values)
    margin = high - low + rounding
    return low - margin <= figure <= high + margin


def behaviour_of(tests: Mapping[str, Answered]) -> str:
    """A digest that is equal for answers that behave alike, but for the last digits."""
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
    """A value without its numbers, which go to `tensors`; chance may be part of sizes, too."""
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
        # the order of a dict is nobody's mistake; a tensor that is a key is not printed for it
        keys = sorted(value, key=lambda key: _form(key, [], with_sizes)[:_LONGEST_VALUE])
        return "{" + ", ".join(_item(key, value[key], tensors, with_sizes) for key in keys) + "}"
    if isinstance(value, SimpleNamespace):
        return _form(vars(value), tensors, with_sizes)
    return repr(value)[:_LONGEST_VALUE]


def _item(key: Any, item: Any, tensors: list[torch.Tensor], with_sizes: bool) -> str:
    return f"{_form(key, tensors, with_sizes)}: {_form(item, tensors, with_sizes)}"
