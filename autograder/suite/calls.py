"""Writes a call down the way a reader would: `attention_scores((2, 5, 4), (2, 7, 4))`."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from ..worker.execution import tensors_in
from .implementation import Step


def call_text(name: str, args: Sequence[Any]) -> str:
    """The call with a shape in place of each tensor, and a dtype where it is not float32.

    A tensor that does not lie row after row in memory is called not contiguous.
    """
    return f"{name}({', '.join(argument_text(arg) for arg in args)})"


def gradient_text(name: str, args: Sequence[Any], frozen: Sequence[int] = ()) -> str:
    """The call whose gradient is asked for, and which arguments want none."""
    places = " and ".join(str(place + 1) for place in frozen)
    wanted = f", where argument {places} wants none" if frozen else ""
    return f"the gradient of {call_text(name, args)}{wanted}"


def steps_text(name: str, steps: Sequence[Step]) -> str:
    """Several calls, a line each, and whose state each one gets."""
    lines = [f"{name}, {len(steps)} calls:"]
    for number, step in enumerate(steps):
        handed = "" if step.after is None else f", with the state of call {step.after}"
        lines.append(f"  call {number}: {call_text(name, step.args)}{handed}")
    return "\n".join(lines)


def argument_text(value: Any) -> str:
    """One argument: shape of a tensor, short repr of the rest."""
    if isinstance(value, torch.Tensor):
        shape = str(tuple(value.shape)) + ("" if value.is_contiguous() else " not contiguous")
        if value.dtype == torch.float32:
            return shape
        return f"{shape} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, tuple) and tensors_in(value):
        return f"({', '.join(map(argument_text, value))})"
    if isinstance(value, SimpleNamespace):
        return "config(" + ", ".join(f"{key}={item}" for key, item in vars(value).items()) + ")"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
