"""Dropout: while training, some entries are left out at random, so that none is relied on alone."""

import torch


def dropout(x: torch.Tensor, p: float, training: bool=True) -> torch.Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f'the dropout probability lies between 0 and 1, got {p}')
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    kept = torch.rand_like(x) >= p
    return x * kept / (1 - p)


def dropout_attention_weights(weights: torch.Tensor, values: torch.Tensor, p: float, training: bool=True) -> torch.Tensor:
    kept = torch.nn.functional.dropout(weights, p, training)
    return kept @ values
