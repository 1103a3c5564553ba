"""Checks a warm-up exercise on shapes, broadcasting and einsum, before the first question."""

from __future__ import annotations

from typing import Any

import torch
from IPython.display import display

from .display import notice

a = torch.tensor([[1.0, 2.0, 5.0], [4.0, 3.0, 1.0]])
b = torch.tensor([1.0, 10.0])
c = torch.tensor([1.0, 2.0, 3.0, 4.0])

#: the expected result in each line, and a hint
_EXPECTED = {
    "row_sums": (
        [[8.0], [8.0]],
        "a sum drops its dimension unless you pass `keepdim=True`",
    ),
    "scaled": (
        [[1.0, 2.0, 5.0], [40.0, 30.0, 10.0]],
        "shapes are compared from the right: what shape must b have to line up with the rows?",
    ),
    "differences": (
        [[0.0, -1.0, -2.0, -3.0], [9.0, 8.0, 7.0, 6.0]],
        "give b a second dimension of size 1 (`b[:, None]`)",
    ),
    "column_sums": (
        [5.0, 5.0, 6.0],
        "the letter that is missing after the arrow is summed over",
    ),
    "products": (
        [[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]],
        "both letters before the arrow are also after it: nothing is summed",
    ),
}


def warm_up(**lines: Any) -> None:
    """Shows whether each line is correct; a line that is None has not been filled in yet.

    Args:
        lines: tensors for `row_sums`, `scaled`, `differences`, `column_sums`, `products`.
    """
    for name, given in lines.items():
        if name not in _EXPECTED:
            _say("!", f"no line is called {name}; known: {', '.join(_EXPECTED)}")
            continue
        expected, nudge = _EXPECTED[name]
        sign, verdict = _judged(given, torch.tensor(expected))
        _say(sign, f"{name}: {verdict}" + f" ({nudge})" * (sign == "!"))


def _say(sign: str, text: str) -> None:
    display(notice(sign, text))  # type: ignore[no-untyped-call]  # IPython has no types


def _judged(given: Any, expected: torch.Tensor) -> tuple[str, str]:
    if given is None:
        return "○", "replace None"
    if not isinstance(given, torch.Tensor):
        return "!", f"got the type {type(given).__name__}, expected a tensor"
    if given.shape != expected.shape:
        return "!", f"the shape is {tuple(given.shape)}, expected {tuple(expected.shape)}"
    if not torch.allclose(given.to(expected.dtype), expected):
        return "!", f"the numbers are {given.tolist()}, expected {expected.tolist()}"
    return "✓", "right"
