"""Checks the form of a worker's replies; until then every reply is considered hostile.

Raises `AnswerProtocol` if a reply does not answer the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...errors import AnswerProtocol
from ...suite.implementation import Gradients, Outcome, Step
from ...worker.execution import LEFT


def outcome(reply: Any, args: Sequence[Any]) -> Outcome:
    """Returns the value of a call with these arguments, and the arguments afterwards."""
    match reply:
        case (value, None):
            return Outcome(value, tuple(args))
        case (value, [*after]) if len(after) == len(args):
            return Outcome(value, tuple(after))
    raise AnswerProtocol("the reply is not a value of a call")


def calls(steps: Sequence[Step]) -> list[Any]:
    """Returns steps in the form of a request."""
    return [(list(step.args), step.after) for step in steps]


def values(reply: Any, count: int) -> tuple[Any, ...]:
    """Returns the values of several calls."""
    match reply:
        case [*items] if len(items) == count:
            return tuple(items)
    raise AnswerProtocol("the reply is not a list of values")


def gradients(reply: Any, args: Sequence[Any]) -> Gradients:
    """Returns the value and the gradients of a call with these arguments."""
    match reply:
        case (value, [*inputs], dict() as weights, *left) if _fits(inputs, list(args)):
            # names must be strings, or they could not be sorted
            named = all(isinstance(n, str) and _is_gradient(w) for n, w in weights.items())
            if named and all(isinstance(item, list) and LEFT.issuperset(item) for item in left):
                return Gradients(value, tuple(inputs), weights, *map(tuple, left[:1]))
    raise AnswerProtocol("the reply is not a gradient")


def operators(reply: Any) -> tuple[list[str], Any]:
    """Returns names of operators, and the value of the call that dispatched them."""
    match reply:
        case (list(names), value) if all(isinstance(name, str) for name in names):
            return names, value
    raise AnswerProtocol("the reply is not a list of operators")


def _fits(gradient: Any, arg: Any) -> bool:
    """Returns whether gradients have the structure of the argument."""
    if isinstance(arg, tuple | list):
        return (
            isinstance(gradient, tuple | list)
            and len(gradient) == len(arg)
            and all(map(_fits, gradient, arg))
        )
    if isinstance(arg, dict):
        return isinstance(gradient, dict)
    return _is_gradient(gradient)


def _is_gradient(value: Any) -> bool:
    return value is None or isinstance(value, torch.Tensor)


def is_named_tensors(reply: Any) -> bool:
    """Returns whether a reply is a dictionary of tensors by name."""
    return isinstance(reply, dict) and all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in reply.items()
    )
