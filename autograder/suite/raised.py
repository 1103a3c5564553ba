"""Explains an error that an answer raised, and gives advice.

The first row that matches an error counts. An error that matches no row gets general advice about
errors, never advice about wrong values. `check`, on the command line and in notebooks, uses the
same tables, but knows more about where an error occurred.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import (
    AnswerCrashed,
    AnswerFault,
    AnswerMemory,
    AnswerMissing,
    AnswerOutputLimit,
    AnswerProtocol,
    AnswerRaised,
    AnswerTimeout,
)
from .raised_table import OF_LINES, OF_PYTHON, OTHER_ARGUMENTS, Row, row
from .raised_tensors import OF_TENSORS

#: all kinds of errors that have their own text
TABLE: tuple[Row, ...] = (*OF_LINES, *OF_PYTHON, *OF_TENSORS)

_FAULTS: tuple[tuple[type[AnswerFault], str], ...] = (
    (AnswerMissing, ""),  # its message says why it may be missing
    (AnswerTimeout, "a loop that never ends, or one over every single number of a large tensor"),
    (AnswerMemory, "a tensor that is much larger than the shapes in the docstring"),
    (AnswerCrashed, "a call that ends Python, such as `exit()`, or an endless recursion"),
    (AnswerOutputLimit, "a `print` inside a loop"),
    (AnswerProtocol, "the result does not have the type that the docstring gives"),
)
_AT_IMPORT = "the file must run from its first line to its last before any answer can be called"
_SIGNATURE = re.compile(
    r"positional arguments?\b|unexpected keyword argument|multiple values for argument"
)
_OTHER_DEFINITION = "the arguments in the `def` line are not those that the question gives"
_REFUSED = row(
    r"^ValueError",
    "a ValueError is raised where a result is expected",
    "if your own `raise` causes it, its condition rejects a valid call: compare it with the "
    "docstring; otherwise, print the shapes just before the line of the error",
)
#: matches a ValueError that was raised on purpose: it has none of these words from Python and torch
_ON_PURPOSE = re.compile(r"^ValueError: (?!.*(?:values to unpack|one element tensors))", re.DOTALL)
#: the text before the student's own lines
_WHERE = "\nin "
_OTHERWISE = (
    "the code stopped with this error: make the call yourself and print the shapes just before "
    "the line of the error"
)
_COUNTED = re.compile(r"(?<![\w.])(?P<function>[\w.]+)\(\) (takes|missing|got)")


def advice(fault: AnswerFault, question: str, signature: str = "") -> str:
    """Return advice on a fault in an answer to `question`, which should have this `signature`.

    The advice is empty if the fault's message already contains it.
    """
    if isinstance(fault, AnswerRaised):
        return _about_error(str(fault), question, signature)
    return next((text for kind, text in _FAULTS if isinstance(fault, kind)), _AT_IMPORT)


def _about_error(error: str, question: str, signature: str) -> str:
    if _SIGNATURE.search(error) and not cause_of(error):
        return _about_arguments(error, question, signature)
    return advice_for(error, (*TABLE, _REFUSED)) or _OTHERWISE


def advice_for(error: str, table: Iterable[Row] = TABLE, source: str = "") -> str:
    """Return advice on an error, given as "Type: text", or "" if no row matches.

    `source` is the line that raised the error, if the text does not include it.
    """
    fits = _row_of(error, table, source)
    found = fits and fits.says.search(error)
    return fits.to_do.format(**found.groupdict()) if fits and found else ""


def cause_of(error: str, source: str = "") -> str:
    """Return the only mistake that can cause an error, or "" if several mistakes can cause it."""
    fits = _row_of(error, TABLE, source)
    return fits.shows if fits and fits.is_cause else ""


def _row_of(error: str, table: Iterable[Row], source: str = "") -> Row | None:
    """Return the first row that matches an error and the line that raised it."""
    text, _, line = error.partition(_WHERE)
    rows = [_REFUSED] if _ON_PURPOSE.search(text) else table
    return next((row for row in rows if row.fits(text, line or source)), None)


def kind_of(errors: Iterable[str], question: str) -> str:
    """Describe the kind of error that answers raised, or return "" if their kinds differ."""
    kinds = {_kind(error, question) for error in errors}
    return kinds.pop() if len(kinds) == 1 else ""


def _kind(error: str, question: str) -> str:
    if _SIGNATURE.search(error) and not cause_of(error):
        return _OTHER_DEFINITION if _is_definition(error, question) else OTHER_ARGUMENTS
    fits = _row_of(error, (*TABLE, _REFUSED))
    return fits.shows if fits else ""


def _about_arguments(error: str, question: str, signature: str) -> str:
    if _is_definition(error, question):
        right = f": {signature}" if signature else ""
        return f"the line with `def` must stay as it was given{right}"
    function = _function(error)
    return OTHER_ARGUMENTS.replace("a function", f"`{function or 'a function'}`", 1)


def _is_definition(error: str, question: str) -> bool:
    """Return whether an error about arguments is caused by the student's own `def` line."""
    function = _function(error)
    return function.rsplit(".", 1)[0] == question or function in (question, "forward")


def _function(error: str) -> str:
    found = _COUNTED.search(error)
    return found["function"] if found else ""
