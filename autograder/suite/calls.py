"""Writes calls as text, the way a reader would: `attention_scores((2, 5, 4), (2, 7, 4))`."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from ..worker.execution import tensors_in
from .implementation import PLAIN, GradientOptions, Step


def call_text(name: str, args: Sequence[Any]) -> str:
    """Write a call with shapes instead of tensors, and with dtypes other than float32.

    The text also says if a tensor is not contiguous, and if it is a part of a larger tensor because
    it begins inside its memory.
    """
    return f"{name}({', '.join(argument_text(arg) for arg in args)})"


def gradient_text(name: str, args: Sequence[Any], options: GradientOptions = PLAIN) -> str:
    """Write the call whose gradient is computed, and how it is computed."""
    places = " and ".join(str(place + 1) for place in options.frozen)
    turned = ", not contiguous" if options.turned else ""
    ways = {
        f"with no gradient for argument {places}": bool(options.frozen),
        f"with {', '.join(options.still)} frozen": bool(options.still),
        "with arguments that are results of other operations": options.results,
        f"for incoming gradients of about {options.size:g}{turned}": options.size != 1
        or options.turned,
        "read from `.grad` after `backward()`": options.backward,
    }
    details = "".join(f", {way}" for way, is_asked in ways.items() if is_asked)
    return f"the gradient of {call_text(name, args)}{details}"


def no_grad_text(call: str, no_grad: bool) -> str:
    """Return the call, preceded by `under torch.no_grad()` if it is made without gradients."""
    return f"under torch.no_grad(), {call}" if no_grad else call


def steps_text(name: str, steps: Sequence[Step]) -> str:
    """Write several calls, one per line, each with the call whose state it gets."""
    lines = [f"{name}, {len(steps)} calls:"]
    for number, step in enumerate(steps):
        handed = "" if step.after is None else f", with the state of call {step.after}"
        lines.append(f"  call {number}: {call_text(name, step.args)}{handed}")
    return "\n".join(lines)


def argument_text(value: Any) -> str:
    """Write one argument: the shape of a tensor, a short repr of anything else."""
    if isinstance(value, torch.Tensor):
        shape = str(tuple(value.shape)) + _layout_text(value)
        if value.dtype == torch.float32:
            return shape
        return f"{shape} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, tuple) and tensors_in(value):
        return f"({', '.join(map(argument_text, value))})"
    if isinstance(value, SimpleNamespace):
        return "config(" + ", ".join(f"{key}={item}" for key, item in vars(value).items()) + ")"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _layout_text(tensor: torch.Tensor) -> str:
    if not tensor.is_contiguous():
        return " not contiguous"
    return " of a larger tensor" if tensor.storage_offset() else ""
