"""Renames stored weights, so that a student's model can load them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def renamed(
    weights: Mapping[str, Any], names: Mapping[str, str | None] | None = None
) -> dict[str, Any]:
    """Return the weights as tensors, each layer with the name that a student gave it.

    Args:
        weights: lists of numbers by their names, such as `W_query.weight`.
        names: the new name of each layer; a layer that is not in it keeps its name.

    Raises:
        NotImplementedError: a name is None, because it has not been filled in yet.
    """
    given = names or {}
    if None in given.values():
        raise NotImplementedError("say what each layer is called")
    found = {}
    for name, numbers in weights.items():
        layer, _, kind = name.rpartition(".")
        found[f"{given.get(layer, layer)}.{kind}"] = torch.as_tensor(numbers)
    return found
