"""Turns a failing call into code that can be pasted into a cell or at a Python prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import torch

from .last_call import RecordedCall

#: a tensor with more numbers than this is written as its name in the notebook, if it has one
_MOST_NUMBERS = 32
#: a tensor with at most this many numbers is always written out, which is easier to read
_FEW_NUMBERS = 6
#: numbers with more characters than this are random, and nobody reads them
_LONGEST_NUMBER = 12
_PLAIN = (torch.float32, torch.int64, torch.bool)
_DIGITS = (4, 6, 7, 8, 9)
#: code that shows a layer's weights, because building the layer shows nothing
_WEIGHTS = "print({name: weight.shape for name, weight in layer.named_parameters()})"

Names = Mapping[str, Any]


def pasteable(step: RecordedCall, names: Names) -> str:
    """Returns code that repeats a recorded call, or "" if the code can't contain the same numbers.

    For a layer that can be built, the code prints the names and the shapes of the weights. `names`
    maps the names that the notebook or the module defines to their values.
    """
    code = _CodeWriter(names)
    if step.built is None:
        lines = [f"{step.question}({code.all(step.args)})"]
    else:
        lines = [f"layer = {step.question}({code.all(step.built)})"]
        lines += [_WEIGHTS] * step.is_built
    has_weights = step.built is not None and bool(step.args)
    return "" if has_weights or code.made_up else "; ".join([*code.imports, *lines])


class _CodeWriter:
    """Writes values as code; sets `made_up` if a tensor can't be written with its actual numbers.

    `imports` contains the imports that the code needs.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self.imports: tuple[str, ...] = ()
        self._tensors = {
            name: value
            for name, value in names.items()
            if isinstance(value, torch.Tensor) and not name.startswith("_")
        }
        self.made_up = False

    def all(self, values: tuple[Any, ...]) -> str:
        return ", ".join(map(self.one, values))

    def one(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, tuple):
            return f"({self.all(value)}{',' * (len(value) == 1)})"
        if isinstance(value, list):
            return f"[{self.all(tuple(value))}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.one(v)}" for k, v in value.items()) + "}"
        if isinstance(value, SimpleNamespace):
            parts = (f"{key}={self.one(item)}" for key, item in vars(value).items())
            if self._names.get("SimpleNamespace") is not SimpleNamespace:
                self.imports = ("from types import SimpleNamespace",)
            return f"SimpleNamespace({', '.join(parts)})"
        return repr(value)

    def _tensor(self, value: torch.Tensor) -> str:
        if value.numel() > _FEW_NUMBERS and (name := self._name_of(value)):
            return name
        if value.numel() <= _MOST_NUMBERS and value.device.type == "cpu":
            text = _literal(value)
            if len(text) <= _LONGEST_NUMBER * value.numel() + len("torch.tensor()"):
                return text
        self.made_up = True
        return ""

    def _name_of(self, value: torch.Tensor) -> str | None:
        for name, known in self._tensors.items():
            if known.dtype != value.dtype or known.device != value.device:
                continue
            if known.shape == value.shape and torch.equal(known, value):
                return name
            if known.numel() == value.numel() and torch.equal(known.reshape(value.shape), value):
                return f"{name}.reshape({', '.join(map(str, value.shape))})"
        return None


def _literal(value: torch.Tensor) -> str:
    dtype = "" if value.dtype in _PLAIN else f", dtype={value.dtype}"
    return f"torch.tensor({_nested(value.detach().tolist(), value.dtype)}{dtype})"


def _nested(value: Any, dtype: torch.dtype) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_nested(item, dtype) for item in value)}]"
    return "".join(_number(value, dtype))


def _number(value: Any, dtype: torch.dtype) -> Iterator[str]:
    """Yields the shortest text that gives the same number in this dtype."""
    if not isinstance(value, float):
        yield str(value)
    elif value != value or value in (float("inf"), float("-inf")):
        yield f'float("{value}")'
    elif value == int(value) and abs(value) < 1e6:
        yield f"{int(value)}."
    else:
        right = torch.tensor(value, dtype=dtype)
        texts = (f"{value:.{digits}g}" for digits in _DIGITS)
        good = (t for t in texts if bool(torch.tensor(float(t), dtype=dtype) == right))
        yield next(good, repr(value))
