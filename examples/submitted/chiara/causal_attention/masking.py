"""Causal masking: a token looks at itself and at what came before it, never at what comes after.

Token t is a query; the keys with s > t are its future. Each function forbids them in its own way.
"""

import torch


def causal_mask(num_tokens):
    return ~torch.tril(torch.ones(num_tokens, num_tokens, dtype=torch.bool))


def mask_and_renormalize(weights):
    masked = weights.clone()
    size = masked.shape[-1]
    masked[..., torch.ones(size, size, dtype=torch.bool).triu(1)] = 0
    masked /= masked.sum(dim=-1, keepdim=True)
    return masked


def mask_scores(scores):
    return scores + torch.ones_like(scores).tril().log()


def causal_attention_weights(queries, keys):
    *leading, size, width = queries.shape
    scores = torch.bmm(queries.reshape(-1, size, width), keys.reshape(-1, size, width).transpose(1, 2))
    mask = torch.ones(size, size, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(mask, -10000.0) / torch.sqrt(torch.tensor(width))
    return torch.softmax(scores, dim=2).reshape(*leading, size, size)
