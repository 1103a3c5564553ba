"""Defines the arguments in a declaration: shapes, sizes, rates, layouts and special numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch.utils._pytree import tree_map_only

from ..arguments import Draw

#: a function that returns a tensor with a different memory layout, or with different numbers
Layout = Callable[[torch.Tensor], torch.Tensor]


def as_drawn(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor unchanged, with its rows one after another in memory."""
    return tensor


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor with the memory layout that results from `.transpose(-2, -1)`."""
    if tensor.dim() < 2:
        return sliced(tensor)
    return tensor.transpose(-2, -1).contiguous().transpose(-2, -1)


def heads(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor in the layout of a `(B, T, H, d)` tensor transposed to `(B, H, T, d)`."""
    if tensor.dim() < 3:
        return turned(tensor)
    return tensor.transpose(-3, -2).contiguous().transpose(-3, -2)


def sliced(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor as every second column of a wider tensor."""
    wider = tensor.new_zeros(*tensor.shape[:-1], 2 * tensor.shape[-1])
    wider[..., 1::2] = tensor
    return wider[..., 1::2]


def expanded(tensor: torch.Tensor) -> torch.Tensor:
    """Repeat the first entry along the whole first dimension, using `.expand`."""
    return tensor[:1].clone().expand_as(tensor)


def inside(tensor: torch.Tensor) -> torch.Tensor:
    """Return a contiguous tensor that does not begin at the start of its memory, like `x[1:]`."""
    row = tensor.reshape(-1)
    return torch.cat([row[:1], row])[1:].view(tensor.shape)


def with_holes(tensor: torch.Tensor) -> torch.Tensor:
    """Set every fifth number, in memory order, to zero."""
    holed = tensor.clone()
    holed.as_strided((holed.numel(),), (1,))[3::5] = 0
    return holed


def with_zeros(tensor: torch.Tensor) -> torch.Tensor:
    """Set every fifth number to zero, and the second row if there are more than two rows."""
    holed = with_holes(tensor)
    if holed.dim() > 1 and holed.shape[-2] > 2:
        holed[..., 1, :] = 0
    return holed


def with_unused(tensor: torch.Tensor) -> torch.Tensor:
    """Set the second column, if there is one, to zero, like a key to which no query attends."""
    return torch.cat([tensor[..., :1], 0 * tensor[..., 1:2], tensor[..., 2:]], dim=-1)


def shared(arguments: Sequence[Any]) -> list[Any]:
    """Use the same tensor for all floating-point arguments of the same shape."""
    first: dict[tuple[int, ...], torch.Tensor] = {}

    def same(tensor: torch.Tensor) -> torch.Tensor:
        known = first.setdefault(tuple(tensor.shape), tensor)
        return known if tensor.is_floating_point() else tensor

    return list(tree_map_only(torch.Tensor, same, list(arguments)))


#: all memory layouts except the plain one
LAYOUTS: tuple[Layout, ...] = (turned, heads, sliced, expanded, inside)


#: the leading dimensions of a shape: `(..., T, d)`
LEADING = "..."
#: a function that makes an argument, given a draw, a shape and a dtype
Values = Callable[[Draw, tuple[int, ...], torch.dtype], torch.Tensor]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the letters in one call, the leading dimensions, and the dropout rate."""

    letters: Mapping[str, int]
    leading: tuple[int, ...] = ()
    rate: float = 0.0

    def of(self, text: str) -> int:
        """Return the value of an expression of letters, such as `T`, `H*d` or `T+2`."""
        return sum(math.prod(map(self._factor, part.split("*"))) for part in text.split("+"))

    def shape(self, text: str) -> tuple[int, ...]:
        """Return the shape that a string such as `... T d` describes."""
        sizes: list[int] = []
        for part in text.split():
            sizes += self.leading if part == LEADING else [self.of(part)]
        return tuple(sizes)

    def but(self, letters: Mapping[str, int], leading: tuple[int, ...] | None = None) -> Sizes:
        """Return a copy with different sizes for some letters and, if given, leading dimensions."""
        changed = replace(self, letters={**self.letters, **letters})
        return changed if leading is None else replace(changed, leading=leading)

    def _factor(self, text: str) -> int:
        return self.letters[text] if text in self.letters else int(text)


def letters_of(text: str) -> list[str]:
    """Return the letters in an expression or a shape, in order."""
    parts = text.replace("*", " ").replace("+", " ").split()
    return [part for part in parts if part != LEADING and not part.isdigit()]


class Input(Protocol):
    """One argument of a call."""

    @property
    def letters(self) -> list[str]:
        """The letters on which the argument depends."""

    def make(self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn) -> Any:
        """Make a new argument."""


def normal(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draw normal values, which are smaller in long vectors, so that dot products stay moderate."""
    return draw.normal(*shape, scale=min(1.0, (6 / shape[-1]) ** 0.5), dtype=dtype)


def positive(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draw values from 0.2 to 3."""
    return draw.uniform(*shape, low=0.2, high=3.0, dtype=dtype)


def rows(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draw attention weights, which are positive and sum to one in each row."""
    return (values := positive(draw, shape, dtype)) / values.sum(-1, keepdim=True)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor with a shape such as `... T d` or `B T H*d`."""

    shape: str
    values: Values = normal

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return letters_of(self.shape)

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn
    ) -> torch.Tensor:
        """See `Input.make`; `layout` sets the order in memory."""
        return layout(self.values(draw, sizes.shape(self.shape), dtype))


@dataclass(frozen=True, slots=True)
class Ids:
    """int64 ids of table rows, such as `Ids("T", below="V")`; the last row always occurs."""

    shape: str
    below: str

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return letters_of(f"{self.shape} {self.below}")

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn
    ) -> torch.Tensor:
        """See `Input.make`; `layout` sets the order in memory."""
        below = sizes.of(self.below)
        found = draw.integers(*sizes.shape(self.shape), low=0, high=below)
        found.view(-1)[0] = below - 1
        return layout(found)


@dataclass(frozen=True, slots=True)
class Size:
    """An integer argument that is one of the sizes, such as `Size("H")` or `Size("H*d")`."""

    text: str

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return letters_of(self.text)

    def make(self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn) -> int:
        """See `Input.make`."""
        return sizes.of(self.text)


@dataclass(frozen=True, slots=True)
class Rate:
    """The dropout rate, which is 0 if train mode should compute the same as eval mode."""

    letters: list[str] = field(default_factory=list)

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn
    ) -> float:
        """See `Input.make`."""
        return sizes.rate


