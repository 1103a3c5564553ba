"""Defines the part `CachedAttention`, which stores keys and values of earlier tokens."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .angles import rotary_angles
from .turning import apply_rotary

#: keys and values of all positions so far, each (B, H, P, d)
Past = tuple[torch.Tensor, torch.Tensor]


class CachedAttention(nn.Module):
    """Causal multi-head attention with rotary positions and a cache of keys and values.

    The layers `W_query`, `W_key`, `W_value` and `out_proj` map d_model to d_model, with a bias. The
    positions of new tokens continue after those of the past.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        for name in ("W_query", "W_key", "W_value", "out_proj"):
            self.add_module(name, nn.Linear(d_model, d_model))

    def forward(self, x: torch.Tensor, past: Past | None = None) -> tuple[torch.Tensor, Past]:
        """Maps x (B, T, d_model) and a past to the output (B, T, d_model) and the new past."""
        empty = x.new_empty(len(x), self.num_heads, 0, x.shape[-1] // self.num_heads)
        old_keys, old_values = (empty, empty) if past is None else past
        before, new = old_keys.shape[-2], x.shape[1]
        places = torch.arange(before, before + new, dtype=x.dtype, device=x.device)
        angles = rotary_angles(places, empty.shape[-1])
        queries, keys, values = (
            self.get_submodule(name)(x).unflatten(-1, (self.num_heads, -1)).movedim(2, 1)
            for name in ("W_query", "W_key", "W_value")
        )  # (B, H, T, d)
        present = (
            torch.cat((old_keys, apply_rotary(keys, angles)), dim=-2),
            torch.cat((old_values, values), dim=-2),
        )
        allowed = places[:, None] >= torch.arange(before + new, device=x.device)
        context = F.scaled_dot_product_attention(
            apply_rotary(queries, angles), *present, attn_mask=allowed
        )
        return self.get_submodule("out_proj")(context.movedim(1, 2).flatten(2)), present
