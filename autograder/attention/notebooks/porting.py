"""Provides weights for a student's layers: stored weights with new names, or the identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn


def renamed(
    weights: Mapping[str, Any], names: Mapping[str, str | None] | None = None
) -> dict[str, Any]:
    """Return the weights as tensors, renamed to match the names of a student's layers.

    Args:
        weights: nested lists of numbers, keyed by names such as `W_query.weight`.
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
    """Turn each linear layer inside `layer` into the identity, with a bias of 0; return `layer`.

    Each layer then returns its input, so a result can be computed by hand.
    """
    for part in layer.modules():
        if isinstance(part, nn.Linear):
            nn.init.eye_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    return layer
