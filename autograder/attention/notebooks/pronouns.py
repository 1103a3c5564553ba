"""Provides short English sentences as training data; their pronouns show who is meant."""

from __future__ import annotations

import itertools
from functools import cache

import torch

#: every person or group, with its pronouns as an object and as an owner
PEOPLE = {
    "Anna": ("her", "her"),
    "Ruth": ("her", "her"),
    "Ben": ("him", "his"),
    "Tom": ("him", "his"),
    "friends": ("them", "their"),
    "guests": ("them", "their"),
}
_MEETS = ("met", "saw", "asked")
_GIVES = ("gave", "sent", "sold")
_THINGS = ("book", "coat", "boat")
#: the placeholder for a word that the model must find
GAP = "___"


def sentences() -> list[list[str]]:
    """Return all sentences of the form "Anna met Ben and gave him her book"."""
    return [
        [giver, meets, taker, "and", gives, PEOPLE[taker][0], PEOPLE[giver][1], thing]
        for giver, taker in itertools.permutations(PEOPLE, 2)
        for meets, gives, thing in itertools.product(_MEETS, _GIVES, _THINGS)
    ]


@cache
def vocabulary() -> tuple[str, ...]:
    """Return every distinct word in the sentences, and the placeholder for a missing word."""
    return (*sorted({word for sentence in sentences() for word in sentence}), GAP)


def ids_of(sentence: list[str]) -> torch.Tensor:
    """Return the ids of words, (T,) int64; raise `ValueError` for an unknown word."""
    known = vocabulary()
    for word in sentence:
        if word not in known:
            raise ValueError(f"no sentence contains {word!r}; known words: {', '.join(known)}")
    return torch.tensor([known.index(word) for word in sentence])
