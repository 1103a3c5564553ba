"""Two known mistakes of scaled attention at once: neither's name fits."""

import torch

from autograder.suite import combination


@combination("attention_weights", "not_scaled", "softmax_over_queries")
def not_scaled_over_queries(queries, keys):
    return torch.softmax(queries @ keys.mT, dim=-2)


@combination("scaled_dot_product_attention", "scaled_by_the_size_of_values", "context_causal")
def size_of_values_and_masked(queries, keys, values):
    scores = queries @ keys.mT / values.shape[-1] ** 0.5
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


@combination("scaled_dot_product_attention", "context_not_scaled", "gradient_through_values_only")
def not_scaled_and_detached(queries, keys, values):
    return torch.softmax((queries @ keys.mT).detach(), dim=-1) @ values
