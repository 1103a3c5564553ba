"""The sizes that generated tests ask of a question: each large one once, in few steps.

A right answer may loop over every number, and has to end in time. And the whole class pays for it:
what one question takes in loops is more than all others together. So each size is as large as it
becomes in one call, with all else as small as it has to be for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from ..draw import Draw
from .bounds import shorter, thin
from .declaration import COUNTS, Traits
from .inputs import Sizes
from .leads import Leads

#: the largest that a letter becomes where nothing else is said
_LARGEST: Mapping[str, int] = {"H": 16, "T": 127, "S": 128, "P": 120}
#: letters that count tokens
LENGTHS = ("T", "S", "P")
#: of vectors: at least that, and at most that; nothing says how long they are, so nobody shall know
_LARGEST_VECTOR, _VECTOR_AT_MOST = 67, 90
_ONES = (1, 1)
#: steps of a call in loops over every number: each takes 10 us, with gradients 100 us. A right
#: answer of that kind costs what all the calls of a question take, so few of them may be long
_MOST, MOST_WITH_GRADIENTS = 3_000, 1_500
#: the same of a function, of which gradients are asked more often
FEW_WITH_GRADIENTS = 400
#: of the call in which all lengths are large
LONG = 1_500
#: of the first call in which a letter is as large as it becomes, which is to be so
_ONE_LARGE = 128 * 128
#: the same where nobody says how large that is: for plain loops all 128 tokens that look at each
#: other are too many, and a class would pay for them
_SOME_LARGE = 108 * 108
#: of the call in which everything is large, and how large that is at least, where it fits
_ALL_LARGE, _LARGE = 5_000, 17
#: how many samples, and the largest size, of sizes in the middle
_SAMPLES, _MIDDLE = 5, 24
#: tokens of them that look at each other, at least
_SEEN = 2
#: long vectors that are more than 1,000 numbers, and some that are not
_MANY, _FEW = 17, 4
#: samples are at most that many
_MANY_AT_MOST = 40
#: the same of vectors that come in pairs
_PAIRS = 8
#: the length of vectors of which 120 are more than 1,000 numbers
_VECTORS = 10


class Asked:
    """Chooses the sizes of calls for a declaration."""

    def __init__(self, traits: Traits, draw: Draw) -> None:
        self._traits = traits
        self._draw = draw
        self._many = draw.integer(_MANY, _MANY_AT_MOST)
        self._long = draw.integer(_LARGEST_VECTOR, _VECTOR_AT_MOST)
        self._letters = traits.call_letters()
        self._is_batched = traits.has_leading
        self.leads = Leads(traits)

    @property
    def one_large(self) -> int:
        """Steps of a call in which one letter is as large as it becomes."""
        return _ONE_LARGE if self._traits.largest else _SOME_LARGE

    def extremes(self, letters: Sequence[str]) -> list[dict[str, int]]:
        """Sizes in which every letter is 1 once, and once as large as it becomes.

        One is small while the next is large: so few calls show both, and none of them is slow.
        """
        if len(letters) == 1:
            return [{x: self._traits.smallest.get(x, 1)} for x in letters] + [
                {x: self._largest(x)} for x in letters
            ]
        following = [*letters[1:], *letters[:1]]
        return [
            {one: self._traits.smallest.get(one, 1), other: self._largest(other)}
            for one, other in zip(letters, following, strict=True)
        ]

    def varied(self, letters: Sequence[str], base: Sizes, largest: int = _MOST) -> list[Sizes]:
        """The calls of the trait of sizes: `extremes`, with all numbers of leading dimensions.

        And one with five dimensions, and one in which everything is 1.
        """
        extremes = self.extremes(letters) if letters else [{}]
        leads = self.leads.tried(self._largest("T"))
        first = [
            self.extreme(base, one, leads[i % len(leads)], largest=largest)
            for i, one in enumerate(extremes)
        ]
        again = [self.extreme(base, {}, lead) for lead in leads[len(extremes) :]]
        five = [base.but({}, self.leads.five())] if self._is_batched else []
        return [*first, *again, *five, base.but(self._least(letters), _ONES)]

    def extreme(
        self,
        base: Sizes,
        letters: Mapping[str, int],
        leading: tuple[int, ...],
        most: int = _MOST,
        largest: int = 0,
    ) -> Sizes:
        """These sizes and leading dimensions; less of all others, where a call would take too long.

        These letters themselves become less only where it would still take more than `largest`.
        """
        sizes = base.but(letters, leading if self._is_batched else ())
        if self._traits.steps(sizes) > most:
            sizes = sizes.but({}, (1,) * len(sizes.leading))
        others = [x for x in self._letters if x not in letters]
        sizes = self._bounded(sizes, others, most)
        return self._bounded(sizes, self._letters, largest or most)

    def middling(self, most: int = _MOST) -> Sizes:
        """Sizes that nobody can know before: none small, none large, of five samples.

        Where there are no samples they are twice as large.
        """
        times = 1 if self._is_batched or "B" in self._traits.usual().letters else 2
        letters = [*self._letters, *self._traits.built_letters()]
        drawn = {x: self._drawn(x, times) for x in letters}
        vectors = self.leads.are_lengths
        leading = (_SAMPLES, self._drawn("T", 1)) if vectors else (_SAMPLES,)
        sizes = self._traits.usual(leading).but(drawn)
        sizes = thin(sizes, self._traits.inputs, self._traits.smallest)
        # where one token is left of many, nothing is learnt about any other
        tokens = {x: min(_SEEN, drawn[x]) for x in self._letters if x in LENGTHS}
        sizes = shorter(sizes, tokens, self._traits.steps, most)
        if self._traits.steps(sizes) > most and self._traits.built_letters():
            return sizes.but({}, (_SEEN, *sizes.leading[1:]))  # weights stay as they are
        for floor in (
            {x: min(_SEEN, n) for x, n in drawn.items() if x not in COUNTS},
            self._least([x for x in self._letters if x not in (*COUNTS, *LENGTHS)]),
            self._least(letters),
        ):
            sizes = shorter(sizes, floor, self._traits.steps, most)
        return sizes

    def _drawn(self, letter: str, times: int) -> int:
        if letter == "B":
            return _SAMPLES
        high = max(1, min(_MIDDLE, 3 * self._largest(letter) // 8) * times)
        return self._draw.integer(max(1, 3 * high // 4), high)

    def all_large(self, base: Sizes | None = None) -> Sizes:
        """Everything that may be long is, in one sample; lengths alone where all takes too long."""
        base, letters = base or self._traits.usual(), self._letters
        lengths = {x: self._largest(x) for x in letters}
        long = {x: n if x in LENGTHS or n >= _LARGEST_VECTOR else 1 for x, n in lengths.items()}
        sizes = thin(base.but(long), self._traits.inputs, self._traits.smallest)
        floor = {x: min(_LARGE, sizes.letters[x]) for x in letters if x in self._traits.looped()}
        sizes = shorter(sizes, floor, self._traits.steps, MOST_WITH_GRADIENTS)
        if self._traits.steps(sizes) > _ALL_LARGE:
            sizes = base.but({x: n for x, n in long.items() if n == 1 or x in ("T", "S")})
        return self._bounded(sizes, letters, _ALL_LARGE)

    def with_gradients(self, sizes: Sizes) -> Sizes:
        """These sizes, or less of what is longest."""
        return self._bounded(sizes, self._letters, FEW_WITH_GRADIENTS)

    def long(self, most: int = FEW_WITH_GRADIENTS, leading: tuple[int, ...] = ()) -> Sizes:
        """All lengths large at once, in one sample, and all else as small as it can be."""
        long = {x: self._largest(x) for x in self._letters if x in ("T", "S")}
        sizes = self._traits.usual(leading).but({**self._least(self._letters), **long})
        floor = {x: _LARGE for x in long if x in self._traits.looped()}
        return shorter(sizes, floor, self._traits.steps, most)

    def long_past(self) -> list[Sizes]:
        """One token after a long past of more than 1,000 numbers, where there is a past."""
        if "P" not in self._letters:
            return []
        vectors = {x: _VECTORS for x in self._letters if x not in (*COUNTS, *LENGTHS)}
        past = self._traits.usual((1,)).but({**self._least(self._letters), **vectors})
        return [past.but({"P": self._largest("P")})]

    def many(self, samples: int = 0) -> Sizes:
        """Many samples of one long vector each: many numbers, and as few steps as can be."""
        counted = [x for x in ("B", "S", "T") if x in self._letters]
        places = [] if self._is_batched else counted[:1]
        for number, keys in product((samples or self._many, _MANY, _PAIRS), (2, 1)):
            seen = {"T": 1, "S": keys} if "S" in self._letters else {"T": keys}
            sizes = self._wide((number,), {**seen, **dict.fromkeys(places, number)})
            if self._traits.steps(sizes) <= _MOST:
                return sizes
        return self._bounded(self._wide((1,), {}), self._letters)

    def many_with_gradients(self) -> list[Sizes]:
        """The same of as few samples as are more than 1,000 numbers.

        Of tokens that look at each other: many samples of one, and fewer of several.
        """
        in_pairs = self._is_batched and {"T", "S"} <= set(self._letters)
        many = self.many(_PAIRS if in_pairs else _MANY)
        is_alone = many.letters.get("T") == 1 and "S" not in self._letters
        return [many, self.many(_PAIRS)] if is_alone else [many]

    def least_unseen(self, asked: Sequence[Sizes]) -> Sizes | None:
        """With a size of one wherever none of these calls has it; None where there is no such."""
        least = self._least(self._letters)
        unseen = {x: n for x, n in least.items() if all(one.letters[x] > n for one in asked)}
        return self._traits.usual((1,)).but(unseen) if unseen else None

    def many_of(self, built: Sizes) -> Sizes:
        """Many samples of a few tokens for a layer that is built with these sizes."""
        letters = self._letters
        many = {"B": _MANY, "T": _FEW, "S": _FEW}
        chosen = {x: n for x, n in many.items() if x in letters}
        return self._bounded(built.but(chosen, (_MANY,)), letters)

    def wide(self) -> Sizes:
        """A few long vectors."""
        return self._bounded(self._wide((), {"T": _FEW, "S": _FEW}), self._letters)

    def _wide(self, leading: tuple[int, ...], others: Mapping[str, int]) -> Sizes:
        letters = self._letters
        vectors = [x for x in letters if x not in ("B", *_LARGEST, *self._traits.largest)]
        long = dict.fromkeys(vectors or letters, self._long)
        known = {x: n for x, n in others.items() if x in letters}
        free = {x: _MANY for x in letters if x not in self._traits.looped()}
        return self._traits.usual(leading).but({**self._least(letters), **free, **known, **long})

    def _bounded(self, sizes: Sizes, letters: Sequence[str], most: int = _MOST) -> Sizes:
        """The same, or less of these letters, where a call would take too long in plain loops."""
        least = self._least([x for x in letters if x in self._traits.looped()])
        sizes = thin(sizes, self._traits.inputs, self._traits.smallest)
        return shorter(sizes, least, self._traits.steps, most)

    def _least(self, letters: Sequence[str]) -> dict[str, int]:
        return {x: self._traits.smallest.get(x, 1) for x in letters}

    def other(self, base: Sizes) -> Sizes:
        """Other sizes for what may change from call to call: shorter by one, longer by two."""
        changes = (-1, 2)
        letters = {x: base.letters[x] + changes[i % 2] for i, x in enumerate(self._letters)}
        return base.but(letters, tuple(n + changes[i % 2] for i, n in enumerate(base.leading)))

    def _largest(self, letter: str) -> int:
        usual = {"B": self._many, **_LARGEST}
        return self._traits.largest.get(letter, usual.get(letter, self._long))
