"""Describes results that are not values: a generator, a function, a layer that was not called."""

from __future__ import annotations

from types import BuiltinFunctionType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any

from torch import nn

_STRANGE: tuple[tuple[type | tuple[type, ...], str, str], ...] = (
    (
        GeneratorType,
        "a generator",
        "`yield` makes the function a generator: collect the parts in a list, and return them "
        "together (`torch.stack`)",
    ),
    (CoroutineType, "a coroutine", "take `async` in front of `def` away"),
    (
        (FunctionType, BuiltinFunctionType, MethodType),
        "a function",
        "a function was returned instead of its result: its brackets `()` are missing",
    ),
    (nn.Module, "a layer", "a layer was returned instead of its result: call it with the input"),
    (type, "a class", "a class was returned instead of a value: its brackets `()` are missing"),
)
#: tested by module name, to avoid importing NumPy
_NUMPY = (
    "a value of NumPy's",
    "a tensor is asked for: stay with torch, since NumPy can't carry a gradient. Its functions "
    "have the same names, or nearly: `torch.dot`, `torch.exp`, `torch.sum`",
)


def what_came_back(value: Any) -> tuple[str, str] | None:
    """Name a result that no question asks for, and what to do about it; otherwise None."""
    for kind, what, advice in _STRANGE:
        if isinstance(value, kind):
            if isinstance(value, CoroutineType):
                value.close()  # prevents a warning that it was never awaited
            return what, advice
    return _NUMPY if type(value).__module__.partition(".")[0] == "numpy" else None
