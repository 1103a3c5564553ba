"""Self-attention as a layer: the three weight matrices belong to a module and are trained."""

import torch
from torch import nn


class SelfAttentionV1(nn.Module):

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        scores = queries @ keys.transpose(-2, -1)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


class SelfAttentionV2(nn.Module):

    def __init__(self, d_in, d_out, qkv_bias=False):
        nn.Module.__init__(self)
        sizes = {'in_features': d_in, 'out_features': d_out, 'bias': qkv_bias}
        self.W_query, self.W_key, self.W_value = (nn.Linear(**sizes) for _ in range(3))

    def forward(self, x):
        keys = self.W_key(x)
        scores = keys @ self.W_query(x).transpose(-2, -1)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-2)
        return weights.transpose(-2, -1) @ self.W_value(x)
