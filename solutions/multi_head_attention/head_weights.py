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
    ### BEGIN SOLUTION
    # from document 002, lines 669 to 802
    num_heads = weights.shape[0]
    repeated = inputs.repeat(num_heads, 1, 1)  # (H, T, d_in)
    return torch.bmm(repeated, weights.permute(0, 2, 1))  # (H, T, d_in) @ (H, d_in, d_out)
    ### END SOLUTION


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
    """
    ### BEGIN SOLUTION
    # from document 002, lines 669 to 850
    num_heads, d_k, _ = W_query.shape
    queries = inputs @ W_query.transpose(1, 2)  # (T, d_in) @ (H, d_in, d_k) -> (H, T, d_k)
    keys = inputs @ W_key.transpose(1, 2)  # (H, T, d_k)
    values = inputs @ W_value.transpose(1, 2)  # (H, T, d_v)
    scores = queries @ keys.transpose(1, 2) / math.sqrt(d_k)  # (H, T, T)
    weights = torch.softmax(scores, dim=-1)  # (H, T, T)
    context = weights @ values  # (H, T, d_v)
    by_token = context.transpose(0, 1)  # (T, H, d_v)
    return by_token.reshape(inputs.shape[0], num_heads * W_value.shape[1])  # (T, H * d_v)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    # from document 002, lines 613 to 632
    head_dim = values.shape[1] // num_heads
    contexts = []
    for head in range(num_heads):
        one = values[:, head * head_dim : (head + 1) * head_dim]  # (S, d_v // H)
        contexts.append(weights @ one)  # (T, d_v // H)
    return torch.cat(contexts, dim=1)  # (T, H * (d_v // H))
    ### END SOLUTION
