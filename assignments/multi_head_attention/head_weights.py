"""Heads from stacked weights: one matrix per head, all in one tensor.

This is the idea of separate heads, with a head dimension in the weights. There is no batch and no
mask here, so the shapes are small enough to follow by hand.
"""

import math

import torch


def project_heads(inputs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Projects the same tokens once for every head.

    Args:
        inputs: (T, d_in), one row per token.
        weights: (H, d_out, d_in), one matrix per head: output size first, as in `nn.Linear`.

    Returns:
        (H, T, d_out), in the dtype of the inputs.
    """
    raise NotImplementedError


def per_head_attention(
    inputs: torch.Tensor,
    W_query: torch.Tensor,
    W_key: torch.Tensor,
    W_value: torch.Tensor,
) -> torch.Tensor:
    """Computes unmasked attention in every head and puts the results side by side.

    Args:
        inputs: (T, d_in), one row per token.
        W_query: (H, d_k, d_in), one matrix per head.
        W_key: (H, d_k, d_in).
        W_value: (H, d_v, d_in).

    Returns:
        (T, H * d_v), in the dtype of the inputs: first the d_v numbers of head 0, then those of
        head 1, and so on. The scores are divided by the square root of d_k.

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).
    """
    raise NotImplementedError


def slice_value_heads(weights: torch.Tensor, values: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Applies one shared attention to slices of the values, which are not real heads.

    Args:
        weights: (T, S), attention weights that all slices share; rows need not sum to one.
        values: (S, d_v).
        num_heads: H <= d_v, the number of slices, each `d_v // H` neighboring columns wide.

    Returns:
        (T, H * (d_v // H)), in the dtype of the values: the contexts of the slices side by side.
        Remaining columns of the values are ignored.
    """
    raise NotImplementedError
