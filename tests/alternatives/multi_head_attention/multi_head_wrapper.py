"""Right but unusual ways to put heads side by side."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", future)

    def forward(self, x):
        num_tokens = x.shape[1]
        if num_tokens > self.mask.shape[0]:
            raise ValueError(f"{num_tokens} tokens, but context_length is {self.mask.shape[0]}")
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1])
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ values


class _Built(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.heads = nn.ModuleList(
            [
                CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias)
                for _ in range(num_heads)
            ]
        )


@alternative("MultiHeadAttentionWrapper")
class appended_one_by_one(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        out = self.heads[0](x)
        for head in self.heads[1:]:
            out = torch.cat((out, head(x)), dim=2)
        return out


@alternative("MultiHeadAttentionWrapper")
class stacked_and_flattened(_Built):
    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=2).flatten(start_dim=2)


@alternative("MultiHeadAttentionWrapper")
class filled_slice_by_slice(_Built):
    def forward(self, x):
        batch, tokens, _ = x.shape
        out = x.new_empty(batch, tokens, len(self.heads) * self.d_out)
        for i, head in enumerate(self.heads):
            out[:, :, i * self.d_out : (i + 1) * self.d_out] = head(x)
        return out


@alternative("MultiHeadAttentionWrapper")
class joined_by_hstack(_Built):
    """Joins the heads with `hstack`, between two transposes."""

    def forward(self, x):
        return torch.hstack([head(x).mT for head in self.heads]).mT


@alternative("MultiHeadAttentionWrapper")
class samples_one_by_one(_Built):
    def forward(self, x):
        samples = [torch.cat([h(one[None]) for h in self.heads], -1) for one in x]
        return torch.cat(samples, dim=0)


@alternative("MultiHeadAttentionWrapper")
class padded_and_added(_Built):
    def forward(self, x):
        left, right = 0, (len(self.heads) - 1) * self.d_out
        out = 0
        for head in self.heads:
            out = out + F.pad(head(x), (left, right))
            left, right = left + self.d_out, right - self.d_out
        return out


@alternative("MultiHeadAttentionWrapper")
class weights_of_all_heads_at_once(_Built):
    """Projects with the joined weights of all heads, in one matrix product."""

    def _all(self, name, x):
        layers = [getattr(head, name) for head in self.heads]
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
        out = F.linear(x, weight, bias)
        return out.unflatten(-1, (len(layers), self.d_out)).transpose(1, 2)

    def forward(self, x):
        tokens = x.shape[1]
        queries, keys, values = (self._all(n, x) for n in ("W_query", "W_key", "W_value"))
        scores = queries @ keys.mT / math.sqrt(self.d_out)
        future = torch.ones(tokens, tokens, device=x.device).triu(1).bool()
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        weights = self.heads[0].dropout(weights)
        return (weights @ values).transpose(1, 2).flatten(2)


@alternative("MultiHeadAttentionWrapper")
class arguments_by_name(nn.Module):
    """Passes arguments by name, and stores the number of heads in a buffer."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.register_buffer("count", torch.tensor(num_heads))
        arguments = {
            "dropout": dropout,
            "context_length": context_length,
            "d_out": d_out,
            "d_in": d_in,
            "qkv_bias": qkv_bias,
        }
        self.heads = nn.ModuleList(CausalAttention(**arguments) for _ in range(num_heads))

    def forward(self, x):
        return torch.concatenate(tuple(head(x) for head in self.heads), axis=-1)


@alternative("MultiHeadAttentionWrapper")
class heads_as_children(_Built):
    def forward(self, x):
        parts = [head.forward(x.contiguous()) for head in self.heads.children()]
        return torch.cat(parts, dim=-1).contiguous()


@alternative("MultiHeadAttentionWrapper")
class collected_by_hooks(_Built):
    def forward(self, x):
        found = []
        handles = [
            head.register_forward_hook(lambda module, args, out: found.append(out))
            for head in self.heads
        ]
        for head in self.heads:
            head(x)
        for handle in handles:
            handle.remove()
        return torch.cat(found, dim=-1)


@alternative("MultiHeadAttentionWrapper")
class checkpointed_heads(_Built):
    def forward(self, x):
        parts = [checkpoint(head, x, use_reentrant=False) for head in self.heads]
        return torch.stack(parts, dim=2).flatten(2)
