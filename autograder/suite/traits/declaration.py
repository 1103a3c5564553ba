"""Defines how a hidden suite declares a question's inputs and properties for generated tests.

Also builds classes, and makes the arguments of calls, as declared.
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
#: traits that the question's own tests must check, because no general rule says what is right
FLOAT64, ERRORS, CHANCE = "float64", "errors", "chance"
TRAITS = (*GENERATED, FLOAT64, ERRORS, CHANCE)
#: the reasons to give for a question that computes without tensors: `Traits("...", [],
#: without=...)`
NO_TENSORS: Mapping[str, str] = {
    trait: "it computes without tensors; its own tests check its properties" for trait in TRAITS
}

#: the usual size of each letter, unless a declaration says otherwise
_USUAL: Mapping[str, int] = {"B": 2, "H": 3, "T": 5, "S": 7, "d": 4}
_OTHERS = (6, 9, 8, 10, 11)
#: letters that count samples and heads
COUNTS = ("B", "H", "G", "R")
#: the most heads that a question promises, in groups or not
MOST_HEADS = 16
#: a tensor has at most this many numbers, unless its longest side alone has more
_MOST_NUMBERS = 1 << 17
#: a function that makes a layer's weight, given its name and shape
Weights = Callable[[Draw, str, tuple[int, ...]], torch.Tensor]


def moderate(draw: Draw, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Draw normal weights, which are smaller in large layers, so that results stay moderate."""
    return draw.normal(*shape, scale=min(0.5, 1.2 / max(shape) ** 0.5))


@dataclass(frozen=True, slots=True)
class Case:
    """Arguments that the general rules do not produce, with the likely cause of a failure."""

    arguments: Callable[[Draw], Sequence[Any]]
    likely: str


class Root(Protocol):
    """A size whose square root is a divisor, with inputs that reveal a wrong divisor.

    The inputs are used in one call, with the size near its largest value.
    """

    @property
    def letter(self) -> str:
        """The size's letter."""

    @property
    def largest(self) -> int:
        """The size's largest value."""

    @property
    def likely(self) -> str:
        """The likely cause if an answer gives a wrong result for these inputs."""

    def arguments(self, draw: Draw, made: Sequence[Any], size: int) -> list[Any]:
        """Return arguments for a function, with the same shapes as in `made`."""

    def weights(self, draw: Draw, size: int) -> Callable[[str, tuple[int, ...]], torch.Tensor]:
        """Return a function that draws a layer's weight, given its name and shape."""

    def tokens(self, draw: Draw, *shape: int) -> torch.Tensor:
        """Draw an argument for a layer with weights from `weights`."""


