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
_OPEN, _SLOPE = ExplainedCalls(left=1), ExplainedCalls(left=1, slopes=1)
_AGAINST, _AGAINST_RIGHT = ExplainedCalls(against=1), ExplainedCalls(against=_RIGHT)


class Outcome:
    """One call of an answer next to the solution's."""

    def __init__(self, came: Call, right: Call) -> None:
        self.came = came
        self.right = right
        self.is_right = came.equals(right)
        self.is_wrong = came.is_wrong(right)
        self.of_gradients = came.operation in OF_GRADIENTS
        #: whether no row needs to explain it, because it may fail for another reason
        self.is_open = came.is_failing(right) or bool(right.raised) or self.of_gradients


def explained(own: Call, outcome: Outcome) -> ExplainedCalls:
    """Compares a row's call with the answer's: it explains it, leaves it open, or contradicts it.

    It need not explain a call that fails in one of both for another reason, such as an unknown
    device or dtype. Nor need it explain gradients: if two numbers are equal, they depend on how the
    larger one is found.
    """
    came, right = outcome.came, outcome.right
    if came.equals(own):
        return _EXPLAINS if outcome.is_wrong else _NONE
    if came.has_equal_numbers(own) and not own.has_equal_numbers(right):
        return _EXPLAINS
    if own.raised and outcome.is_right:
        return _NONE
    if outcome.is_open or own.is_failing(right):
        is_slope = outcome.of_gradients and (came.form == own.form or came.raised or own.raised)
        return _SLOPE if is_slope else _OPEN
    return _AGAINST_RIGHT if outcome.is_right else _AGAINST
