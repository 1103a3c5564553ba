"""Scaled dot-product attention: scores of a size that softmax can work with, then the context."""

import torch


def scale_scores(scores, d_k):
    return scores.div(scores.new_tensor(d_k).sqrt())


def attention_weights(queries, keys):
    scores = (queries.unsqueeze(-2) * keys.unsqueeze(-3)).sum(-1)
    return (scores / scores.new_tensor(keys.shape[-1]).sqrt()).softmax(dim=-1)


def scaled_dot_product_attention(queries, keys, values):
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    sums = powers @ torch.cat([values, torch.ones_like(values[..., :1])], dim=-1)
    return sums[..., :-1] / sums[..., -1:]