@dataclass(frozen=True, slots=True)
class CustomInput:
    """Any other argument, made by a function of a draw and the sizes.

    `rate` says whether the argument contains the dropout rate.
    """

    function: Callable[[Draw, Sizes], Any]
    letters: list[str] = field(default_factory=list)
    rate: bool = False

    def make(self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn) -> Any:
        """See `Input.make`; only a mask with several rows gets the layout."""
        made = self.function(draw, sizes)
        is_mask = isinstance(made, torch.Tensor) and made.dtype == torch.bool and made.dim() > 1
        return layout(made) if is_mask else made


@dataclass(frozen=True, slots=True)
class InputPair:
    """A pair of arguments in one tuple, such as the keys and values of a past."""

    first: Input
    second: Input

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return [*self.first.letters, *self.second.letters]

    def make(
        self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn
    ) -> tuple[Any, Any]:
        """See `Input.make`; both arguments get the same layout."""
        first = self.first.make(draw, sizes, dtype, layout)
        return first, self.second.make(draw, sizes, dtype, layout)


@dataclass(frozen=True, slots=True)
class NoArgument:
    """Passes None instead of an optional argument."""

    letters: list[str] = field(default_factory=list)

    def make(self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn) -> Any:
        """See `Input.make`."""
        return None


@dataclass(frozen=True, slots=True)
class OptionalInput:
    """An optional last argument, which is None in every third call.

    Each generated test therefore reaches code that runs only with the argument, and code that runs
    only without it.
    """

    item: Input

    @property
    def letters(self) -> list[str]:
        """See `Input.letters`."""
        return self.item.letters

    def make(self, draw: Draw, sizes: Sizes, dtype: torch.dtype, layout: Layout = as_drawn) -> Any:
        """See `Input.make`; the first result is None."""
        given = draw.turn() % 3 > 0
        return self.item.make(draw, sizes, dtype, layout) if given else None


