"""Two known mistakes of heads at once: neither's name fits."""

import torch

from autograder.suite import combination


@combination("split_heads", "cut_without_swapping", "leftover_columns_dropped")
def cut_and_leftover_dropped(x, num_heads):
    batch, tokens, size = x.shape
    head_dim = size // num_heads
    return x[..., : head_dim * num_heads].reshape(batch, num_heads, tokens, head_dim)


@combination("causal_head_attention", "not_scaled", "mask_without_effect")
def not_scaled_not_masked(queries, keys, values):
    return torch.softmax(queries @ keys.mT, dim=-1) @ values
