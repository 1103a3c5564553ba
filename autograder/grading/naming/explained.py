"""How far a known mistake explains an answer that is wrong in more than one way."""

from __future__ import annotations

from dataclasses import dataclass

from .record import OF_GRADIENTS, Call

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
    def numbers(self) -> tuple[int, int, int]:
        """All but the slopes."""
        return self.wrong, self.left, self.against

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


_NONE, _EXPLAINS = Explained(), Explained(wrong=1)


def explained(own: Call, came: Call, right: Call) -> Explained:
    """Whether a row's call explains one that came, leaves it open, or contradicts it.

    It need not explain where one of both fails by itself, as on a device that it does not know,
    nor a dtype, nor gradients: where two are equal, they depend on how the larger one is found.
    """
    if came.equals(own):
        return _EXPLAINS if came.is_wrong(right) else _NONE
    if came.has_equal_numbers(own) and not own.has_equal_numbers(right):
        return _EXPLAINS
    if own.raised and came.equals(right):
        return _NONE
    of_gradients = came.operation in OF_GRADIENTS
    if came.is_failing(right) or own.is_failing(right) or right.raised or of_gradients:
        return Explained(left=1, slopes=int(of_gradients and came.form == own.form))
    return Explained(against=_RIGHT if came.equals(right) else 1)
