"""Causal masking: a token looks at itself and at what came before it, never at what comes after.

Token t is a query; the keys with s > t are its future. Each function forbids them in its own way.
"""

import torch


def causal_mask(num_tokens: int) -> torch.Tensor:
    everywhere = torch.ones(num_tokens, num_tokens, dtype=torch.bool)
    return everywhere.triu(diagonal=1)


def mask_and_renormalize(weights: torch.Tensor) -> torch.Tensor:
    visible = weights.tril()
    row_sums = visible.sum(dim=-1, keepdim=True)
    return visible / row_sums


def mask_scores(scores: torch.Tensor) -> torch.Tensor:
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, -torch.inf)


def causal_attention_weights(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    scores = scores.masked_fill(future, -torch.inf)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
