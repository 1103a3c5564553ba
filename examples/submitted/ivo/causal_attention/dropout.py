"""Dropout: while training, some entries are left out at random, so that none is relied on alone."""

import torch


def dropout(x: torch.Tensor, p: float, training: bool = True) -> torch.Tensor:
    if not 0 <= p <= 1:
        raise ValueError("p is no probability")
    if not training or p == 0:
        return x
    mask = torch.ones_like(x)
    dropped = 0
    while dropped < p * x.numel():
        mask = torch.where(torch.rand_like(x) < p, 0.0, 1.0)
    return x * mask / (1 - p)


def dropout_attention_weights(weights: torch.Tensor, values: torch.Tensor, p: float, training: bool=True) -> torch.Tensor:
    kept = torch.nn.functional.dropout(weights, p, training)
    return kept @ values
