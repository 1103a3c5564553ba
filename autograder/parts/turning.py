"""Defines the part `apply_rotary`, which rotates queries and keys by rotary angles."""

from __future__ import annotations

import torch


def apply_rotary(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Rotates each pair of coordinates i and i + d/2: (..., T, d), (T, d/2) -> (..., T, d)."""
    cosine, sine = angles.cos(), angles.sin()
    turn = torch.stack(
        (torch.stack((cosine, -sine)), torch.stack((sine, cosine)))
    )  # (to, from, T, d/2)
    pairs = torch.stack(x.chunk(2, dim=-1), dim=-2)  # (..., T, from, d/2)
    return torch.einsum("oftp,...tfp->...top", turn, pairs).flatten(-2)
