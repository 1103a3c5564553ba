"""How far a known mistake explains an answer that is wrong in more than one way."""

from __future__ import annotations

from dataclasses import dataclass

from .answered import OF_GRADIENTS, Answered

#: wrong values that a mistake explains, for each that it contradicts
_MORE = 2
#: what it contradicts, where the answer is right: a mistake that is told does not come and go
_RIGHT = 1000


@dataclass(frozen=True, slots=True)
class Explained:
    """How many calls a mistake explains, leaves open, and contradicts.

    Of those that are left open, `slopes` are gradients that differ in their numbers alone.
    """

    wrong: int = 0
    left: int = 0
    against: int = 0
    slopes: int = 0

    def __add__(self, other: Explained) -> Explained:
        return Explained(
            self.wrong + other.wrong,
            self.left + other.left,
            self.against + other.against,
            self.slopes + other.slopes,
        )

    @property
    def is_most(self) -> bool:
        """Whether it explains more than it leaves open, and far more than it contradicts."""
        return self.wrong > self.left and self.wrong >= _MORE * self.against

    @property
    def is_all(self) -> bool:
        """Whether nothing else is wrong: rounding may take a gradient to the other side of a bend.

        As with a ReLU of nearly zero in sums of thousands.
        """
        return not self.against and self.left == self.slopes

    @property
    def margin(self) -> int:
        """How many calls more are explained than contradicted."""
        return self.wrong - self.against


def explained(answer: Answered, mistake: Answered, solution: Answered) -> Explained:
    """How far a mistake explains what is wrong in one test.

    It need not explain where one of both fails by itself, as on a device that it does not know,
    nor a dtype, nor gradients: where two are equal, they depend on how the larger one is found.
    """
    wrong = left = against = slopes = 0
    for call, own, right in zip(answer.calls, mistake.calls, solution.calls, strict=True):
        if call.equals(own):
            wrong += call.is_wrong(right)
        elif call.has_equal_numbers(own) and not own.has_equal_numbers(right):
            wrong += 1
        elif own.raised and call.equals(right):
            continue
        elif (
            call.is_failing(right)
            or own.is_failing(right)
            or right.raised
            or call.operation in OF_GRADIENTS
        ):
            left += 1
            slopes += call.operation in OF_GRADIENTS and call.form == own.form
        else:
            against += _RIGHT if call.equals(right) else 1
    return Explained(wrong, left, against, slopes)


def wrong_values(answer: Answered, solution: Answered) -> int:
    """How many calls of a test say something wrong."""
    calls = zip(answer.calls, solution.calls, strict=True)
    return sum(call.is_wrong(right) for call, right in calls)
