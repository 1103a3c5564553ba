"""Heads: one wide vector per token becomes several narrow ones, and back.

A head is a group of neighbouring columns. With a head dimension of its own, before the tokens,
one matrix product serves all heads at once.
"""

import math

import torch


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    batch, num_tokens, size = x.shape
    if size % num_heads != 0:
        raise ValueError(f"{size} columns can't be shared equally by {num_heads} heads")
    heads = x.reshape(batch, num_tokens, num_heads, size // num_heads)
    return heads.transpose(1, 2)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    batch, num_heads, num_tokens, head_dim = x.shape
    by_token = x.transpose(1, 2)
    return by_token.reshape(batch, num_tokens, num_heads * head_dim)


def causal_head_attention(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    num_tokens, head_dim = queries.shape[-2:]
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(head_dim)
    everything = torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=scores.device)
    future = everything.triu(diagonal=1)
    scores = scores.masked_fill(future, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ values
