"""The feed-forward network of a block, as a part."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn


class FeedForward(nn.Sequential):
    """`linear1` (d_model -> hidden_dim), ReLU, `linear2` back: (..., d_model) -> (..., d_model)."""

    def __init__(self, d_model: int, hidden_dim: int) -> None:
        wide = nn.Linear(d_model, hidden_dim)
        steps = OrderedDict(
            linear1=wide, rectifier=nn.ReLU(), linear2=nn.Linear(hidden_dim, d_model)
        )
        super().__init__(steps)
