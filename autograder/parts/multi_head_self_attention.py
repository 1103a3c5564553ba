"""Defines the part `MultiHeadSelfAttention`: multi-head self-attention without a mask."""

from __future__ import annotations

import torch
from torch import nn

_LAYERS = ("W_query", "W_key", "W_value", "out_proj")


class MultiHeadSelfAttention(nn.Module):
    """Multi-head self-attention without a mask: (B, T, d_model) -> (B, T, d_model).

    The layers `W_query`, `W_key`, `W_value` and `out_proj` map d_model to d_model, with a bias.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        for name in _LAYERS:
            self.add_module(name, nn.Linear(d_model, d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes attention with the heads folded into the batch."""
        batch, length, width = x.shape
        split = (len(_LAYERS) - 1, batch, length, self.num_heads, width // self.num_heads)
        *into, back = (self.get_submodule(name) for name in _LAYERS)
        folded = torch.stack([layer(x) for layer in into]).reshape(split).transpose(2, 3)
        asked, offered, carried = folded.flatten(1, 2)  # (B * H, T, d) each
        logits = torch.einsum("ntd,nsd->nst", asked, offered).mul(split[-1] ** -0.5)
        shares = logits.sub(logits.logsumexp(1, keepdim=True)).exp()  # column t belongs to query t
        mixed = torch.einsum("nst,nsd->ntd", shares, carried).reshape(batch, -1, *split[2::2])
        joined: torch.Tensor = back(mixed.transpose(1, 2).reshape(x.shape))
        return joined
