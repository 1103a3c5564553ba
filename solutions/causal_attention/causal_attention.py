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

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.3.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        # from document 000, line 520; document 004, line 49
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)  # weight (d_out, d_in)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)  # weight (d_out, d_in)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)  # weight (d_out, d_in)
        self.dropout = nn.Dropout(dropout)
        everywhere = torch.ones(context_length, context_length, dtype=torch.bool)
        self.mask: torch.Tensor
        self.register_buffer("mask", everywhere.triu(diagonal=1))  # (context_length, same)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the context vectors of a batch of sequences.

        Args:
            x: (B, T, d_in), T at most `context_length`, in the dtype of the weights.

        Returns:
            (B, T, d_out), in the dtype of x: row t depends only on the inputs 0 to t.
        """
        ### BEGIN SOLUTION
        num_tokens, context_length = x.shape[1], self.mask.shape[0]
        if num_tokens > context_length:
            raise ValueError(f"{num_tokens} tokens are more than the context of {context_length}")
        queries = self.W_query(x)  # (B, T, d_in) -> (B, T, d_out)
        keys = self.W_key(x)  # (B, T, d_in) -> (B, T, d_out)
        values = self.W_value(x)  # (B, T, d_in) -> (B, T, d_out)
        scores = queries @ keys.transpose(1, 2)  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)  # (B, T, T)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)  # (B, T, T)
        weights = self.dropout(weights)  # (B, T, T)
        return weights @ values  # (B, T, T) @ (B, T, d_out) -> (B, T, d_out)
        ### END SOLUTION
