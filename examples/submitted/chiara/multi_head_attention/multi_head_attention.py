"""Multi-head attention with weight split: one wide projection, split into heads.

It computes what separate heads would compute, with one matrix product in place of many, and mixes
the heads in a last projection.
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool=False) -> None:
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f'd_out = {d_out} is not a multiple of num_heads = {num_heads}')
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.mask: torch.Tensor
        self.register_buffer('mask', future)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, num_tokens, _ = x.shape
        by_head = (batch, num_tokens, self.num_heads, self.head_dim)
        queries = self.W_query(x).view(by_head).transpose(1, 2)
        keys = self.W_key(x).view(by_head).transpose(1, 2)
        values = self.W_value(x).view(by_head).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3) / math.sqrt(self.head_dim)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        context = (weights @ values).transpose(1, 2)
        merged = context.reshape(batch, num_tokens, self.num_heads * self.head_dim)
        return self.out_proj(merged)
