"""Describes a result that is not a tensor, in one sentence."""

from __future__ import annotations

from typing import Any

import torch


def of_kind(got: Any) -> str:
    """Describe a value that is not a tensor although a tensor is expected."""
    if got is None:
        return "nothing came back: is a `return` missing, or does it stand alone?"
    if isinstance(got, tuple) and len(got) == 2 and "return_types" in type(got).__module__:
        return "two tensors came back, values and indices, as `max` gives them"
    if isinstance(got, tuple) and len(got) == 1:
        return "a tuple came back: is there a comma behind the result?"
    if isinstance(got, list):
        return "a list came back, and one tensor is asked for"
    if isinstance(got, tuple) and any(isinstance(item, torch.Tensor) for item in got):
        return f"{len(got)} things came back, and one tensor is asked for"
    return f"a value of the type `{type(got).__name__}` came back, and a tensor is asked for"
