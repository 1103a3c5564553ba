"""A mistake that can be named: what it is called, what a student reads, and what answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from io import StringIO
from tokenize import NAME, TokenError, generate_tokens
from typing import Any

from ...suite.variants import Variant
from .families import hint_of_words, name_of
from .families.changes import Change


@dataclass(frozen=True, slots=True, eq=False)
class Mistake:
    """A mistake that can be asked: its name, what a student reads, and what answers.

    One that `has_memory` is asked all tests one after the other, as an answer is, by one function.
    `code` are the words of code that it speaks of: an answer without them is another mistake. One
    that `is_stochastic` may have random numbers of its own. Of those that fit, the lowest rank is
    told. `words` are a family's, `detail` is what its member says of itself.
    """

    question: str
    name: str
    key: str
    hint: str
    answer: Callable[[], Callable[..., Any] | None]
    code: tuple[str, ...] = ()
    is_stochastic: bool = True
    has_memory: bool = False
    rank: int = 0
    words: str = ""
    detail: Callable[[], str] = str
    change: Change | None = None

    @property
    def precise(self) -> str:
        """What a student reads where all that fit say the same of themselves."""
        return hint_of_words(self.words, self.detail()) if self.words else self.hint

    def with_(self, other: Mistake) -> Mistake | None:
        """Both mistakes at once; None where they can't be made together."""
        both = self.change and other.change and self.change.with_(other.change)
        if not both:
            return None
        words = _both(self.words, other.words)
        told = min(self, other, key=lambda mistake: mistake.rank)
        return replace(
            told,
            key=f"{self.key} + {other.key}",
            hint=hint_of_words(words),
            words=words,
            detail=lambda: _both(self.detail() or self.words, other.detail() or other.words),
            answer=both.answer,
            rank=max(self.rank, other.rank),
            change=both,
        )

    def is_spoken_of_in(self, text: str) -> bool:
        """Whether code has one of the words that the mistake speaks of, if it does of any."""
        return not self.code or not words_of(text).isdisjoint(self.code)


@lru_cache(maxsize=8)
def words_of(text: str) -> frozenset[str]:
    """The words of code, and of no comment or text in it; all of them where it is no Python."""
    try:
        tokens = [*generate_tokens(StringIO(text).readline)]
    except (TokenError, SyntaxError):
        return frozenset(re.findall(r"\w+", text))
    return frozenset(token.string for token in tokens if token.type == NAME)


def _both(one: str, other: str) -> str:
    return f"{one}, in two places" if one == other else f"{one}; and {other}"


def hint_of(variant: Variant) -> str:
    """What a student reads: what seems to be confused, and a question that leads on."""
    return f"It looks as if this answer confuses {variant.confuses.rstrip('.')}. {variant.hint}"


def shown(question: str, words: str, leads_on: str, told: str = "") -> Mistake:
    """A mistake that an answer shows by itself, in words; there is no code of it.

    Its name is that of the `words`; `told` is what a student reads, where that is more.
    """
    told = told or words
    name, hint = name_of(words), f"{told[0].upper()}{told[1:]}. {leads_on}"
    return Mistake(question, name, name, hint, lambda: None)
