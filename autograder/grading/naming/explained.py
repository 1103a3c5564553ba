"""Measures how far a known mistake explains an answer with more than one fault."""

from __future__ import annotations

from dataclasses import dataclass

from .record import OF_GRADIENTS, Call

#: how many wrong values a mistake must explain for each one that it contradicts, and for each one
#: that it does not explain if nothing else seems to be wrong
_MORE, _NEARLY_ALL = 2, 5
#: the weight of contradicting a right answer, because a mistake does not come and go
_RIGHT = 1000


@dataclass(frozen=True, slots=True)
class ExplainedCalls:
    """The number of calls that a mistake explains, leaves open, and contradicts.

    Of the calls that are left open, `slopes` are gradients that differ only in their numbers, or
    that can't be computed: both may be a consequence.
    """

    wrong: int = 0
    left: int = 0
    against: int = 0
    slopes: int = 0

    def __add__(self, other: ExplainedCalls) -> ExplainedCalls:
        return ExplainedCalls(
            self.wrong + other.wrong,
            self.left + other.left,
            self.against + other.against,
            self.slopes + other.slopes,
        )

    @property
    def numbers(self) -> tuple[int, int, int]:
        """All counts except the slopes."""
        return self.wrong, self.left, self.against

    @property
    def is_most(self) -> bool:
        """Returns whether it explains most, and contradicts far less than it explains."""
        return self.wrong > self.left and self.wrong >= _MORE * self.against

    @property
    def is_all(self) -> bool:
        """Returns whether nothing else seems to be wrong, as two mistakes differ in many calls.

        Gradients do not count: rounding moves them, as with a ReLU near zero.
        """
        return _NEARLY_ALL * (self.against + self.left - self.slopes) <= self.wrong

    @property
    def margin(self) -> int:
        """The number of explained calls minus that of contradicted ones."""
        return self.wrong - self.against


_NONE, _EXPLAINS = ExplainedCalls(), ExplainedCalls(wrong=1)


def explained(own: Call, came: Call, right: Call) -> ExplainedCalls:
    """Compares a row's call with the answer's: it explains it, leaves it open, or contradicts it.

    It need not explain a call that fails in one of both for another reason, such as an unknown
    device or dtype. Nor need it explain gradients: if two numbers are equal, they depend on how the
    larger one is found.
    """
    if came.equals(own):
        return _EXPLAINS if came.is_wrong(right) else _NONE
    if came.has_equal_numbers(own) and not own.has_equal_numbers(right):
        return _EXPLAINS
    if own.raised and came.equals(right):
        return _NONE
    of_gradients = came.operation in OF_GRADIENTS
    if came.is_failing(right) or own.is_failing(right) or right.raised or of_gradients:
        is_slope = of_gradients and (came.form == own.form or came.raised or own.raised)
        return ExplainedCalls(left=1, slopes=int(bool(is_slope)))
    return ExplainedCalls(against=_RIGHT if came.equals(right) else 1)
