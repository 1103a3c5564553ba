import torch


def needs_even(head_dim):
    if head_dim % 2:
        raise ValueError(f"head_dim = {head_dim} is odd")


def rotary_angles(positions, head_dim, base=10000.0):
    needs_even(head_dim)
    pairs = torch.arange(head_dim // 2, dtype=positions.dtype)
    return positions[:, None] * base ** (-pairs / head_dim)


def apply_rotary(x, angles):
    even, odd = (x[..., 0::2], x[..., 1::2])
    cos, sin = (angles.cos(), angles.sin())
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)
