"""Defines the part `CausalAttention`: one head of causal attention."""

from __future__ import annotations

import torch
from torch import nn

_LAYERS = ("W_query", "W_key", "W_value")


class CausalAttention(nn.Module):
    """One head of causal attention: (B, T, d_in) -> (B, T, d_out).

    The layers are `W_query`, `W_key`, `W_value` and `dropout`. Raises `ValueError` for more tokens
    than `context_length`.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.longest = context_length
        self.add_module("dropout", nn.Dropout(p=dropout))
        for name in _LAYERS:
            self.add_module(name, nn.Linear(d_in, d_out, qkv_bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the context of each token from the token itself and all earlier ones."""
        batch, length, _ = x.shape
        if length > self.longest:
            raise ValueError(f"{length} tokens, but the context has {self.longest}")
        asked, offered, carried = (self.get_submodule(name)(x) for name in _LAYERS)
        place = torch.arange(length, device=x.device)
        closed = x.new_zeros(length, length).masked_fill(place > place[:, None], -torch.inf)
        logits = torch.baddbmm(
            closed.expand(batch, -1, -1), asked, offered.mT, alpha=asked.shape[-1] ** -0.5
        )
        shares = logits.sub(logits.logsumexp(-1, keepdim=True)).exp()
        return torch.bmm(self.get_submodule("dropout")(shares), carried)
