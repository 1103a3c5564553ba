"""Rotary position embedding: queries and keys are rotated by an angle that grows with position.

A score then depends on the distance between two tokens, but not on their positions.
"""

import torch


def rotary_angles(positions: torch.Tensor, head_dim: int, base: float = 10000.0) -> torch.Tensor:
    """Computes the angle by which each pair of coordinates is rotated at each position.

    From one position to the next, pair i rotates by `base ** (-2i / head_dim)` radians: the first
    pair (i = 0) by one radian, later pairs by less and less.

    Args:
        positions: (T,), floating point and not negative, in any order; they need not be integers.
        head_dim: d, the size of a query; even.
        base: the larger it is, the more slowly the last pairs rotate.

    Returns:
        (T, d/2), in the dtype of the positions: entry [t, i] is the angle of pair i at
        `positions[t]`, in radians.

    Source: Su et al. 2021 (arXiv 2104.09864), section 3.2.2.
    """
    ### BEGIN SOLUTION
    if head_dim % 2 != 0:
        raise ValueError(f"head_dim = {head_dim} is odd: the coordinates can't be paired")
    pairs = torch.arange(0, head_dim, 2, dtype=positions.dtype, device=positions.device)
    speeds = base ** (-pairs / head_dim)  # (d/2,), radians from one position to the next
    return positions[:, None] * speeds  # (T, 1) * (d/2,) -> (T, d/2)
    ### END SOLUTION


def apply_rotary(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Rotates each pair of coordinates of each token by its angle.

    Coordinate i of the first half is paired with coordinate i + d/2 (the half-split convention of
    GPT-NeoX and of Llama in Hugging Face's library).

    Args:
        x: (..., T, d), queries or keys; d is even.
        angles: (T, d/2), any numbers, in the dtype of x; row t is for token t.

    Returns:
        (..., T, d), in the dtype of x: with a = angles[t, i], the coordinates i and i + d/2 of
        token t are `x_i cos a - x_{i+d/2} sin a` and `x_{i+d/2} cos a + x_i sin a`.

    Source: Su et al. 2021 (arXiv 2104.09864), section 3.4.2; Black et al. 2022 (arXiv 2204.06745),
    section 2.
    """
    ### BEGIN SOLUTION
    first, second = x.chunk(2, dim=-1)  # (..., T, d/2) each
    cos, sin = torch.cos(angles), torch.sin(angles)  # (T, d/2)
    return torch.cat(
        [first * cos - second * sin, second * cos + first * sin], dim=-1
    )  # (..., T, d)
    ### END SOLUTION
