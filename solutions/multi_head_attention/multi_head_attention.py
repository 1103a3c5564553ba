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
        """
        super().__init__()
        ### BEGIN SOLUTION
        # from document 000, line 637; document 004, line 131
        if d_out % num_heads != 0:
            raise ValueError(f"d_out = {d_out} is not a multiple of num_heads = {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.mask: torch.Tensor
        self.register_buffer("mask", future)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes causal attention in all heads at once.

        Args:
            x: (B, T, d_in) with T <= context_length.

        Returns:
            (B, T, d_out), in the dtype of the weights.
        """
        ### BEGIN SOLUTION
        batch, num_tokens, _ = x.shape
        by_head = (batch, num_tokens, self.num_heads, self.head_dim)
        queries = self.W_query(x).view(by_head).transpose(1, 2)  # (B, H, T, d)
        keys = self.W_key(x).view(by_head).transpose(1, 2)  # (B, H, T, d)
        values = self.W_value(x).view(by_head).transpose(1, 2)  # (B, H, T, d)

        scores = queries @ keys.transpose(2, 3) / math.sqrt(self.head_dim)  # (B, H, T, T)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))  # (B, H, T, T)

        context = (weights @ values).transpose(1, 2)  # (B, T, H, d)
        merged = context.reshape(batch, num_tokens, self.num_heads * self.head_dim)
        return self.out_proj(merged)  # (B, T, d_out)
        ### END SOLUTION
