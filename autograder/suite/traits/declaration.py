"""Defines the declaration with which a hidden suite describes a question for generated tests.

Classes are built from it, and the arguments of calls are made from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import torch

from ...worker.execution import COPY
from ..arguments import Draw
from ..expect import Expect
from ..layers import ExpectLayer
from .inputs import (
    LEADING,
    CustomInput,
    Input,
    Layout,
    Rate,
    Sizes,
    Tensor,
    arguments_of,
    as_drawn,
    letters_of,
    with_and_without,
)

#: traits with a generated test
LAYOUT, SIZE, CALLS, GRADIENTS = "any memory layout", "any size", "call after call", "gradients"
GENERATED = (LAYOUT, SIZE, CALLS, GRADIENTS)
#: traits that the question's own tests show, because no rule says what is right
FLOAT64, ERRORS, CHANCE = "float64", "errors", "chance"
TRAITS = (*GENERATED, FLOAT64, ERRORS, CHANCE)
#: the reasons for a question that computes without tensors: `Traits("...", [], without=...)`
NO_TENSORS: Mapping[str, str] = {
    trait: "it computes without tensors; its own tests check its properties" for trait in TRAITS
}

#: the size of each letter unless a declaration says otherwise
_USUAL: Mapping[str, int] = {"B": 2, "H": 3, "T": 5, "S": 7, "d": 4}
_OTHERS = (6, 9, 8, 10, 11)
#: letters that count samples and heads
COUNTS = ("B", "H", "G", "R")
#: the most heads that questions promise, in groups or alone
MOST_HEADS = 16
#: a tensor has at most this many numbers, unless its longest side alone has more
_MOST_NUMBERS = 1 << 17
#: makes a layer's weight from its name and shape
Weights = Callable[[Draw, str, tuple[int, ...]], torch.Tensor]


def moderate(draw: Draw, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Draw normal weights, smaller in large layers, so that numbers do not grow at each step."""
    return draw.normal(*shape, scale=min(0.5, 1.2 / max(shape) ** 0.5))


@dataclass(frozen=True, slots=True)
class Case:
    """Arguments that the general rules do not produce, and the likely cause of a failure."""

    arguments: Callable[[Draw], Sequence[Any]]
    likely: str


class Root(Protocol):
    """A size whose square root is a divisor, with inputs that show a wrong divisor.

    The inputs are used in one call, with the size near its largest value.
    """

    @property
    def letter(self) -> str:
        """The letter of the size."""

    @property
    def largest(self) -> int:
        """The largest value of the size."""

    @property
    def likely(self) -> str:
        """The likely cause if an answer is wrong with these numbers."""

    def arguments(self, draw: Draw, made: Sequence[Any], size: int) -> list[Any]:
        """Return arguments for a function with the same shapes as those that were `made`."""

    def weights(self, draw: Draw, size: int) -> Callable[[str, tuple[int, ...]], torch.Tensor]:
        """Return a function that draws a layer's weight from its name and shape."""

    def tokens(self, draw: Draw, *shape: int) -> torch.Tensor:
        """Draw an argument for a layer whose weights `weights` draws."""


