"""Scaled dot-product attention: scores of a size that softmax can work with, then the context."""

import torch


def scale_scores(scores, d_k):
    return scores / (d_k / 2)


def attention_weights(queries, keys):
    turned = keys.permute(tuple(reversed(range(keys.dim()))))
    return torch.softmax(queries @ turned / keys.shape[-1] ** 0.5, dim=-1)


def scaled_dot_product_attention(queries, keys, values):
    scores = torch.bmm(queries, keys.transpose(1, 2)) / keys.shape[-1] ** 0.5
    return torch.bmm(torch.softmax(scores, dim=-1), values)