@dataclass(frozen=True)
class Traits:
    """The declaration of a function or, with `build`, of a class.

    `inputs` contains the arguments of a call (for a class, of `forward`), and `build` contains the
    constructor's arguments. A letter in a shape is a size; `sizes`, `smallest` and `largest` give
    its usual, smallest and largest value if they differ from the defaults, and a letter in `fixed`
    never changes. Values are compared after applying the function `after`, in `dtype` unless a test
    uses a different one; `weights` draws a layer's weights. In one call, the numbers in the tensor
    arguments are multiplied by `factors`, in order, so that some become large but results stay
    moderate. `loops` is the number of steps in the simplest correct answer, as a formula of letters
    (`T*S*d+T*S*d_v`), and limits the sizes of calls so that this answer finishes in time. By
    default, `loops` is the product of all letters in a call and of the numbers of heads; `T` is
    included twice if a call has no `S`, because every token may attend to every other token. With
    `judged`, only gradients with respect to the arguments at these positions are compared; `case`
    contains additional arguments for a function's gradients. `likely` maps each trait to the likely
    cause to show if the trait's test fails. `root` is the size whose square root is a divisor.
    `own` maps each trait that is checked by a test of the suite's own to the name of this test;
    `without` maps each trait that has no test to the reason.
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
        """Return the sizes for an ordinary call, which all differ from each other and from 1."""
        letters = dict.fromkeys(x for i in (*(self.build or ()), *self.inputs) for x in i.letters)
        known = {x: self.sizes.get(x, _USUAL.get(x, 0)) for x in letters}
        others = iter([size for size in _OTHERS if size not in known.values()])
        known = {x: size or next(others) for x, size in known.items()}
        return Sizes({**self.sizes, **known}, leading, rate)

    def alone(self) -> Sizes:
        """Return sizes with one sample, head and group, and a dropout rate that drops everything.

        If no argument is a tensor, there is also only one token.
        """
        single = COUNTS if any(isinstance(i, Tensor) for i in self.inputs) else (*COUNTS, "T")
        counts = {x: 1 for x in self.call_letters() if x in single}
        return self.usual(rate=1.0).but(counts, (1,) if self.has_leading else ())

    def exchanged(self) -> list[Sizes]:
        """Return sizes in which the last letter and one other letter have exchanged their sizes.

        The product of the two sizes stays the same, so that an answer fails if it wrongly looks up
        an earlier result by such a product.
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
        """Round the size under the root down to a power of four, whose root is exact.

        A correct answer may keep the scale in float32; the rounding of an inexact scale would then
        show in large terms that cancel.
        """
        if self.root is None:
            return sizes
        size = sizes.letters[self.root.letter]
        return sizes.but({self.root.letter: 4 ** ((size.bit_length() - 1) // 2)})

    def each_way(self) -> list[Traits]:
        """Return the declaration with all arguments and, if possible, without the optional one."""
        return [replace(self, inputs=inputs) for inputs in with_and_without(self.inputs)]

    def call_letters(self) -> list[str]:
        """Return the letters that may change from call to call."""
        built = {x for i in self.build or () for x in i.letters}
        letters = dict.fromkeys(x for i in self.inputs for x in i.letters)
        return [x for x in letters if x not in built and x not in self.fixed]

    def built_letters(self) -> list[str]:
        """Return the letters in the constructor's arguments that may change."""
        letters = dict.fromkeys(x for i in self.build or () for x in i.letters)
        return [x for x in letters if x not in self.fixed]

    def steps(self, sizes: Sizes) -> int:
        """Return how many steps an answer that loops over every number takes for a call."""
        samples = math.prod(sizes.leading) if self.has_leading else 1
        return samples * sizes.of(self._steps)

    def looped(self) -> list[str]:
        """Return the letters of the sizes over which an answer written with loops iterates."""
        return list(dict.fromkeys(letters_of(self._steps)))

    @cached_property
    def _steps(self) -> str:
        letters = [*self.call_letters(), *(x for x in self.built_letters() if x in COUNTS)]
        pairs = ["T"] if "T" in letters and "S" not in letters else []
        return self.loops or "*".join([*letters, *pairs]) or "1"


def built(expect: Expect, traits: Traits, sizes: Sizes) -> ExpectLayer:
    """Build the class with these sizes, and with weights drawn as declared."""
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
    """Make the arguments of a call, all in the same layout."""
    return arguments_of(traits.inputs, expect.draw, sizes, dtype or traits.dtype, [layout])


def shorter(
    sizes: Sizes, least: Mapping[str, int], steps: Callable[[Sizes], int], most: int
) -> Sizes:
    """Reduce the largest sizes among the letters in `least` until a call has at most `most` steps.

    No size is reduced below its value in `least`.
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
    """If a tensor would be very large, reduce all of its sizes except the largest one."""
    for item in inputs:
        if isinstance(item, Tensor) and math.prod(sizes.shape(item.shape)) > _MOST_NUMBERS:
            longest = max(item.letters, key=sizes.letters.__getitem__)
            sizes = sizes.but({x: smallest.get(x, 1) for x in item.letters if x != longest})
    return sizes
