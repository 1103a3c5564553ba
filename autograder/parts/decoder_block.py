"""Defines the part `DecoderBlock`: a decoder block with a norm before each sublayer."""

from __future__ import annotations

import torch
from torch import nn

from .cached_attention import CachedAttention, Past
from .feed_forward import FeedForward


class DecoderBlock(nn.Module):
    """A decoder block with the submodules `norm1`, `attention`, `norm2` and `feed_forward`.

    The residual connections contain no norm.
    """

    def __init__(self, d_model: int, num_heads: int, hidden_dim: int) -> None:
        super().__init__()
        sublayers = (CachedAttention(d_model, num_heads), FeedForward(d_model, hidden_dim))
        for number, (name, sublayer) in enumerate(
            zip(("attention", "feed_forward"), sublayers, strict=True), 1
        ):
            self.add_module(f"norm{number}", nn.LayerNorm(d_model))
            self.add_module(name, sublayer)

    def forward(self, x: torch.Tensor, past: Past | None = None) -> tuple[torch.Tensor, Past]:
        """Maps x (B, T, d_model) and a past to the output (B, T, d_model) and the new past."""
        look, think = self.get_submodule("attention"), self.get_submodule("feed_forward")
        found, grown = look(self.get_submodule("norm1")(x), past)
        found = torch.add(x, found)
        return torch.add(found, think(self.get_submodule("norm2")(found))), grown
