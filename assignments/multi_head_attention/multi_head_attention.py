"""Multi-head attention with weight split: one wide projection, split into heads.

It computes the same as separate heads, with one matrix product for the queries of all heads, and
mixes the heads in a final projection.
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Causal multi-head attention with one query, key and value layer for all heads.

    Attributes:
        W_query, W_key, W_value: `nn.Linear` layers from d_in to d_out. The outputs of head h
            begin at `h * d_out / num_heads`.
        out_proj: `nn.Linear` from d_out to d_out, always with a bias.
        dropout: on the attention weights after softmax, independently for each entry.

    These four linear layers hold all trainable weights. A stored causal mask is not a trainable
    parameter, and it moves with the module to another device.

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        """Builds the layers and the causal mask.

        Args:
            d_in: size of an input vector.
            d_out: size of an output vector, for all heads together.
            context_length: the largest number of tokens.
            dropout: probability of dropout on the attention weights.
            num_heads: number of heads.
            qkv_bias: whether `W_query`, `W_key` and `W_value` have a bias.

        Raises:
            ValueError: `d_out` is not a multiple of `num_heads`.
        """
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes causal attention in all heads at once.

        Args:
            x: (B, T, d_in) with T <= context_length.

        Returns:
            (B, T, d_out), in the dtype of the weights.
        """
        raise NotImplementedError
