"""Causal attention as a layer: trained projections, the causal mask, dropout on the weights."""

import torch
from torch import nn


class CausalAttention(nn.Module):

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        for name in ('W_query', 'W_key', 'W_value'):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.dropout = nn.Identity()
        self.p = dropout
        self.scale = torch.sqrt(torch.FloatTensor([d_out]))
        self.register_buffer('future', ~torch.ones(context_length, context_length).tril().bool())

    def forward(self, x):
        size = x.shape[1]
        if size > len(self.future):
            raise ValueError(f'{size} tokens')
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2) / self.scale
        weights = scores.masked_fill(self.future[:size, :size], -torch.inf).softmax(dim=-1)
        if self.training and self.p > 0:
            weights = weights * (torch.rand_like(weights) >= self.p) / (1 - self.p)
        return weights @ self.W_value(x)