@dataclass(frozen=True)
class Traits:
    """The declaration of a function or, with `build`, of a class, and its properties.

    `inputs` contains the arguments of a call (for a class, of `forward`), and `build` contains the
    arguments that build the class. A letter in a shape is a size; `sizes`, `smallest` and `largest`
    give its usual, least and largest value if they differ from the defaults, and a letter in
    `fixed` never changes. Values are compared after applying the function `after`, in `dtype`
    unless a test uses a different one; `weights` draws the weights of a layer. `factors` multiply
    the numbers in the tensor arguments, in their order, in one call: some become large, and results
    stay moderate. `loops` counts the steps of the plainest right answer, in letters
    (`T*S*d+T*S*d_v`), and limits the sizes of calls so that this answer finishes in time. The
    default is the product of all letters in a call and the heads, with `T` twice if a call has no
    `S`, because every token may attend to every other one. With `judged`, only gradients with
    respect to the arguments at these positions are compared; the `case` of a function is also
    called with gradients. `likely` replaces the likely cause in the message when a trait fails.
    `root` is the size whose square root is a divisor, with inputs that show a wrong divisor. `own`
    maps each trait that one of the suite's own tests shows to the name of this test; `without` says
    why a trait has no test.
    """

    question: str
    inputs: Sequence[Input]
    build: Sequence[Input] | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    smallest: Mapping[str, int] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)
    fixed: Sequence[str] = ()
    factors: Sequence[float] = ()
    loops: str = ""
    root: Root | None = None
    judged: Sequence[int] | None = None
    case: Case | None = None
    dtype: torch.dtype = torch.float32
    weights: Weights = moderate
    after: Callable[[torch.Tensor], torch.Tensor] | None = None
    likely: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_leading(self) -> bool:
        """True if a call takes any number of leading dimensions."""
        return any(isinstance(i, Tensor) and LEADING in i.shape.split() for i in self.inputs)

    @property
    def has_rate(self) -> bool:
        """True if the class takes a dropout rate."""
        return any(
            isinstance(item, Rate) or (isinstance(item, CustomInput) and item.rate)
            for item in self.build or ()
        )

    @property
    def tested(self) -> list[str]:
        """The traits that have a generated test, for `pytest.mark.parametrize`."""
        return [trait for trait in GENERATED if trait not in (*self.own, *self.without)]

    def usual(self, leading: tuple[int, ...] = (), rate: float = 0.0) -> Sizes:
        """Return the sizes of an ordinary call: all different, none of them 1."""
        letters = dict.fromkeys(x for i in (*(self.build or ()), *self.inputs) for x in i.letters)
        known = {x: self.sizes.get(x, _USUAL.get(x, 0)) for x in letters}
        others = iter([size for size in _OTHERS if size not in known.values()])
        known = {x: size or next(others) for x, size in known.items()}
        return Sizes({**self.sizes, **known}, leading, rate)

    def alone(self) -> Sizes:
        """Return sizes for one sample, head or group, and a dropout rate that drops everything.

        If all arguments are numbers, there is also only one token.
        """
        single = COUNTS if any(isinstance(i, Tensor) for i in self.inputs) else (*COUNTS, "T")
        counts = {x: 1 for x in self.call_letters() if x in single}
        return self.usual(rate=1.0).but(counts, (1,) if self.has_leading else ())

    def exchanged(self) -> list[Sizes]:
        """Return sizes in which the last letter's size is exchanged with that of another letter.

        The product of the two sizes stays the same: an answer may wrongly keep a table for each
        number of columns, and this number is such a product.
        """
        usual = self.usual()
        *others, last = self.call_letters() or [""]
        pairs = [{x: usual.letters[last], last: usual.letters[x]} for x in others]
        return [sizes for sizes in map(usual.but, pairs) if self._allows(sizes.letters)]

    def _allows(self, sizes: Mapping[str, int]) -> bool:
        heads = math.prod(size for x, size in sizes.items() if x in COUNTS and x != "B")
        return heads <= MOST_HEADS and all(
            self.smallest.get(x, 1) <= size <= self.largest.get(x, size)
            for x, size in sizes.items()
        )

    def with_exact_root(self, sizes: Sizes) -> Sizes:
        """Round the size under the root down to a power of four, which has an exact root.

        A right answer may keep the scale in float32, and large terms that cancel would show its
        rounding.
        """
        if self.root is None:
            return sizes
        size = sizes.letters[self.root.letter]
        return sizes.but({self.root.letter: 4 ** ((size.bit_length() - 1) // 2)})

    def each_way(self) -> list[Traits]:
        """Return the declaration with all arguments and, if one is optional, also without it."""
        return [replace(self, inputs=inputs) for inputs in with_and_without(self.inputs)]

    def call_letters(self) -> list[str]:
        """Return the letters that may change from call to call."""
        built = {x for i in self.build or () for x in i.letters}
        letters = dict.fromkeys(x for i in self.inputs for x in i.letters)
        return [x for x in letters if x not in built and x not in self.fixed]

    def built_letters(self) -> list[str]:
        """Return the letters that a class is built with."""
        letters = dict.fromkeys(x for i in self.build or () for x in i.letters)
        return [x for x in letters if x not in self.fixed]

    def steps(self, sizes: Sizes) -> int:
        """Return how many steps a call takes in an answer that loops over every number."""
        samples = math.prod(sizes.leading) if self.has_leading else 1
        return samples * sizes.of(self._steps)

    def looped(self) -> list[str]:
        """Return the letters of the sizes that an answer written with loops iterates over."""
        return list(dict.fromkeys(letters_of(self._steps)))

    @cached_property
    def _steps(self) -> str:
        letters = [*self.call_letters(), *(x for x in self.built_letters() if x in COUNTS)]
        pairs = ["T"] if "T" in letters and "S" not in letters else []
        return self.loops or "*".join([*letters, *pairs]) or "1"


def built(expect: Expect, traits: Traits, sizes: Sizes) -> ExpectLayer:
    """Build the class with these sizes and with weights drawn as the declaration says."""
    assert traits.build is not None
    made = arguments_of(traits.build, expect.draw, sizes, traits.dtype)
    layer = expect.layer(traits.question, *made, weights=_weights_of(expect, traits))
    if traits.dtype != torch.float32:
        layer.move(dtype=traits.dtype)
    return layer


def _weights_of(expect: Expect, traits: Traits) -> Callable[[str, tuple[int, ...]], torch.Tensor]:
    return lambda name, shape: traits.weights(expect.draw, name, shape)


def refill(expect: Expect, traits: Traits, layer: ExpectLayer, way: str = COPY) -> None:
    """Give both layers new weights; `way` says how the answer's weights are set."""
    layer.fill(_weights_of(expect, traits), way)


def arguments(
    expect: Expect,
    traits: Traits,
    sizes: Sizes,
    dtype: torch.dtype | None = None,
    layout: Layout = as_drawn,
) -> list[Any]:
    """Make the arguments of a call, all in one layout."""
    return arguments_of(traits.inputs, expect.draw, sizes, dtype or traits.dtype, [layout])


def shorter(
    sizes: Sizes, least: Mapping[str, int], steps: Callable[[Sizes], int], most: int
) -> Sizes:
    """Reduce the longest of some letters until a call has at most `most` steps.

    No letter is reduced below its `least`.
    """
    while steps(sizes) > most:
        longest = max((sizes.letters[x] for x in least), default=0)
        less = {
            x: max(n, longest * 31 // 32) for x, n in least.items() if sizes.letters[x] == longest
        }
        if all(sizes.letters[x] == n for x, n in less.items()):
            break
        sizes = sizes.but(less)
    return sizes


def thin(sizes: Sizes, inputs: Sequence[Input], smallest: Mapping[str, int]) -> Sizes:
    """Reduce all sizes except the longest in a tensor that would be very large."""
    for item in inputs:
        if isinstance(item, Tensor) and math.prod(sizes.shape(item.shape)) > _MOST_NUMBERS:
            longest = max(item.letters, key=sizes.letters.__getitem__)
            sizes = sizes.but({x: smallest.get(x, 1) for x in item.letters if x != longest})
    return sizes