def with_and_without(inputs: Sequence[Input]) -> list[list[Input]]:
    """Return the arguments of a call, once with the optional argument and once without it.

    If no argument is optional, there is only one list.
    """
    given = [item.item if isinstance(item, OptionalInput) else item for item in inputs]
    left = [NoArgument() if isinstance(item, OptionalInput) else item for item in inputs]
    return [given, left] if given != list(inputs) else [given]


def arguments_of(
    inputs: Sequence[Input],
    draw: Draw,
    sizes: Sizes,
    dtype: torch.dtype,
    layouts: Sequence[Layout] = (as_drawn,),
) -> list[Any]:
    """Make new arguments for a call, using the layouts in turn."""
    return [
        item.make(draw, sizes, dtype, layouts[index % len(layouts)])
        for index, item in enumerate(inputs)
    ]


_SMALL = 1 / 64
#: if all numbers have the same sign, sums of products grow with their length; this factor keeps
#: scores moderate
_ONE_SIGN = 1 / 2


def rising(tensor: torch.Tensor) -> torch.Tensor:
    """Make numbers positive and sort each row; make the second row equal to the first.

    A tensor without negative numbers keeps its order, because a correct answer may subtract numbers
    from a row's sum, and rounding would lose small numbers.
    """
    if tensor.dtype == torch.int64:
        return tensor.sort(dim=-1).values
    if not _is_free(tensor):
        return tensor
    ordered = (tensor.abs() * _ONE_SIGN).sort(-1).values if _has_negative(tensor) else tensor
    if tensor.dim() > 1 and tensor.shape[-2] > 2:
        ordered = ordered.clone()
        ordered[..., 1, :] = ordered[..., 0, :]
    return ordered


def falling(tensor: torch.Tensor) -> torch.Tensor:
    """Sort each row in descending order; if any number is negative, make all numbers negative."""
    if not _is_free(tensor):
        return tensor
    one_sign = -tensor.abs() * _ONE_SIGN if _has_negative(tensor) else tensor
    return one_sign.sort(-1, descending=True).values


def negative(tensor: torch.Tensor) -> torch.Tensor:
    """Make all numbers negative, even if none is negative yet (unlike `falling`)."""
    return -tensor.abs() if _is_free(tensor) else tensor


def level(tensor: torch.Tensor) -> torch.Tensor:
    """Fill each row with a single number, which is a multiple of 1/8 other than 0.

    Sums, means and squares of such rows are exact in any order of computation. With other numbers,
    a normalization layer would divide a rounding error by the square root of its eps.
    """
    if not _is_free(tensor):
        return tensor
    first = tensor[..., :1]
    most = max(1, int((64 * 40 / max(1, tensor.shape[-1])) ** 0.5))  # dot products are at most 40
    eighths = (first.abs() * 8).round().clamp(1, most) / 8
    return torch.where(first < 0, -eighths, eighths).expand_as(tensor)


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Round all numbers to whole numbers, if any number is negative."""
    return tensor.round() if _is_free(tensor) and _has_negative(tensor) else tensor


def small(tensor: torch.Tensor) -> torch.Tensor:
    """Scale all numbers down to near zero, if any number is negative."""
    return tensor * _SMALL if _is_free(tensor) and _has_negative(tensor) else tensor


#: the kinds of numbers that calls use in turn
NUMBERS: Sequence[Layout] = (as_drawn, rising, falling)


def of_turn(turn: int) -> Layout:
    """Return the function that prepares numbers for the call with this index, counted from 0."""
    return NUMBERS[turn % len(NUMBERS)]


def both(numbers: Layout, layout: Layout) -> Layout:
    """Combine a function for the numbers with one for the memory layout."""
    return lambda tensor: layout(numbers(tensor))


def _is_free(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dim() > 0


def _has_negative(tensor: torch.Tensor) -> bool:
    return bool((tensor < 0).any())
