"""Arguments as a declaration names them: a shape in letters, a size, a rate, anything else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from ..draw import Draw
from .layouts import Layout, contiguous

#: the leading dimensions of a shape: `(..., T, d)`
LEADING = "..."
#: from a draw, a shape and a dtype to the entries of an argument
Values = Callable[[Draw, tuple[int, ...], torch.dtype], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the letters of the shapes are in one call, and the rate of dropout."""

    letters: Mapping[str, int]
    leading: tuple[int, ...] = ()
    rate: float = 0.0

    def of(self, text: str) -> int:
        """The number that an expression in letters means: `T`, `H*d`, `T+2`."""
        return sum(math.prod(map(self._factor, part.split("*"))) for part in text.split("+"))

    def shape(self, text: str) -> tuple[int, ...]:
        """The shape that a text means: `... T d`."""
        sizes: list[int] = []
        for part in text.split():
            sizes += self.leading if part == LEADING else [self.of(part)]
        return tuple(sizes)

    def but(self, letters: Mapping[str, int], leading: tuple[int, ...] | None = None) -> Sizes:
        """These sizes with other ones in some places."""
        leading = self.leading if leading is None else leading
        return replace(self, letters={**self.letters, **letters}, leading=leading)

    def _factor(self, text: str) -> int:
        return self.letters[text] if text in self.letters else int(text)


def letters_of(text: str) -> list[str]:
    """The letters of an expression or of a shape, in their order."""
    parts = text.replace("*", " ").replace("+", " ").split()
    return [part for part in parts if part != LEADING and not part.isdigit()]


class Input(Protocol):
    """One argument of a call."""

    @property
    def letters(self) -> list[str]:
        """The letters that the argument depends on."""

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> Any:
        """A fresh argument."""


def normal(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Normal values; smaller where vectors are long, so that dot products stay moderate."""
    return draw.normal(*shape, scale=min(1.0, (6 / shape[-1]) ** 0.5), dtype=dtype)


def positive(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Values from 0.2 to 3."""
    return draw.uniform(*shape, low=0.2, high=3.0, dtype=dtype)


def rows(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Attention weights: positive, each row sums to one."""
    values = positive(draw, shape, dtype)
    return values / values.sum(-1, keepdim=True)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a shape such as `... T d` or `B T H*d`."""

    shape: str
    values: Values = normal

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return letters_of(self.shape)

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> torch.Tensor:
        """See `Input.make`; `layout` says how it lies in memory."""
        return layout(self.values(draw, sizes.shape(self.shape), dtype))


@dataclass(frozen=True, slots=True)
class Ids:
    """int64 ids of rows of a table, as `Ids("T", below="V")`; the last row is among them."""

    shape: str
    below: str

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return letters_of(f"{self.shape} {self.below}")

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> torch.Tensor:
        """See `Input.make`; `layout` says how it lies in memory."""
        below = sizes.of(self.below)
        found = draw.integers(*sizes.shape(self.shape), low=0, high=below)
        found.view(-1)[0] = below - 1
        return layout(found)


@dataclass(frozen=True, slots=True)
class Size:
    """An int that belongs to the shapes: `Size("H")`, `Size("H*d")`."""

    text: str

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return letters_of(self.text)

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> int:
        """See `Input.make`."""
        return sizes.of(self.text)


@dataclass(frozen=True, slots=True)
class Rate:
    """The rate of dropout: 0 where train mode shall compute what eval mode does."""

    letters: list[str] = field(default_factory=list)

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> float:
        """See `Input.make`."""
        return sizes.rate


@dataclass(frozen=True, slots=True)
class Made:
    """Any other argument, made by a function from a draw and the sizes.

    `rate` says whether it holds a rate of dropout, which is that of the sizes.
    """

    function: Callable[[Draw, Sizes], Any]
    letters: list[str] = field(default_factory=list)
    rate: bool = False

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> Any:
        """See `Input.make`."""
        return self.function(draw, sizes)


@dataclass(frozen=True, slots=True)
class Pair:
    """A tuple of two arguments, such as the keys and values of a past."""

    first: Input
    second: Input

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return [*self.first.letters, *self.second.letters]

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> tuple[Any, Any]:
        """See `Input.make`; both lie in memory alike."""
        first = self.first.make(draw, sizes, dtype, layout)
        return first, self.second.make(draw, sizes, dtype, layout)


@dataclass(frozen=True, slots=True)
class Nothing:
    """None in the place of an argument."""

    letters: list[str] = field(default_factory=list)

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> Any:
        """See `Input.make`."""
        return None


@dataclass(frozen=True, slots=True)
class Maybe:
    """The last argument of a call that works without it, too: None in every third call.

    What is made only where there is none, or only where there is one, meets each generated test.
    """

    item: Input

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return self.item.letters

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> Any:
        """See `Input.make`; None comes first."""
        given = draw.turn() % 3 > 0
        return self.item.make(draw, sizes, dtype, layout) if given else None


def with_and_without(inputs: Sequence[Input]) -> list[list[Input]]:
    """The arguments of a call, of which none is missing, and those without the optional one.

    Where there is no optional one, that is the same, and stands there once.
    """
    given = [item.item if isinstance(item, Maybe) else item for item in inputs]
    left = [Nothing() if isinstance(item, Maybe) else item for item in inputs]
    return [given, left] if given != list(inputs) else [given]


def arguments_of(
    inputs: Sequence[Input],
    draw: Draw,
    sizes: Sizes,
    dtype: torch.dtype,
    layouts: Sequence[Layout] = (contiguous,),
) -> list[Any]:
    """Fresh arguments of a call, with the layouts in turn."""
    return [
        item.make(draw, sizes, dtype, layouts[index % len(layouts)])
        for index, item in enumerate(inputs)
    ]
