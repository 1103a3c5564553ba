"""What a layer's parameters say by themselves, where their names keep it from being asked more."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .answered import Answered, Call
from .events import NOT_ASKED
from .families import hint_of_words, name_of
from .known import Mistake

_NO_SUCH_WEIGHT = "LookupError"
_PARAMETER = re.compile(r"'([\w.]+)': (tuple\([^)]*\))")
OTHER_NAMES = "the trained parameters have other names than the question gives"
OTHER_LAYERS = "the trained parameters have other names and sizes than the question gives"


def mistake_of(
    question: str, answer: Sequence[Answered], right: Sequence[Answered]
) -> Mistake | None:
    """The mistake that the parameters show by themselves, if there is one."""
    words = of_other_names(answer, right)
    if words is None:
        return None
    name = name_of(words)
    return Mistake(question, name, name, hint_of_words(words), lambda: None)


def of_other_names(answer: Sequence[Answered], right: Sequence[Answered]) -> str | None:
    """What is wrong with the parameters of a layer that did not take the weights, in words.

    None where one took them, or where it has more and less than names to tell.
    """
    calls = [
        pair
        for came, asked in zip(answer, right, strict=True)
        for pair in zip(came.calls, asked.calls, strict=False)
    ]
    loads = [c.raised for c, _ in calls if c.operation == "load_weights" and c.raised != NOT_ASKED]
    if not loads or not all(raised.startswith(_NO_SUCH_WEIGHT) for raised in loads):
        return None
    found = [
        (_parameters(came), _parameters(asked))
        for came, asked in calls
        if came.operation == "weights" and not came.raised
    ]
    if not found or any(own.keys() == others.keys() for own, others in found):
        return None
    same = all(sorted(own.values()) == sorted(others.values()) for own, others in found)
    return OTHER_NAMES if same else OTHER_LAYERS


def _parameters(call: Call) -> dict[str, str]:
    """The shape of each parameter by its name."""
    return dict(_PARAMETER.findall(call.form))
