"""Weights that are stored under other names, ready to be loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def renamed(
    weights: Mapping[str, Any], names: Mapping[str, str | None] | None = None
) -> dict[str, Any]:
    """The weights as tensors, each layer under the name that a student gave it.

    Args:
        weights: lists of numbers by their names, such as `W_query.weight`.
        names: for each layer what it is called now; a layer that is not named keeps its name.

    Raises:
        NotImplementedError: a name is None: nobody has filled it in yet.
    """
    given = names or {}
    if None in given.values():
        raise NotImplementedError("say what each layer is called")
    found = {}
    for name, numbers in weights.items():
        layer, _, kind = name.rpartition(".")
        found[f"{given.get(layer, layer)}.{kind}"] = torch.as_tensor(numbers)
    return found
