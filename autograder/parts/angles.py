"""Defines the part `rotary_angles`: the angles of rotary position embedding."""

from __future__ import annotations

import torch


def rotary_angles(positions: torch.Tensor, head_dim: int, base: float = 10000.0) -> torch.Tensor:
    """Returns the angles of every position: positions (T,) -> (T, head_dim / 2).

    Entry [t, i] is `positions[t] * base ** (-2i / head_dim)`. Raises `ValueError` for an odd
    head_dim.
    """
    half, odd = divmod(head_dim, 2)
    if odd:
        raise ValueError(f"head_dim = {head_dim} is odd, but coordinates are rotated in pairs")
    # a geometric sequence that begins with 1; the term after the last one would be 1 / base
    speeds = torch.logspace(
        0, 1 / half - 1, half, base=base, dtype=positions.dtype, device=positions.device
    )
    return torch.outer(positions, speeds)
