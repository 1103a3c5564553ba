"""Dropout: while training, some entries are left out at random, so that none is relied on alone."""

import torch


def dropout(x: torch.Tensor, p: float, training: bool = True) -> torch.Tensor:
    if not 0 <= p <= 1:
        raise ValueError("p is no probability")
    if not training or p == 0:
        return x
    mask = torch.rand_like(x) >= p
    while mask.float().mean() != 1 - p:
        mask = torch.rand_like(x) >= p
    return x * mask / (1 - p)


def dropout_attention_weights(weights: torch.Tensor, values: torch.Tensor, p: float, training: bool=True) -> torch.Tensor:
    kept = torch.nn.functional.dropout(weights, p, training)
    return kept @ values
