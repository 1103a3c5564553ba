"""Dropout: while training, some entries are left out at random, so that none is relied on alone."""

import torch


def dropout(x, p, training=True):
    if p > 1.0 or p < 0.0:
        raise ValueError('p')
    if training and p == 1:
        return torch.zeros_like(x)
    if training:
        return (x / (1 - p)).masked_fill(torch.rand_like(x, dtype=torch.float64) < p, 0)
    return x


def dropout_attention_weights(weights, values, p, training=True):
    if not training or p == 0:
        return weights @ values
    if p == 1:
        return 0 * (weights @ values)
    return torch.where(torch.rand_like(weights) < p, 0.0, weights / (1 - p)) @ values
