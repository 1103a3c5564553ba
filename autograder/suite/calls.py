"""Writes a call down the way a reader would: `attention_scores((2, 5, 4), (2, 7, 4))`."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch


def call_text(name: str, args: Sequence[Any]) -> str:
    """The call with a shape in place of each tensor, and a dtype where it is not float32."""
    return f"{name}({', '.join(argument_text(arg) for arg in args)})"


def argument_text(value: Any) -> str:
    """One argument: shape of a tensor, short repr of the rest."""
    if isinstance(value, torch.Tensor):
        shape = str(tuple(value.shape))
        if value.dtype == torch.float32:
            return shape
        return f"{shape} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, SimpleNamespace):
        return "config(" + ", ".join(f"{key}={item}" for key, item in vars(value).items()) + ")"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
