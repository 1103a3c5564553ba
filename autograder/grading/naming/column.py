"""Compares a call with all distinct results for the same request in a single step."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .record import PLACES, SUMS, Call

Numbers = NDArray[np.float64]
_TENSOR = re.compile(r"(torch\.\w+ \(([\d, ]*)\) \w+)")


class Column:
    """The different results for a request, as arrays that can be compared with a call all at once.

    Results of the same kind have the same number of figures, so their figures form a matrix with
    one row for each result.
    """

    def __init__(self, answers: Sequence[Call]) -> None:
        self._size = len(answers)
        kinds: dict[tuple[str, str, int], list[int]] = {}
        for number, call in enumerate(answers):
            kinds.setdefault(_kind(call), []).append(number)
        self._kinds = {
            kind: (
                np.array(numbers),
                np.array([hash(answers[number].form) for number in numbers]),
                np.array([_forms_of_figures(answers[number]) for number in numbers], np.int64),
                np.array([answers[number].figures for number in numbers], np.float64),
                np.array([answers[number].bounds for number in numbers], np.float64),
            )
            for kind, numbers in kinds.items()
        }

    def equal_to(self, call: Call) -> NDArray[np.bool_]:
        """Returns, for each result, whether it equals the call, in the sense of `Call.equals`."""
        found = np.zeros(self._size, bool)
        if own := self._kinds.get(_kind(call)):
            numbers, forms, _, figures, bounds = own
            found[numbers] = _near(figures, call, bounds).all(1) & (forms == hash(call.form))
        return found

    def alike(self, call: Call) -> list[int]:
        """Returns the numbers of results with the call's figures but a different form."""
        if not (own := self._kinds.get(_kind(call))):
            return []
        numbers, forms, _, figures, bounds = own
        near = _near(figures, call, np.maximum(bounds, call.bounds)).all(1)
        return [int(number) for number in numbers[near & (forms != hash(call.form))]]

    def numbers_unlike(self, call: Call) -> NDArray[np.bool_]:
        """Returns, for each result, whether it is a number that does not equal the call.

        Where a result is nan, other code with the same mistake may be right: a variance that
        divides by `max(D - 1, 1)` instead of `D - 1`.
        """
        found = ~self.equal_to(call)
        for (_, raised, count), (numbers, forms, *_) in self._kinds.items():
            is_nan = (forms == hash(call.form)) & (count > len(call.figures))
            found[numbers] &= ~is_nan & (not raised)
        return found

    def figures_equal_to(self, call: Call, count: int) -> NDArray[np.bool_]:
        """Returns, for each result, which of its first `count` figures equal those of the call.

        If the call or the result has a different number of figures, they are compared as a whole:
        either all figures count as equal, or none do. If a result has several tensors, a tensor
        with the right shape is compared even if another tensor has a wrong shape.
        """
        found = np.repeat(self.equal_to(call)[:, None], count, 1)
        own = self._kinds.get(_kind(call))
        if own and len(call.figures) == count:
            numbers, _, forms, figures, bounds = own
            found[numbers] = _near(figures, call, bounds) & (forms == _forms_of_figures(call))
        return found


def _near(figures: Numbers, call: Call, bounds: Numbers) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return np.abs(figures - call.figures) <= bounds


def _forms_of_figures(call: Call) -> list[int]:
    """Returns, for each figure, a hash of its tensor's form or, if unknown, the result's form."""
    found: list[int] = []
    for form, sizes in _TENSOR.findall(call.form):
        size = math.prod(map(int, re.findall(r"\d+", sizes)))
        found += [hash(form)] * (min(PLACES, size) + SUMS if size else 0)
    return found if len(found) == len(call.figures) else [hash(call.form)] * len(call.figures)


def _kind(call: Call) -> tuple[str, str, int]:
    return call.operation, call.raised, len(call.figures)
