"""Multi-head attention the plain way: several causal heads beside each other.

Each head is a whole causal attention with weights of its own. It looks at the same tokens and may
find something else in them; the results are put side by side.
"""

import math

import torch
from torch import nn


class CausalAttention(nn.Module):  # supplied
    """One causal attention head: what the assignment `causal_attention` ends with.

    Layers `W_query`, `W_key`, `W_value` of (d_in, d_out) and `dropout`. Forward takes
    (B, T, d_in) with T <= context_length and returns (B, T, d_out); a longer input raises
    `ValueError`.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.mask: torch.Tensor
        self.register_buffer("mask", future)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        num_tokens = x.shape[1]
        if num_tokens > self.mask.shape[0]:
            raise ValueError(f"{num_tokens} tokens, but context_length is {self.mask.shape[0]}")
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)  # (B, T, d_out)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1])  # (B, T, T)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))  # (B, T, T)
        return weights @ values  # (B, T, d_out)


class MultiHeadAttentionWrapper(nn.Module):

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
