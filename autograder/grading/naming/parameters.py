"""Describes wrong parameters of a layer, if they prevent further tests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .record import AnswerRecord, Call

_PARAMETER = re.compile(r"'([\w.]+)': (tuple\([^)]*\))")
OTHER_NAMES = "the trained parameters have other names than the question gives"
OTHER_SIZES = "parameters of {} have other sizes than the question gives"
MISSING = "trained parameters are missing that the question gives"
TOO_MANY = "there are trained parameters that the question does not give"
SHARED = "a weight is no trained parameter of its own"
OTHER_LAYERS = "the trained parameters have other names and sizes than the question gives"
#: the number of parameters that are named in a text
_MOST = 4


def parameter_sentences(
    answer: Sequence[AnswerRecord], right: Sequence[AnswerRecord]
) -> tuple[str, str]:
    """Returns what is wrong with a layer's parameters, in words; and the same with names.

    If all layers accepted the weights, only weights that are not trained are reported. Sizes may be
    right by chance if two of them are equal.
    """
    calls = [
        pair
        for came, asked in zip(answer, right, strict=True)
        for pair in zip(came.calls, asked.calls, strict=False)
    ]
    loads = [c.raised for c, _ in calls if c.operation == "load_weights" and c.is_asked]
    found = [
        (_parameters(came), _parameters(asked))
        for came, asked in calls
        if came.operation == "weights" and not came.raised
    ]
    if not found:
        return "", ""
    if not any(loads):
        return _of_shared(found)
    if all(own.keys() == others.keys() for own, others in found):
        layers = {name.partition(".")[0] for own, others in found for name in _unequal(own, others)}
        words = OTHER_SIZES.format(" and ".join(sorted(layers))) if layers else ""
        return words, words
    if not all(loads) or any(own.keys() == others.keys() for own, others in found):
        return "", ""
    missing = sorted({name for own, others in found for name in others.keys() - own.keys()})
    too_many = sorted({name for own, others in found for name in own.keys() - others.keys()})
    if not too_many:
        return MISSING, f"{MISSING}: {_some_names(missing)}"
    if not missing:
        return TOO_MANY, f"{TOO_MANY}: {_some_names(too_many)}"
    same = all(sorted(own.values()) == sorted(others.values()) for own, others in found)
    words = OTHER_NAMES if same else OTHER_LAYERS
    return words, f"{words}: there is {_some_names(too_many)}, there is no {_some_names(missing)}"


def _of_shared(found: Sequence[tuple[Mapping[str, str], Mapping[str, str]]]) -> tuple[str, str]:
    """Returns the words for weights that can be set by name but are not trained parameters."""
    lost = [others.keys() - own.keys() for own, others in found]
    if not all(lost) or any(own.keys() - others.keys() for own, others in found):
        return "", ""
    names = sorted(set().union(*lost))
    one = len(names) == 1
    what = "is not a trained parameter" if one else "are not trained parameters"
    return SHARED, f"{_some_names(names)} {what}"


def _some_names(names: Sequence[str]) -> str:
    """Returns some of the names."""
    some = [f"`{name}`" for name in names[:_MOST]]
    return f"{', '.join(some)}{', ...' if len(names) > _MOST else ''}"


def _unequal(own: Mapping[str, str], others: Mapping[str, str]) -> list[str]:
    return [name for name, size in own.items() if size != others[name]]


def _parameters(call: Call) -> dict[str, str]:
    """Returns the shape of each parameter by its name."""
    return dict(_PARAMETER.findall(call.form))
