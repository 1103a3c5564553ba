"""Defines the part `FeedForward`: the feed-forward network of a block."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn


class FeedForward(nn.Sequential):
    """Two linear layers with ReLU between them: (..., d_model) -> (..., d_model).

    `linear1` maps d_model to hidden_dim, and `linear2` maps hidden_dim to d_model.
    """

    def __init__(self, d_model: int, hidden_dim: int) -> None:
        wide = nn.Linear(d_model, hidden_dim)
        steps = OrderedDict(
            linear1=wide, rectifier=nn.ReLU(), linear2=nn.Linear(hidden_dim, d_model)
        )
        super().__init__(steps)
