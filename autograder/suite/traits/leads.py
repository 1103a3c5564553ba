"""The leading dimensions of the calls that generated tests make."""

from __future__ import annotations

from .declaration import Traits
from .inputs import LEADING, Tensor

#: those that are tried in turn, with one in every place; of five dimensions
_TRIED: tuple[tuple[int, ...], ...] = ((), (1, 3), (3, 1))
_FIVE = (2, 1, 3, 2)


class Leads:
    """Chooses leading dimensions for a declaration."""

    def __init__(self, traits: Traits) -> None:
        self._is_batched = traits.has_leading
        shapes = [item.shape.split() for item in traits.inputs if isinstance(item, Tensor)]
        self._following = [len(shape) - 1 for shape in shapes if LEADING in shape]

    @property
    def are_lengths(self) -> bool:
        """Whether one dimension follows, so that the last leading one counts tokens."""
        return self._is_batched and min(self._following) == 1

    def tried(self, length: int) -> tuple[tuple[int, ...], ...]:
        """All that are tried in turn; `length` is that of many tokens."""
        last = (length,) if self.are_lengths else (2,)
        return (*_TRIED, last) if self._is_batched else ((),)

    def five(self) -> tuple[int, ...]:
        """Those with which the largest has five dimensions; few where none are allowed."""
        return _FIVE[: 5 - max(self._following)] if self._is_batched else _FIVE[1:]

    def other_five(self) -> tuple[int, ...]:
        """As many, with the one in another place: what is mixed along the others shows."""
        five = self.five()
        return (1, 3, 2, 2)[: len(five)] if self._is_batched else five

    def four(self) -> tuple[int, ...]:
        """Those of one sample with which the largest has four dimensions."""
        return (1,) * (len(self.five()) - 1)

    def few(self, turn: int) -> tuple[int, ...]:
        """Those of few samples, in turns: of five dimensions, four, none."""
        return ((2, *(1 for _ in self.five()[1:])), (*self.four()[2:], 1, 2), ())[turn % 3]
