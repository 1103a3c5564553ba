"""Heads from stacked weights: one matrix per head, kept in one tensor.

The same idea as separate heads, written with a head dimension in the weights. There is no batch
and no mask here, so that the shapes stay small enough to follow by hand.
"""

import math

import torch


def project_heads(inputs, weights):
    return (inputs[None, :, None, :] * weights[:, None, :, :]).sum(dim=-1)


def per_head_attention(inputs, W_query, W_key, W_value):
    q, k, v = (torch.einsum('ti,hoi->hto', inputs, w) for w in (W_query, W_key, W_value))
    scores = torch.einsum('htd,hsd->hts', q, k).mul(q.shape[-1] ** (-0.5))
    context = torch.einsum('hts,hsd->thd', scores.softmax(dim=2), v)
    return context.reshape(len(inputs), -1)


def slice_value_heads(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    slices = values.unfold(1, head_dim, head_dim)[:, :num_heads]
    return torch.einsum('ts,shd->thd', weights, slices).flatten(1)
