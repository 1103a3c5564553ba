"""What a question says about itself, once, in its hidden suite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from ..draw import Draw
from .bounds import shorter, thin
from .inputs import LEADING, Input, Made, Rate, Sizes, Tensor, letters_of

#: traits with a generated test
LAYOUT, SIZE, CALLS, GRADIENTS = "any memory layout", "any size", "call after call", "gradients"
GENERATED = (LAYOUT, SIZE, CALLS, GRADIENTS)
#: traits that tests of the question's own show, because no rule tells what is right
FLOAT64, ERRORS, CHANCE = "float64", "errors", "chance"
TRAITS = (*GENERATED, FLOAT64, ERRORS, CHANCE)
#: the reasons of a question about something else than tensors: `Traits("...", [], without=...)`
NO_TENSORS: Mapping[str, str] = {
    trait: "it computes with no tensors; tests of its own show what holds" for trait in TRAITS
}

#: what a letter is where nothing else is said, and the largest that it becomes
_USUAL: Mapping[str, int] = {"B": 2, "H": 3, "T": 5, "S": 7, "d": 4}
_OTHERS = (6, 9, 8, 10, 11)
_LARGEST: Mapping[str, int] = {"B": 17, "H": 16, "T": 128, "S": 128}
_LARGEST_VECTOR = 67
#: leading dimensions that are tried in turn, with one in every place; of five dimensions; all one
_LEADS: tuple[tuple[int, ...], ...] = ((), (1, 3), (3, 1))
_FIVE, _ONES = (2, 1, 3, 2), (1, 1)
#: steps of a call in loops over every number: each takes 10 us, with gradients 70 us, and a
#: question has 10 s for all of its calls
MOST_STEPS, MOST_WITH_GRADIENTS = 20_000, 5_000
#: how many samples, and the largest size, of sizes in the middle
_SAMPLES, _MIDDLE = 5, 24

#: of a layer's weights, by name and shape
Weights = Callable[[Draw, str, tuple[int, ...]], torch.Tensor]


def moderate(draw: Draw, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Normal weights, smaller in large layers, so that numbers do not grow from step to step."""
    return draw.normal(*shape, scale=min(0.5, 1.2 / max(shape) ** 0.5))


