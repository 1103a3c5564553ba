"""Answers with two known mistakes at once, which neither name alone describes."""

import torch

from autograder.suite import combination


@combination("rotary_angles", "pairs_counted_from_one", "ten_thousand_built_in")
def from_one_with_a_base_built_in(positions, head_dim, base=10000.0):
    if head_dim % 2:
        raise ValueError("odd")
    pairs = torch.arange(2, head_dim + 2, 2, dtype=positions.dtype)
    return positions[:, None] * 10000.0 ** (-pairs / head_dim)


@combination("apply_rotary", "neighbours_paired", "turned_the_other_way")
def neighbours_turned_the_other_way(x, angles):
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos + odd * sin, odd * cos - even * sin], dim=-1).flatten(-2)
