"""Causal attention as a layer: trained projections, the causal mask, dropout on the weights."""

import torch
from torch import nn


class CausalAttention(nn.Module):

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError('too many tokens')
        queries, keys, values = (layer(x) for layer in self.layers)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        return self.dropout(weights) @ values
