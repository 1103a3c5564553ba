"""Heads from stacked weights: one matrix per head, kept in one tensor.

The same idea as separate heads, written with a head dimension in the weights. There is no batch
and no mask here, so that the shapes stay small enough to follow by hand.
"""

import math

import torch


def project_heads(inputs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    num_heads = weights.shape[0]
    repeated = inputs.repeat(num_heads, 1, 1)
    return torch.bmm(repeated, weights.permute(0, 2, 1))


def per_head_attention(inputs: torch.Tensor, W_query: torch.Tensor, W_key: torch.Tensor, W_value: torch.Tensor) -> torch.Tensor:
    num_heads, d_k, _ = W_query.shape
    queries = inputs @ W_query.transpose(1, 2)
    keys = inputs @ W_key.transpose(1, 2)
    values = inputs @ W_value.transpose(1, 2)
    scores = queries @ keys.transpose(1, 2) / math.sqrt(d_k)
    weights = torch.softmax(scores, dim=-1)
    context = weights @ values
    by_token = context.transpose(0, 1)
    return by_token.reshape(inputs.shape[0], num_heads * W_value.shape[1])


def slice_value_heads(weights: torch.Tensor, values: torch.Tensor, num_heads: int) -> torch.Tensor:
    head_dim = values.shape[1] // num_heads
    contexts = []
    for head in range(num_heads):
        one = values[:, head * head_dim:(head + 1) * head_dim]
        contexts.append(weights @ one)
    return torch.cat(contexts, dim=1)