@dataclass(frozen=True)
class Traits:
    """A function, or with `build` a class, and what holds for it.

    `inputs` are the arguments of a call (of `forward`), `build` those of the class. A letter in a
    shape is a size; `sizes`, `smallest` and `largest` say what it is and becomes where that is not
    the usual, and a letter in `fixed` stays as it is. Values are compared after `after`, in `dtype`
    where nothing else is asked for; `weights` fills a layer. `factors` multiply the numbers of the
    tensor arguments, in their order, once: large ones, and moderate results. `loops` counts the
    steps of the plainest right answer, in letters (`T*T*d`): calls are not larger than what ends in
    time; of a function every letter once where nothing is said, of a class nothing. With `judged`,
    only gradients to the arguments at these places are. `likely` replaces the likely cause that a
    trait's failure tells. `own` names, by trait, a test of the suite that shows it; `without` says
    why there is none.
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
    judged: Sequence[int] | None = None
    dtype: torch.dtype = torch.float32
    weights: Weights = moderate
    after: Callable[[torch.Tensor], torch.Tensor] | None = None
    likely: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_leading(self) -> bool:
        """Whether a call takes any number of leading dimensions."""
        return any(isinstance(i, Tensor) and LEADING in i.shape.split() for i in self.inputs)

    @property
    def has_rate(self) -> bool:
        """Whether the class takes a rate of dropout."""
        return any(
            isinstance(item, Rate) or (isinstance(item, Made) and item.rate)
            for item in self.build or ()
        )

    def usual(self, leading: tuple[int, ...] = (), rate: float = 0.0) -> Sizes:
        """The sizes of an ordinary call: all different, none of them 1."""
        letters = dict.fromkeys(x for i in (*(self.build or ()), *self.inputs) for x in i.letters)
        known = {x: self.sizes.get(x, _USUAL.get(x, 0)) for x in letters}
        others = iter([size for size in _OTHERS if size not in known.values()])
        known = {x: size or next(others) for x, size in known.items()}
        return Sizes({**self.sizes, **known}, leading, rate)

    def call_letters(self) -> list[str]:
        """The letters that may change from call to call."""
        built = {x for i in self.build or () for x in i.letters}
        letters = dict.fromkeys(x for i in self.inputs for x in i.letters)
        return [x for x in letters if x not in built and x not in self.fixed]

    def built_letters(self) -> list[str]:
        """The letters that a class is built with."""
        letters = dict.fromkeys(x for i in self.build or () for x in i.letters)
        return [x for x in letters if x not in self.fixed]

    def extremes(self, letters: Sequence[str]) -> list[dict[str, int]]:
        """Sizes in which every letter is 1 once, and once as large as it becomes.

        One is small while the next is large: so few calls show both, and none of them is slow.
        """
        if len(letters) == 1:
            return [{x: self.smallest.get(x, 1)} for x in letters] + [
                {x: self._largest(x)} for x in letters
            ]
        following = [*letters[1:], *letters[:1]]
        return [
            {one: self.smallest.get(one, 1), other: self._largest(other)}
            for one, other in zip(letters, following, strict=True)
        ]

    def varied(self, letters: Sequence[str], base: Sizes) -> list[Sizes]:
        """The calls of the trait of sizes: `extremes`, with all numbers of leading dimensions.

        And one with five dimensions, and one in which everything is 1.
        """
        extremes = self.extremes(letters) if letters else [{}]
        leads = self._leads() if self.has_leading else ((),)
        calls = [
            self.extreme(base, extremes[i % len(extremes)], leads[i % len(leads)])
            for i in range(max(len(extremes), len(leads)))
        ]
        if self.has_leading:
            calls.append(base.but({}, self.five()))
        return [*calls, base.but(self._least(letters), _ONES)]

    def extreme(
        self,
        base: Sizes,
        letters: Mapping[str, int],
        leading: tuple[int, ...],
        most: int = MOST_STEPS,
    ) -> Sizes:
        """These sizes and leading dimensions; all others 1, where a call would take too long."""
        leading = leading if self.has_leading else ()
        sizes = base.but(letters, leading)
        if self.steps(sizes) > most:
            small = self._least([x for x in self.call_letters() if x not in letters])
            sizes = sizes.but(small, (1,) * len(leading))
        return self._bounded(sizes, self.call_letters(), most)

    def five(self) -> tuple[int, ...]:
        """The leading dimensions with which a tensor has five; few where none are allowed."""
        return _FIVE[: 5 - self._least_dimensions()] if self.has_leading else _FIVE[1:]

    def _leads(self) -> tuple[tuple[int, ...], ...]:
        """Where one dimension follows, the last leading one is a length."""
        last = (self._largest("T"),) if self._least_dimensions() == 1 else (2,)
        return (*_LEADS, last)

    def middling(self, draw: Draw, most: int = MOST_STEPS) -> Sizes:
        """Sizes that nobody can know before: none small, none large, of five samples.

        Where there are no samples they are twice as large.
        """
        times = 1 if self.has_leading or "B" in self.usual().letters else 2
        letters = [*self.call_letters(), *self.built_letters()]
        drawn = {x: self._drawn(x, draw, times) for x in letters}
        vectors = self.has_leading and self._least_dimensions() == 1
        leading = (_SAMPLES, self._drawn("T", draw, 1)) if vectors else (_SAMPLES,)
        return self._bounded(self.usual(leading).but(drawn), self.call_letters(), most)

    def _drawn(self, letter: str, draw: Draw, times: int) -> int:
        if letter == "B":
            return _SAMPLES
        high = max(1, min(_MIDDLE, 3 * self._largest(letter) // 8) * times)
        return draw.integer(max(1, 3 * high // 4), high)

    def all_large(self, base: Sizes | None = None, most: int = MOST_STEPS) -> Sizes:
        """Everything that may be long at its longest, in one sample."""
        large = {x: self._largest(x) for x in self.call_letters()}
        large = {x: n if n >= _LARGEST_VECTOR else 1 for x, n in large.items()}
        return self._bounded((base or self.usual()).but(large), self.call_letters(), most)

    def wide(self, most: int = MOST_STEPS // 2) -> list[Sizes]:
        """Long vectors, and one length after the other as long as can be; all else as usual."""
        letters = self.call_letters()
        lengths = [x for x in letters if x in ("T", "S")]
        long = {x: _LARGEST_VECTOR for x in letters if x not in (*_LARGEST, *self.largest)}
        sizes = [self.usual().but({**long, x: self._largest(x)}) for x in lengths]
        return [
            self._bounded(self._bounded(one, [x], most), letters, most)
            for x, one in zip(lengths, sizes, strict=True)
        ]

    def _bounded(self, sizes: Sizes, letters: Sequence[str], most: int = MOST_STEPS) -> Sizes:
        """The same, or less of these letters, where a call would take too long in plain loops.

        A right answer may loop over every number, and has to end in time.
        """
        least = self._least([x for x in letters if x in self._looped()])
        return shorter(thin(sizes, self.inputs, self.smallest), least, self.steps, most)

    def _least(self, letters: Sequence[str]) -> dict[str, int]:
        return {x: self.smallest.get(x, 1) for x in letters}

    def steps(self, sizes: Sizes) -> int:
        """How many steps a call takes in loops over every number."""
        samples = math.prod(sizes.leading) if self.has_leading else 1
        return samples * sizes.of(self.loops or "*".join(self._looped()) or "1")

    def _looped(self) -> list[str]:
        """The letters that a plain answer loops over."""
        if self.loops or self.build is None:
            return list(dict.fromkeys(letters_of(self.loops) or self.call_letters()))
        return []

    def other(self, base: Sizes) -> Sizes:
        """Other sizes for what may change from call to call: shorter by one, longer by two."""
        letters = self.call_letters()
        changes = (-1, 2)
        return base.but({x: base.letters[x] + changes[i % 2] for i, x in enumerate(letters)})

    def _least_dimensions(self) -> int:
        """Of the shapes that begin with `...`, what stands after it in the shortest."""
        shapes = [item.shape.split() for item in self.inputs if isinstance(item, Tensor)]
        return min(len(shape) - 1 for shape in shapes if LEADING in shape)

    def _largest(self, letter: str) -> int:
        return self.largest.get(letter, _LARGEST.get(letter, _LARGEST_VECTOR))
