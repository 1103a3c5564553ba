"""Describes the type of the results when every result has the wrong type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .record import OF_GRADIENTS, UNCHANGED, AnswerRecord, Call

ONE = "one tensor comes back in place of several"
SEVERAL = "several results come back in place of one"
LESS = "less comes back than is asked for"
MORE = "more comes back than is asked for"
NOTHING = "nothing comes back"
CONTAINER = "another container comes back"
DIMENSIONS = "{} has {} dimensions than asked for"
DTYPE = "the result has another dtype than asked for"

_CALLS, _SEVERAL = ("call", "forward"), ("steps", "layer_steps")
#: the fewest results that are needed to say so
_ENOUGH = 3
_TENSOR = re.compile(r"torch\.\w+ \(([\d, ]*)\) \w+")
_KINDS = re.compile(r"tuple\((?:(\{|None, )|(#\d+), |(?:tuple|list)\((#\d+(?:, #\d+)*)\), )")
_DICT = "a dict"
_ONE_DTYPE = re.compile(r"tuple\((torch\.\w+) \([\d, ]*\) \w+, ")
_NUMBERS = ("no", "one", "two", "three", "four", "five")
_PLACES = ("first", "second", "third", "fourth", "fifth")

#: the number of dimensions of each result; one tensor is not a tuple of one
_Kind = int | tuple[int, ...] | None


def kind_returned(answer: Sequence[AnswerRecord], right: Sequence[AnswerRecord]) -> tuple[str, str]:
    """Returns what is wrong with the kind of all results in words, without and with numbers.

    Empty if some results are of the right kind, or if they are wrong in different ways.
    """
    calls = [
        (own.form, asked.form)
        for came, others in zip(answer, right, strict=True)
        for own, asked in zip(came.calls, others.calls, strict=False)
        if own.operation in _CALLS and not own.raised and not asked.raised
    ]
    if len(calls) < _ENOUGH:
        return "", ""
    found = {_difference(_kind(own), _kind(asked)) for own, asked in calls}
    words = found.pop() if len(found) == 1 else ("", "")
    return words if any(words) else _dtype_returned(calls)


def _dtype_returned(calls: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Returns what is wrong with the dtype of one tensor, if all have the same wrong one."""
    found = [(_ONE_DTYPE.match(own), _ONE_DTYPE.match(asked)) for own, asked in calls]
    dtypes = {(own[1] if own else "", asked[1] if asked else "") for own, asked in found}
    owns, wanted = {own for own, _ in dtypes}, {asked for _, asked in dtypes}
    if len(owns) != 1 or not all(own and asked and own != asked for own, asked in dtypes):
        return "", ""
    expected = f"where {wanted.pop()} is required" if len(wanted) == 1 else "for every input"
    return DTYPE, f"the dtype of the result is {owns.pop()} {expected}"


def writes_into_arguments(answer: Sequence[AnswerRecord], right: Sequence[AnswerRecord]) -> bool:
    """Returns whether all values are right and the only fault is that arguments are changed.

    Calls that use the same tensors again, need gradients, or have arguments that can't be written
    to are wrong as a consequence.
    """
    wrong = [
        (own, asked)
        for came, others in zip(answer, right, strict=True)
        for own, asked in zip(came.calls, others.calls, strict=False)
        if not own.equals(asked)
    ]
    changed = [own for own, asked in wrong if _changes_only_arguments(own, asked)]
    follow = [
        own
        for own, asked in wrong
        if own.operation in (*OF_GRADIENTS, *_SEVERAL) or own.is_failing(asked)
    ]
    return len(changed) >= _ENOUGH and len(changed) + len(follow) == len(wrong)


def _changes_only_arguments(own: Call, asked: Call) -> bool:
    value, _, after = asked.form.rpartition(f"'{UNCHANGED}'")
    count = len(asked.figures)  # the tensors of the value are first
    figures, bounds = own.figures[:count], own.bounds[:count]
    return (
        own.operation in _CALLS
        and after == ")"
        and own.form.startswith(value)
        and not own.form.endswith(f"'{UNCHANGED}')")
        and replace(own, form=asked.form, figures=figures, bounds=bounds).equals(asked)
    )


def _kind(form: str) -> _Kind | str:
    """Returns the kind of a value from its form, or the form itself for other kinds."""
    short = _TENSOR.sub(lambda found: f"#{len(found[1].replace(',', ' ').split())}", form)
    match = _KINDS.match(short)
    if not match:
        return form
    other, one, several = match.groups()
    if other:
        return _DICT if other == "{" else None
    return int(one[1:]) if one else tuple(int(item[1:]) for item in several.split(", "))


def _difference(own: _Kind | str, asked: _Kind | str) -> tuple[str, str]:
    if isinstance(asked, str) or asked is None or own == asked:
        return "", ""
    wanted = len(asked) if isinstance(asked, tuple) else 1
    required = f"{_NUMBERS[wanted]} tensor{'s are' if wanted > 1 else ' is'} required"
    if own == _DICT:
        return CONTAINER, f"{own} is returned where {required}"
    if isinstance(own, str):
        return "", ""
    if own is None:
        return NOTHING, NOTHING
    if isinstance(own, int) and isinstance(asked, int):
        return _other_dimensions("the result", own - asked)
    if isinstance(own, tuple) and isinstance(asked, tuple) and len(own) == len(asked):
        (place, *more) = (at for at, n in enumerate(own) if n != asked[at])
        if more or place >= len(_PLACES):
            return "", ""
        return _other_dimensions(f"the {_PLACES[place]} result", own[place] - asked[place])
    came = len(own) if isinstance(own, tuple) else 1
    if came == wanted:
        return CONTAINER, f"a list or a tuple is returned where {required}"
    if came >= len(_NUMBERS):
        return "", ""
    words = MORE if came > wanted else LESS
    words = ONE if isinstance(own, int) else SEVERAL if isinstance(asked, int) else words
    results = "tensor is" if came == 1 else "tensors are"
    return words, f"{_NUMBERS[came]} {results} returned where {required}"


def _other_dimensions(what: str, more: int) -> tuple[str, str]:
    words = DIMENSIONS.format(what, "more" if more > 0 else "fewer")
    several = f"{_NUMBERS[abs(more)]} dimension{'s' * (abs(more) > 1)}"
    exact = f"{what} has {several} {'more' if more > 0 else 'fewer'} than required"
    return words, exact if abs(more) < len(_NUMBERS) else words
