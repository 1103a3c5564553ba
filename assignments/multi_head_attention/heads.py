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

    Raises:
        ValueError: D is not a multiple of `num_heads`.
    """
    raise NotImplementedError


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Puts the heads of every token side by side again: the inverse of `split_heads`.

    Args:
        x: (B, H, T, d); it may be non-contiguous.

    Returns:
        (B, T, H * d), in the dtype of `x`: first the d numbers of head 0, then those of
        head 1, and so on.
    """
    raise NotImplementedError


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

    Not allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others), because they are the answer. Threads and processes are not
    allowed either.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.
    """
    raise NotImplementedError
