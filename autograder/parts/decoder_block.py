"""The block of a decoder with its norms in front, as a part."""

from __future__ import annotations

import torch
from torch import nn

from .cached_attention import CachedAttention, Past
from .feed_forward import FeedForward


class DecoderBlock(nn.Module):
    """Submodules `norm1`, `attention`, `norm2`, `feed_forward`; no norm on the road past them."""

    def __init__(self, d_model: int, num_heads: int, hidden_dim: int) -> None:
        super().__init__()
        sublayers = (CachedAttention(d_model, num_heads), FeedForward(d_model, hidden_dim))
        for number, (name, sublayer) in enumerate(
            zip(("attention", "feed_forward"), sublayers, strict=True), 1
        ):
            self.add_module(f"norm{number}", nn.LayerNorm(d_model))
            self.add_module(name, sublayer)

    def forward(self, x: torch.Tensor, past: Past | None = None) -> tuple[torch.Tensor, Past]:
        """(B, T, d_model) and a past -> the pair of the output and the new past."""
        look, think = self.get_submodule("attention"), self.get_submodule("feed_forward")
        found, grown = look(self.get_submodule("norm1")(x), past)
        found = torch.add(x, found)
        return torch.add(found, think(self.get_submodule("norm2")(found))), grown
