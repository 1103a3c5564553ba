"""Causal attention as a layer: trained projections, a causal mask, and dropout on the weights."""

import torch
from torch import nn


class CausalAttention(nn.Module):
    """One attention head in which no token sees a later one.

    Args:
        d_in: size of an input vector.
        d_out: size of a query, a key, a value, and therefore of a context vector.
        context_length: the largest number of tokens in a sequence.
        dropout: the probability that an attention weight is dropped in training.
        qkv_bias: whether the three projections have a bias.

    The layers are `W_query`, `W_key`, `W_value` (each `nn.Linear`) and `dropout`. There are
    no other trainable weights. A stored causal mask moves with the module to another device.

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.3.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the context vectors of a batch of sequences.

        Args:
            x: (B, T, d_in), T at most `context_length`, in the dtype of the weights.

        Returns:
            (B, T, d_out), in the dtype of x: row t depends only on the inputs 0 to t.

        Raises:
            ValueError: T is larger than `context_length`.
        """
        raise NotImplementedError
