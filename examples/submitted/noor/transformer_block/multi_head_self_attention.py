"""Multi-head self-attention of an encoder: several attentions side by side, and nothing masked.

The model size is cut into heads. Every head compares all tokens with all tokens in its own slice
of the queries and keys, and a last linear layer mixes what the heads found.
"""

import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, D = x.shape
        heads = (B, T, self.num_heads, self.head_dim)
        queries = self.W_query(x).reshape(heads).transpose(1, 2)
        keys = self.W_key(x).reshape(heads).transpose(1, 2)
        values = self.W_value(x).reshape(heads).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1) / self.head_dim ** 0.5
        weights = torch.softmax(scores, dim=-1)
        context = weights @ values
        merged = context.transpose(1, 2).reshape(B, T, D)
        return self.out_proj(merged)
