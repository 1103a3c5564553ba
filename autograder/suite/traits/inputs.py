"""Arguments as a declaration describes them: a shape in letters, a size, a rate, anything else."""

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
#: makes the entries of an argument from a draw, a shape and a dtype
Values = Callable[[Draw, tuple[int, ...], torch.dtype], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the letters in one call, the leading dimensions, and the rate of dropout."""

    letters: Mapping[str, int]
    leading: tuple[int, ...] = ()
    rate: float = 0.0

    def of(self, text: str) -> int:
        """Return the value of an expression in letters: `T`, `H*d`, `T+2`."""
        return sum(math.prod(map(self._factor, part.split("*"))) for part in text.split("+"))

    def shape(self, text: str) -> tuple[int, ...]:
        """Return the shape that a text such as `... T d` describes."""
        sizes: list[int] = []
        for part in text.split():
            sizes += self.leading if part == LEADING else [self.of(part)]
        return tuple(sizes)

    def but(self, letters: Mapping[str, int], leading: tuple[int, ...] | None = None) -> Sizes:
        """Return these sizes with some of them changed."""
        leading = self.leading if leading is None else leading
        return replace(self, letters={**self.letters, **letters}, leading=leading)

    def _factor(self, text: str) -> int:
        return self.letters[text] if text in self.letters else int(text)


def letters_of(text: str) -> list[str]:
    """Return the letters of an expression or of a shape, in their order."""
    parts = text.replace("*", " ").replace("+", " ").split()
    return [part for part in parts if part != LEADING and not part.isdigit()]


class Input(Protocol):
    """One argument of a call."""

    @property
    def letters(self) -> list[str]:
        """The letters on which the argument depends."""

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> Any:
        """Make a new argument."""


def normal(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Normal values; smaller for long vectors, so that dot products stay moderate."""
    return draw.normal(*shape, scale=min(1.0, (6 / shape[-1]) ** 0.5), dtype=dtype)


def positive(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Values from 0.2 to 3."""
    return draw.uniform(*shape, low=0.2, high=3.0, dtype=dtype)


def rows(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Attention weights: positive, with rows that sum to one."""
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
        """See `Input.make`; `layout` sets the order in memory."""
        return layout(self.values(draw, sizes.shape(self.shape), dtype))


@dataclass(frozen=True, slots=True)
class Ids:
    """int64 ids of the rows of a table, as `Ids("T", below="V")`; the last row always occurs."""

    shape: str
    below: str

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return letters_of(f"{self.shape} {self.below}")

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> torch.Tensor:
        """See `Input.make`; `layout` sets the order in memory."""
        below = sizes.of(self.below)
        found = draw.integers(*sizes.shape(self.shape), low=0, high=below)
        found.view(-1)[0] = below - 1
        return layout(found)


@dataclass(frozen=True, slots=True)
class Size:
    """An int that is a size of the shapes: `Size("H")`, `Size("H*d")`."""

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
    """The rate of dropout: 0 if train mode should compute the same as eval mode."""

    letters: list[str] = field(default_factory=list)

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> float:
        """See `Input.make`."""
        return sizes.rate


@dataclass(frozen=True, slots=True)
class CustomInput:
    """Any other argument, made by a function from a draw and the sizes.

    `rate` says whether the argument contains the rate of dropout of the sizes.
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
class InputPair:
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
        """See `Input.make`; both have the same layout."""
        first = self.first.make(draw, sizes, dtype, layout)
        return first, self.second.make(draw, sizes, dtype, layout)


@dataclass(frozen=True, slots=True)
class NoArgument:
    """None instead of an argument."""

    letters: list[str] = field(default_factory=list)

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> Any:
        """See `Input.make`."""
        return None


@dataclass(frozen=True, slots=True)
class OptionalInput:
    """The last argument of a call if it is optional: None in every third call.

    Each generated test therefore also reaches code that runs only without it, or only with it.
    """

    item: Input

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return self.item.letters

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = contiguous
    ) -> Any:
        """See `Input.make`; the first one is None."""
        given = draw.turn() % 3 > 0
        return self.item.make(draw, sizes, dtype, layout) if given else None


def with_and_without(inputs: Sequence[Input]) -> list[list[Input]]:
    """Return the arguments of a call with the optional one, and those without it.

    If no argument is optional, there is one list only.
    """
    given = [item.item if isinstance(item, OptionalInput) else item for item in inputs]
    left = [NoArgument() if isinstance(item, OptionalInput) else item for item in inputs]
    return [given, left] if given != list(inputs) else [given]


def arguments_of(
    inputs: Sequence[Input],
    draw: Draw,
    sizes: Sizes,
    dtype: torch.dtype,
    layouts: Sequence[Layout] = (contiguous,),
) -> list[Any]:
    """Make new arguments of a call, using the layouts in turn."""
    return [
        item.make(draw, sizes, dtype, layouts[index % len(layouts)])
        for index, item in enumerate(inputs)
    ]
