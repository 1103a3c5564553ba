import math
import torch
from torch import nn


def _checked(queries, keys):
    """Query heads for each head of keys; refuses what the question refuses."""
    if queries.shape[1] % keys.shape[1] != 0:
        raise ValueError("the groups are not equal")
    return queries.shape[1] // keys.shape[1]


def _attend(queries, keys, values, scale=None, dim=-1):
    """Attention in heads that match one another, with a divisor and a dimension of choice."""
    scores = queries @ keys.transpose(-2, -1) / (scale or math.sqrt(queries.shape[-1]))
    return torch.softmax(scores, dim) @ values


def grouped_query_attention(queries, keys, values):
    group = _checked(queries, keys)
    return _attend(queries, keys.repeat(1, group, 1, 1), values.repeat(1, group, 1, 1))


class _Grouped(nn.Module):
    """The right module in steps; each mistake below changes one of them."""

    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__()
        self.check(d_model, num_heads, num_kv_heads)
        self.num_heads, self.num_kv_heads = (num_heads, num_kv_heads)
        self.head_dim = d_model // num_heads
        width = num_kv_heads * self.head_dim
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, width, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, width, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def check(self, d_model, num_heads, num_kv_heads):
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError("heads do not divide")

    def split(self, x, num_heads):
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)

    def share(self, heads):
        return heads.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def scale(self):
        return math.sqrt(self.head_dim)

    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)

    def weights(self, scores):
        return torch.softmax(self.masked(scores), -1)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(-2)

    def heads(self, x):
        q = self.split(self.W_query(x), self.num_heads)
        k = self.share(self.split(self.W_key(x), self.num_kv_heads))
        v = self.share(self.split(self.W_value(x), self.num_kv_heads))
        return self.merge(self.weights(q @ k.mT / self.scale()) @ v)

    def forward(self, x):
        return self.out_proj(self.heads(x))


class GroupedQueryAttention(_Grouped):
    def masked(self, scores):
        return scores
