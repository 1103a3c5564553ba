"""Weights for a student's layers: renamed stored weights, or the identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn


def renamed(
    weights: Mapping[str, Any], names: Mapping[str, str | None] | None = None
) -> dict[str, Any]:
    """Return the weights as tensors, each layer with the name that a student gave it.

    Args:
        weights: lists of numbers by their names, such as `W_query.weight`.
        names: the new name of each layer; layers that are not listed keep their names.

    Raises:
        NotImplementedError: a name is None, because it has not been filled in yet.
    """
    given = names or {}
    if None in given.values():
        raise NotImplementedError("write the name of each layer instead of None")
    found = {}
    for name, numbers in weights.items():
        layer, _, kind = name.rpartition(".")
        found[f"{given.get(layer, layer)}.{kind}"] = torch.as_tensor(numbers)
    return found


def as_identity(layer: nn.Module) -> nn.Module:
    """Set each linear layer inside `layer` to the identity, without a bias, and return `layer`.

    Each of them then returns its input, so a result can be computed by hand.
    """
    for part in layer.modules():
        if isinstance(part, nn.Linear):
            nn.init.eye_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    return layer
