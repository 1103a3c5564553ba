"""Heads from stacked weights: one matrix per head, kept in one tensor.

The same idea as separate heads, written with a head dimension in the weights. There is no batch
and no mask here, so that the shapes stay small enough to follow by hand.
"""

import math

import torch


def project_heads(inputs, weights):
    return torch.bmm(weights, inputs.T.repeat(weights.shape[0], 1, 1))


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


def slice_value_heads(weights, values, num_heads):
    size = values.shape[0] // num_heads
    parts = [weights[:, head * size:(head + 1) * size] @ values[head * size:(head + 1) * size] for head in range(num_heads)]
    return torch.cat(parts, dim=1)
