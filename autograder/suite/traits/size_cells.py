"""Chooses the sizes that generated tests use.

A correct answer may loop over every number, and must still finish in time; for one question, such
loops can take longer than all other grading of a class. Therefore, each size has its largest value
in only one call, with all other sizes as small as possible. Sizes in between are drawn from the
class secret, so that students can't learn them, and every size is tested sooner or later.

- `extremes`: each letter is 1 in one call, while the next letter has its largest value; one count
  is drawn, and all other letters have their usual sizes;
- `between`: each length is drawn between a middle size and its largest value, together with all
  free sizes; in further calls, each length differs from its largest value by one, so that a large
  even and a large odd length are always tested;
- `after_blocks`: each length, and the number of samples and heads, is one more than multiples of
  the usual block sizes, because an answer that works in blocks may lose a last block of size 1;
- `middling`: all sizes are drawn around the middle;
- `long`: all lengths have their largest values;
- `many`: there are many samples; `wide`: there are a few tokens with long vectors;
- `rooted`: the size under a square root is drawn near its largest value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from ..arguments import Draw
from .declaration import COUNTS, MOST_HEADS, Root, Traits, shorter, thin
from .inputs import LEADING, Sizes, Tensor

#: the largest value of a letter that every question promises, unless a declaration says otherwise.
#: The other letters are lengths of vectors: see `_VECTORS`
_LARGEST: Mapping[str, int] = {
    **{"B": 64, "H": MOST_HEADS, "G": MOST_HEADS, "R": MOST_HEADS},
    **{"T": 128, "S": 128, "P": 120, "w": 130, "n": 130},
}
#: the lengths of long vectors, drawn from a range because no length is promised; and the length of
#: vectors with which a past of 120 tokens has more than 1,000 numbers
_VECTORS, _SHORT_VECTORS = range(67, 91), 10
#: letters that count tokens
LENGTHS = ("T", "S", "P")
#: the most steps that loops over every number may take in a call: a step takes 10 us, or 100 us
#: with gradients. A correct answer with loops may be slow in every call, so only a few calls may be
#: long. In order: an ordinary call, one with gradients, one with gradients of a function (for which
#: there are more such calls), and calls in which all lengths, or all sizes, are large
USUAL, WITH_GRADIENTS, FEW, LONG, _ALL_LARGE = 3_000, 1_500, 400, 1_500, 5_000
#: the most steps in a call in which one letter is at its largest: 128 tokens attend to each other,
#: and are projected one by one
ONE_LARGE = 128 * 128 + 8 * 128
#: the smallest size that counts as large, a medium size, and the least number of tokens that can
#: attend to each other
_LARGE, _MIDDLE, _SEEN = 17, 24, 2
#: numbers of samples: a few, many, and many if tokens attend to each other
_SAMPLES, _MANY, _PAIRS = 5, 17, 8
#: the most groups in a call with medium sizes; each group has several heads, so there are up to 16
_FEW_GROUPS = 5
#: lengths one above multiples of 64, of 24, 32 and 48, and of 20, 25 and 50; and such numbers of
#: samples and heads
_AFTER_BLOCKS, _SAMPLES_AFTER, _HEADS_AFTER = (65, 97, 101), (33, 61), (9, 13)
#: the most words in a vocabulary: without a limit, and in calls after blocks, in which a number for
#: each word and token would otherwise exceed the size limit for a reply
_ANY, _FEW_WORDS = 1 << 30, 1000
#: the number of tokens if there are many samples
_FEW_TOKENS = 4
_ONES = (1, 1)
#: leading dimensions to try in turn, with a 1 at each position; and those for five dimensions
_TRIED: tuple[tuple[int, ...], ...] = ((), (1, 3), (3, 1))
_FIVE = (2, 1, 3, 2)


class CallSizes:
    """Chooses the sizes of calls for a declaration."""

    def __init__(self, traits: Traits, draw: Draw) -> None:
        self._traits = traits
        self._draw = draw
        self._many = draw.integer(_MANY, _LARGEST["B"] - 1)
        self._long = draw.integer(_VECTORS.start, _VECTORS.stop - 1)
        self._letters, self._built = traits.call_letters(), traits.built_letters()
        self._lengths = [x for x in self._letters if x in LENGTHS]
        #: if there are two lengths, the largest value of this one is reduced by one, so that a call
        #: with both at their largest shows whether an answer swaps them
        self._shorter = ("T", "S")[draw.integer(0, 1)] if {"T", "S"} <= {*self._letters} else ""
        self._is_batched = traits.has_leading
        self.leads = LeadingDimensions(traits)
        #: how many times each count was drawn: above the middle if this is odd, otherwise below it
        self._drawn_counts: dict[str, int] = {}

    def extremes(self, letters: Sequence[str]) -> list[dict[str, int]]:
        """Return sizes in which every letter is 1 once and has its largest value once.

        While one letter is 1, the next is large, so that a few calls are enough and none of them is
        slow. In each call, one of the other counts is drawn between these extremes. Each letter is
        large in one of the first `len(letters)` calls.
        """
        if len(letters) == 1:
            (only,) = letters
            return [{only: self._largest(only)}, {only: self._traits.smallest.get(only, 1)}]
        following = [*letters[1:], *letters[:1]]
        pairs = [
            {one: self._traits.smallest.get(one, 1), other: self._largest(other)}
            for one, other in zip(letters, following, strict=True)
        ]
        if len(letters) == 2:  # no other call has both at 1
            pairs.append({x: 1 for x in letters if x not in COUNTS})
        return [{**self._count(letters, pair, turn), **pair} for turn, pair in enumerate(pairs)]

    def _count(
        self, letters: Sequence[str], others: Mapping[str, int], turn: int
    ) -> dict[str, int]:
        """Draw a value between the extremes for one count that is not in `others`."""
        counts = [x for x in letters if x in COUNTS and x not in others]
        if not counts:
            return {}
        letter = counts[turn % len(counts)]
        shared = {"G": "R", "R": "G"}.get(letter, "")  # their product is the number of heads
        usual = self._traits.usual().letters
        among = others.get(shared, usual.get(shared, 1))
        end = min(self._largest(letter), _LARGEST["H"] // among)
        if end < 2:
            return {letter: 1}
        middle = max(1, end // 2)
        times = self._drawn_counts[letter] = self._drawn_counts.get(letter, 0) + 1
        low, high = (middle + 1, end - 1) if times % 2 else (2, middle)
        return {letter: self._draw.integer(low, max(low, high))}

    def between(self, base: Sizes) -> list[Sizes]:
        """Return calls that draw one length each, between a medium size and the length's largest.

        In further calls, the length differs from its largest value by one, so that an answer that
        is wrong for even or for odd lengths fails with every class secret.
        """
        lengths = [x for x in self._lengths if self._largest(x) > _MIDDLE + 1]
        drawn = [self._draw.integer(_MIDDLE + 1, self._largest(x) - 1) for x in lengths]
        between = [self._one_long(base, x, n) for x, n in zip(lengths, drawn, strict=True)]
        between += [self._one_long(base, x, self._next_to_largest(x)) for x in lengths]
        if self.leads.are_lengths:
            between.append(self.extreme(base, {}, (self._next_to_largest("T"),)))
        return between

    def _one_long(self, base: Sizes, letter: str, length: int, most: int = _ANY) -> Sizes:
        free = [x for x in self._letters if x not in (*COUNTS, *LENGTHS, *self._traits.looped())]
        drawn = {x: self._draw.integer(2, min(most, self._largest(x))) for x in free}
        others = dict.fromkeys(self._lengths, _SEEN)
        sizes = base.but({**self._least(self._letters), **others, **drawn, letter: length})
        sizes = sizes.but({}, (1,) * len(sizes.leading))
        return self._bounded(sizes, self._letters, ONE_LARGE)

    def after_blocks(self, base: Sizes) -> list[Sizes]:
        """Return calls in which one size exceeds a multiple of usual block sizes by one."""
        long = [x for x in self._lengths if self._largest(x) > _AFTER_BLOCKS[-1]]
        calls = [self._one_long(base, x, n, _FEW_WORDS) for x in long for n in _AFTER_BLOCKS]
        few = base.but({**self._least(self._letters), **dict.fromkeys(self._lengths, _SEEN)})
        for letter in (x for x in self._letters if x in COUNTS):
            numbers = _SAMPLES_AFTER if letter == "B" else _HEADS_AFTER
            calls += [few.but({letter: n}) for n in numbers if n <= self._largest(letter)]
        if self._is_batched:
            leads = _AFTER_BLOCKS if self.leads.are_lengths else _SAMPLES_AFTER
            calls += [few.but({}, (number,)) for number in leads]
        return [self._bounded(sizes, self._letters, ONE_LARGE) for sizes in calls]

    def heads_after_blocks(self, base: Sizes) -> list[Sizes]:
        """Return calls of a class that leave one head or group over after the last full block."""
        few = base.but(dict.fromkeys(self._lengths, _SEEN))
        counts = [x for x in self._built if x in COUNTS]
        return [few.but({x: n}) for x in counts for n in _HEADS_AFTER]

    def rooted(self, root: Root) -> Sizes:
        """Draw the size under a square root, close to the size's largest value."""
        others = {x: 2 if x in LENGTHS else 1 for x in [*self._letters, *self._built]}
        drawn = self._draw.integer(root.largest - root.largest // 8, root.largest)
        leading = (1,) if self._is_batched else ()
        return self._traits.usual(leading).but({**others, root.letter: drawn})

    def varied(self, letters: Sequence[str], base: Sizes, largest: int = USUAL) -> list[Sizes]:
        """Return the calls that test sizes: `extremes`, with various leading dimensions.

        One more call has five dimensions, and in the last call all sizes are 1.
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
        most: int = USUAL,
        largest: int = 0,
    ) -> Sizes:
        """Return sizes with the values in `letters`; reduce other sizes until `most` steps suffice.

        `letters` are reduced only if the call would still take more than `largest` steps.
        """
        sizes = base.but(letters, leading if self._is_batched else ())
        if self._traits.steps(sizes) > most:
            sizes = sizes.but({}, (1,) * len(sizes.leading))
        others = [x for x in self._letters if x not in letters]
        ends = [x for x, n in letters.items() if n in (1, self._largest(x))]
        # reduce drawn counts before lengths, because a single key shows nothing about scores
        for free in (others, [x for x in self._letters if x not in ends]):
            sizes = self._bounded(sizes, free, most, _SEEN)
        sizes = self._bounded(sizes, others, most)
        return self._bounded(sizes, self._letters, largest or most)

    def middling(self, most: int = USUAL) -> Sizes:
        """Draw medium sizes, which nobody can know in advance, with five samples.

        If the question has no sample dimension, the sizes are twice as large.
        """
        times = 1 if self._is_batched or "B" in self._traits.usual().letters else 2
        letters = [*self._letters, *self._traits.built_letters()]
        drawn = {x: self._drawn(x, times) for x in letters}
        vectors = self.leads.are_lengths
        leading = (_SAMPLES, self._drawn("T", 1)) if vectors else (_SAMPLES,)
        sizes = self._traits.usual(leading).but(drawn)
        sizes = thin(sizes, self._traits.inputs, self._traits.smallest)
        # keep more than one token, because one alone shows nothing about attention
        tokens = {x: min(_SEEN, drawn[x]) for x in self._letters if x in LENGTHS}
        sizes = shorter(sizes, tokens, self._traits.steps, most)
        if self._traits.steps(sizes) > most and self._traits.built_letters():
            return sizes.but({}, (_SEEN, *sizes.leading[1:]))  # the weights keep their sizes
        least = self._traits.smallest
        for floor in (
            {x: max(least.get(x, 1), min(_SEEN, n)) for x, n in drawn.items() if x not in COUNTS},
            self._least([x for x in self._letters if x not in (*COUNTS, *LENGTHS)]),
            self._least(letters),
        ):
            sizes = shorter(sizes, floor, self._traits.steps, most)
        return sizes

    def _drawn(self, letter: str, times: int) -> int:
        if letter == "B":
            return _SAMPLES
        end = _FEW_GROUPS if letter == "G" else self._largest(letter)
        high = max(1, min(_MIDDLE, 3 * end // 8) * times)
        return self._draw.integer(max(1, 3 * high // 4), high)

    def all_large(self, base: Sizes | None = None) -> Sizes:
        """Make all sizes (only lengths, if that is too slow) as large as allowed, in one sample."""
        base, letters = base or self._traits.usual(), self._letters
        lengths = {x: self._largest(x) for x in letters}
        long = {x: n if x in LENGTHS or n >= _VECTORS.start else 1 for x, n in lengths.items()}
        sizes = thin(base.but(long), self._traits.inputs, self._traits.smallest)
        floor = {x: min(_LARGE, sizes.letters[x]) for x in letters if x in self._traits.looped()}
        sizes = shorter(sizes, floor, self._traits.steps, WITH_GRADIENTS)
        if self._traits.steps(sizes) > _ALL_LARGE:
            sizes = base.but({x: n for x, n in long.items() if n == 1 or x in ("T", "S")})
        return self._bounded(sizes, letters, _ALL_LARGE)

    def with_gradients(self, sizes: Sizes) -> Sizes:
        """Reduce the longest sizes until a call with gradients is fast enough."""
        return self._bounded(sizes, self._letters, FEW)

    def long(self, most: int = FEW, leading: tuple[int, ...] = ()) -> Sizes:
        """Make all lengths large at once, in one sample, and keep everything else small."""
        long = {x: self._largest(x) for x in self._letters if x in ("T", "S")}
        # don't reduce the block size, because smaller blocks mean more steps
        looped = [x for x in self._letters if x in self._traits.looped()]
        sizes = self._traits.usual(leading).but({**self._least(looped), **long})
        floor = {x: _LARGE for x in long if x in self._traits.looped()}
        return shorter(sizes, floor, self._traits.steps, most)

    def long_past(self) -> list[Sizes]:
        """Return sizes for one token after a past of over 1,000 numbers, if there is a past."""
        if "P" not in self._letters:
            return []
        vectors = {x: _SHORT_VECTORS for x in self._letters if x not in (*COUNTS, *LENGTHS)}
        past = self._traits.usual((1,)).but({**self._least(self._letters), **vectors})
        return [past.but({"P": self._largest("P")})]

    def many(self, samples: int = 0) -> Sizes:
        """Return sizes for many samples of one long vector, with as few steps as possible."""
        counted = [x for x in ("B", "S", "T") if x in self._letters]
        places = [] if self._is_batched else counted[:1]
        for number, keys in product((samples or self._many, _MANY, _PAIRS), (2, 1)):
            seen = {"T": 1, "S": keys} if "S" in self._letters else {"T": keys}
            sizes = self._wide((number,), {**seen, **dict.fromkeys(places, number)})
            if self._traits.steps(sizes) <= USUAL:
                return sizes
        return self._bounded(self._wide((1,), {}), self._letters)

    def samples(self) -> list[Sizes]:
        """Return calls with a few short tokens, and over half of the maximum number of samples."""
        if not self._is_batched:
            return []
        least, most = self._traits.smallest, _LARGEST["B"]
        vectors = {x: max(_SEEN, least.get(x, 1)) for x in self._letters if x not in COUNTS}
        few = self._traits.usual().but({**self._least(self._letters), **vectors})
        numbers = (self._draw.integer(most // 2 + 1, most - 1), most)
        return [self._bounded(few.but({}, (number,)), self._letters) for number in numbers]

    def many_with_gradients(self) -> list[Sizes]:
        """Return the sizes from `many`, with just enough samples for more than 1,000 numbers.

        If that leaves a single token, which can attend only to itself, also return a call with
        several tokens.
        """
        in_pairs = self._is_batched and {"T", "S"} <= set(self._letters)
        many = self.many(_PAIRS if in_pairs else _MANY)
        is_alone = many.letters.get("T") == 1 and "S" not in self._letters
        return [many, self.many(_PAIRS)] if is_alone else [many]

    def least_unseen(self, asked: Sequence[Sizes]) -> Sizes | None:
        """Return a call with the smallest sizes that no call in `asked` has, or None."""
        least = self._least(self._letters)
        unseen = {x: n for x, n in least.items() if all(one.letters[x] > n for one in asked)}
        return self._traits.usual((1,)).but(unseen) if unseen else None

    def many_of(self, built: Sizes) -> Sizes:
        """Return sizes for many samples of a few tokens, for a layer with the sizes `built`."""
        letters = self._letters
        many = {"B": _MANY, "T": _FEW_TOKENS, "S": _FEW_TOKENS}
        chosen = {x: n for x, n in many.items() if x in letters}
        return self._bounded(built.but(chosen, (_MANY,)), letters)

    def wide(self) -> Sizes:
        """Return sizes for a few long vectors."""
        return self._bounded(self._wide((), {"T": _FEW_TOKENS, "S": _FEW_TOKENS}), self._letters)

    def _wide(self, leading: tuple[int, ...], others: Mapping[str, int]) -> Sizes:
        letters = self._letters
        vectors = [x for x in letters if x not in (*COUNTS, *LENGTHS, *self._traits.largest)]
        long = dict.fromkeys(vectors or letters, self._long)
        known = {x: n for x, n in others.items() if x in letters}
        free = {x: _MANY for x in letters if x not in self._traits.looped()}
        return self._traits.usual(leading).but({**self._least(letters), **free, **known, **long})

    def _bounded(
        self, sizes: Sizes, letters: Sequence[str], most: int = USUAL, tokens: int = 1
    ) -> Sizes:
        """Reduce the sizes of `letters` until plain loops take at most `most` steps for a call.

        Lengths are not reduced below `tokens`.
        """
        least = self._least([x for x in letters if x in self._traits.looped()])
        sizes = thin(sizes, self._traits.inputs, self._traits.smallest)
        floor = {
            x: max(n, min(tokens, sizes.letters[x] if x in LENGTHS else 1))
            for x, n in least.items()
        }
        return shorter(sizes, floor, self._traits.steps, most)

    def _least(self, letters: Sequence[str]) -> dict[str, int]:
        return {x: self._traits.smallest.get(x, 1) for x in letters}

    def other(self, base: Sizes) -> Sizes:
        """Change the sizes that may differ between calls, alternately by -1 and by +2."""
        changes = (-1, 2)
        letters = {x: base.letters[x] + changes[i % 2] for i, x in enumerate(self._letters)}
        return base.but(letters, tuple(n + changes[i % 2] for i, n in enumerate(base.leading)))

    def _largest(self, letter: str) -> int:
        largest = self._traits.largest.get(letter, _LARGEST.get(letter, self._long))
        return largest - (letter == self._shorter)

    def _next_to_largest(self, letter: str) -> int:
        return self._largest(letter) + (1 if letter == self._shorter else -1)


class LeadingDimensions:
    """Chooses leading dimensions for a declaration."""

    def __init__(self, traits: Traits) -> None:
        self._is_batched = traits.has_leading
        shapes = [item.shape.split() for item in traits.inputs if isinstance(item, Tensor)]
        self._following = [len(shape) - 1 for shape in shapes if LEADING in shape]

    @property
    def are_lengths(self) -> bool:
        """True if the last leading dimension contains the tokens: only one dimension follows."""
        return self._is_batched and min(self._following) == 1

    def tried(self, length: int) -> tuple[tuple[int, ...], ...]:
        """Return all leading dimensions to try in turn; `length` is a large number of tokens."""
        last = (length,) if self.are_lengths else (2,)
        return (*_TRIED, last) if self._is_batched else ((),)

    def five(self) -> tuple[int, ...]:
        """Return leading dimensions that give the largest tensor five dimensions, if allowed."""
        return _FIVE[: 5 - max(self._following)] if self._is_batched else _FIVE[1:]

    def other_five(self) -> tuple[int, ...]:
        """Return dimensions as `five` does, but with the 1 elsewhere, to reveal other mistakes."""
        five = self.five()
        return (1, 3, 2, 2)[: len(five)] if self._is_batched else five

    def four(self) -> tuple[int, ...]:
        """Return leading dimensions for one sample that give the largest tensor four dimensions."""
        return (1,) * (len(self.five()) - 1)

    def few(self, turn: int) -> tuple[int, ...]:
        """Return leading dimensions for one or two samples; `turn` decides how many dimensions."""
        return ((2, *(1 for _ in self.five()[1:])), (*self.four()[2:], 1, 2), ())[turn % 3]
