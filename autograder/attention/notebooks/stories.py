"""Makes short stories from a grammar and a seed: enough text to train a model, and to test it.

Every creature's name is made up for its story, so a reader can know it only by looking back. The
module also computes how surprising (-ln p) the stories are to a reader who knows all rules of the
grammar. On average, no model can reach a lower loss than this.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Sequence
from textwrap import fill

from IPython.display import display

from ...escaping import for_html
from ...student.display import NotebookOutput

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_ANIMALS = ("mouse", "fox", "hare", "crow", "toad", "mole", "goat", "duck", "cat", "bear", "snail")
_LOOKS = ("an old", "a small", "a red", "a blue", "a heavy", "a shiny", "a round", "a golden")
_THINGS = ("key", "lamp", "drum", "boat", "kite", "bell", "coat", "ladder", "map", "shoe", "spoon")
_PLACES = ("by the river", "in the wood", "on the hill", "under a bridge", "near the mill")
_TIMES = ("One morning", "One evening", "On a cold day", "After the rain", "At noon", "In spring")
_MOODS = ("glad", "tired", "hungry", "curious", "lonely", "busy")
_SAW = ("found", "saw", "picked up", "fell over", "dreamt of")
_DID = ("sang a song", "had soup", "slept under a tree", "danced till night", "went home")
_PRONOUNS = (("he", "his"), ("she", "her"))

_WORD = re.compile(r" ?[A-Za-z]+|[^A-Za-z]")
_SYLLABLE = rf"[{_CONSONANTS}][{_VOWELS}]"
_NAME_PART = re.compile(rf" [{_CONSONANTS.upper()}][{_VOWELS}]|{_SYLLABLE}")
_NAME = re.compile(rf" ?[{_CONSONANTS.upper()}][{_VOWELS}](?:{_SYLLABLE})+")

#: the loss on held-out stories after every 50 training steps in the capstone, with the ready-made
#: block, as printed by `make weights`
KNOWN_CURVE = (
    *(4.243, 2.477, 1.673, 1.545, 1.5, 1.229, 1.096, 1.019, 0.897, 0.73),
    *(0.7, 0.694, 0.702, 0.697, 0.703, 0.705, 0.706, 0.707, 0.709, 0.709),
)


class UnknownTokenError(KeyError):
    """Raised for a text with a token that no story contains."""

    def _render_traceback_(self) -> list[str]:
        """Return the text that a notebook shows, without a traceback."""
        return [f"{type(self).__name__}: {self.args[0]}"]


class _Storyteller:
    """Makes the random choices in a story, and adds up how surprising they are."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.surprise = 0.0

    def below(self, count: int) -> int:
        self.surprise += math.log(count)
        return self._random.randrange(count)

    def unless_one_in(self, count: int) -> bool:
        """Return False with probability 1 / `count`, otherwise True."""
        happens = self._random.randrange(count) > 0
        self.surprise -= math.log((count - 1) / count if happens else 1 / count)
        return happens

    def pick(self, options: Sequence[str]) -> str:
        return options[self.below(len(options))]

    def name(self) -> str:
        syllables = 2 + self.below(2)
        parts = [self.pick(_CONSONANTS) + self.pick(_VOWELS) for _ in range(syllables)]
        return "".join(parts).capitalize()


def story(seed: int) -> tuple[str, float]:
    """Return a story on one line, and its surprise: the sum of -ln p over all choices."""
    tell = _Storyteller(seed)
    hero, friend = tell.name(), tell.name()
    animal, other = tell.pick(_ANIMALS), tell.pick(_ANIMALS)
    look, thing = tell.pick(_LOOKS), tell.pick(_THINGS)
    they, their = _PRONOUNS[tell.below(len(_PRONOUNS))]
    sentences = [
        f"{tell.pick(_TIMES)} {hero} the {animal} {tell.pick(_SAW)} {look} {thing}"
        f" {tell.pick(_PLACES)}.",
        f"{hero} was {tell.pick(_MOODS)}, and {they} took the {thing} along.",
        f"Then {they} met {friend} the {other}.",
    ]
    if tell.unless_one_in(3):
        sentences.append(f'"Is this your {thing}?" asked {hero}.')
        if tell.below(2):
            sentences.append(f'"Yes," said {friend}, "I lost it {tell.pick(_PLACES)}."')
            sentences.append(f"So {hero} gave the {thing} back to {friend}.")
        else:
            sentences.append(f'"No," said {friend}, "it is yours now, {hero}."')
            sentences.append(f"So {hero} kept {their} {thing}.")
    else:
        sentences.append(f'"What {look} {thing}!" said {friend} to {hero}.')
    sentences.append(f"{hero} and {friend} {tell.pick(_DID)}.")
    return " ".join(sentences), tell.surprise


def stories(count: int, seed: int) -> tuple[str, float]:
    """Return stories, one per line, and the average surprise per token.

    Args:
        count: the number of stories.
        seed: different seeds give different stories; the same seed gives the same stories on any
            machine.
    """
    lines = [story(seed * 1_000_003 + number) for number in range(count)]
    text = "".join(f"{line}\n" for line, _ in lines)
    return text, sum(surprise for _, surprise in lines) / len(tokens(text))


def tokens(text: str) -> list[str]:
    """Return a text's tokens: words with the space before them, punctuation, and parts of names."""
    found: list[str] = []
    for word in _WORD.findall(text):
        if _NAME.fullmatch(word):
            first = word.index(word.strip()) + 2
            found += [word[:first], *re.findall("..", word[first:])]
        else:
            found.append(word)
    return found


def known(found: list[str], vocabulary: Collection[str]) -> list[str]:
    """Return the tokens unchanged; raise `UnknownTokenError` for a token outside the vocabulary."""
    for token in found:
        if token not in vocabulary:
            raise UnknownTokenError(
                f"no story contains {token!r}, so the model has no number for it: use words "
                'from the stories, such as "One morning" or "After the rain"'
            )
    return found


def show(*texts: str) -> None:
    """Show each text as a paragraph; printed lines would break inside words on a phone."""
    paragraphs = "".join(f'<p style="max-width:40em">{for_html(text)}</p>' for text in texts)
    output = NotebookOutput("\n\n".join(map(fill, texts)), paragraphs)
    display(output)  # type: ignore[no-untyped-call]  # IPython has no types


def is_syllable(token: str) -> bool:
    """Return whether a token is part of a name, such as " Ra" or "ka"; " So" counts as a word."""
    return bool(_NAME_PART.fullmatch(token)) and token != " So"
