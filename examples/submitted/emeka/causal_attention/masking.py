"""Causal masking: a token looks at itself and at what came before it, never at what comes after.

Token t is a query; the keys with s > t are its future. Each function forbids them in its own way.
"""

import torch


def causal_mask(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu()


def mask_and_renormalize(weights):
    visible = weights.tril()
    return visible / visible.sum()


def mask_scores(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu()
    return scores.masked_fill(future, -torch.inf)


def causal_attention_weights(queries, keys):
    return torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)
