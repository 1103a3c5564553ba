"""Angles of rotary position embedding, as a part."""

from __future__ import annotations

import torch


def rotary_angles(positions: torch.Tensor, head_dim: int, base: float = 10000.0) -> torch.Tensor:
    """The angles of every position: positions (T,) -> (T, head_dim / 2).

    Entry [t, i] is `positions[t] * base ** (-2i / head_dim)`. Raises `ValueError` for an odd
    head_dim.
    """
    half, odd = divmod(head_dim, 2)
    if odd:
        raise ValueError(f"head_dim = {head_dim} is odd, and coordinates are turned in pairs")
    # from 1 down in equal ratios: the last pair is one step before 1 / base
    speeds = torch.logspace(
        0, 1 / half - 1, half, base=base, dtype=positions.dtype, device=positions.device
    )
    return torch.outer(positions, speeds)
