"""Causal attention as a layer: trained projections, the causal mask, dropout on the weights."""

import torch
from torch import nn


class CausalAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool=False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        everywhere = torch.ones(context_length, context_length, dtype=torch.bool)
        self.mask: torch.Tensor
        self.register_buffer('mask', everywhere.triu(diagonal=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        num_tokens, context_length = (x.shape[1], self.mask.shape[0])
        if num_tokens > context_length:
            raise ValueError(f'{num_tokens} tokens are more than the context of {context_length}')
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        return weights @ values
