"""Heads: one wide vector per token becomes several narrow ones, and back.

A head is a group of neighboring columns. With a head dimension before that of the tokens, one
matrix product computes all heads at once.
"""

import math

import torch


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Gives each head a block of neighboring columns, and puts the heads before the tokens.

    Args:
        x: (B, T, D); it may be non-contiguous.
        num_heads: H, the number of heads.

    Returns:
        (B, H, T, D / H), in the dtype of `x`: the columns of head h begin at `h * D / H`.
    """
    ### BEGIN SOLUTION
    # from document 000, lines 876 to 909; document 001, line 21; document 004, lines 354 to 427
    batch, num_tokens, size = x.shape  # (B, T, D)
    if size % num_heads != 0:
        raise ValueError(f"{size} columns can't be shared equally by {num_heads} heads")
    heads = x.reshape(batch, num_tokens, num_heads, size // num_heads)  # (B, T, H, d)
    return heads.transpose(1, 2)  # (B, H, T, d)
    ### END SOLUTION


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Puts the heads of every token side by side again: the inverse of `split_heads`.

    Args:
        x: (B, H, T, d); it may be non-contiguous.

    Returns:
        (B, T, H * d), in the dtype of `x`: first the d numbers of head 0, then those of
        head 1, and so on.
    """
    ### BEGIN SOLUTION
    # from document 000, line 719; document 001, line 96; document 004, lines 590 to 611
    batch, num_heads, num_tokens, head_dim = x.shape  # (B, H, T, d)
    by_token = x.transpose(1, 2)  # (B, T, H, d)
    return by_token.reshape(batch, num_tokens, num_heads * head_dim)  # (B, T, H * d)
    ### END SOLUTION


def causal_head_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Computes causal attention in all heads at once; no head sees another.

    Args:
        queries: (B, H, T, d).
        keys: (B, H, T, d).
        values: (B, H, T, d).

    Returns:
        (B, H, T, d), in the dtype of the arguments: the scores are divided by the square root of
        the head size d, and each token attends to itself and to earlier ones.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.
    """
    ### BEGIN SOLUTION
    # from document 004, lines 487 to 562
    num_tokens, head_dim = queries.shape[-2:]
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(head_dim)  # (B, H, T, T)
    everything = torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=scores.device)
    future = everything.triu(diagonal=1)  # (T, T)
    scores = scores.masked_fill(future, -torch.inf)  # (B, H, T, T)
    weights = torch.softmax(scores, dim=-1)  # (B, H, T, T)
    return weights @ values  # (B, H, T, T) @ (B, H, T, d) -> (B, H, T, d)
    ### END SOLUTION
