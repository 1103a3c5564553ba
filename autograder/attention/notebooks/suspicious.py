"""Provides functions with a mistake, for the notebooks' *debug this* cells.

The code is here, and not in a cell, because a student could copy it, correct it, and use it to
answer a question in the same notebook.
"""

from __future__ import annotations

import torch


def suspicious_scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return (T, S) scores from keys that were reshaped instead of transposed."""
    return queries.mm(keys.reshape(keys.shape[-1], keys.shape[-2]))


def suspicious_shares(scores: torch.Tensor) -> torch.Tensor:
    """Return scores that were divided by the sum of the wrong row."""
    return torch.div(scores, torch.einsum("...s->...", scores))


def suspicious_mixture(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return the correct context vector, but also write it into the first row of `values`."""
    total = values[0]
    total *= weights[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total += weight * value
    return total


def suspicious_embed(token_ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Return the correct rows of a table, but without a gradient for the table."""
    return torch.tensor(table[token_ids].tolist(), requires_grad=True)


def suspicious_weights(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """Return attention weights whose rows sum to one only if there is no batch."""
    fit = torch.einsum("...td,...sd->...ts", queries, keys)
    return fit.mul(queries.shape[-1] ** -0.5).softmax(1)


def suspicious_dropout(x: torch.Tensor) -> torch.Tensor:
    """Return a matrix after dropout with p = 0.5, with one random number for each row."""
    return torch.where(torch.rand(x.shape[0], 1) < 0.5, 0.0, 2.0 * x)


def suspicious_mask(scores: torch.Tensor) -> torch.Tensor:
    """Add minus infinity, multiplied by a causal mask of zeros and ones, to (T, T) scores."""
    return scores + torch.ones_like(scores).triu(1) * -torch.inf


#: the names of the layers in `CausalSelfAttention`, two of them swapped
suspicious_names = {"W_query": "key", "W_key": "query", "W_value": "value", "out_proj": "proj"}


def suspicious_norm(tokens: torch.Tensor) -> torch.Tensor:
    """Return (T, D) tokens that were normalized across tokens instead of within each token."""
    return (tokens - tokens.mean(0)) / tokens.var(0, correction=0).sqrt()


def suspicious_turn(a: float, b: float, angle: torch.Tensor) -> torch.Tensor:
    """Return the arrow (a, b) rotated by N angles, (2, N), with one minus sign missing."""
    return torch.stack([a * angle.cos() + b * angle.sin(), b * angle.cos() + a * angle.sin()])


def mask_from_the_top_left(num_queries: int, num_keys: int) -> torch.Tensor:
    """Return a (T, S) mask, where 1 means forbidden, as if the queries were the first positions."""
    return (torch.arange(num_keys) > torch.arange(num_queries)[:, None]).int()
