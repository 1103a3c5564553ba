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


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def causal_head_attention(queries, keys, values):

    def one(q, k, v):
        tokens = torch.arange(q.shape[0])
        scores = q @ k.T / math.sqrt(q.shape[1])
        return torch.where(tokens[:, None] >= tokens, scores, -torch.inf).softmax(-1) @ v
    return torch.vmap(torch.vmap(one))(queries, keys, values)
