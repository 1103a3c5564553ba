"""Scaled attention with two known mistakes at once, which neither name alone describes."""

import math

import torch

from autograder.suite import combination, intended


@combination(
    "attention_weights",
    "not_scaled",
    "softmax_over_queries",
    "softmax_runs_along_another_dimension_than_the_one_asked_for",
    "the_division_by_a_root_is_left_out",
)
def not_scaled_over_queries(queries, keys):
    return torch.softmax(queries @ keys.mT, dim=-2)


@combination(
    "scaled_dot_product_attention",
    "scaled_by_the_size_of_values",
    "context_causal",
    "the_future_is_hidden_which_nobody_asked_for",
    "it_is_right_with_one_key_only",
)
def size_of_values_and_masked(queries, keys, values):
    scores = queries @ keys.mT / values.shape[-1] ** 0.5
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


@combination(
    "scaled_dot_product_attention",
    "context_not_scaled",
    "gradient_through_values_only",
    "the_gradient_ends_on_its_way_back_nothing_is_trained",
    "the_division_by_a_root_is_left_out",
)
def not_scaled_and_detached(queries, keys, values):
    return torch.softmax((queries @ keys.mT).detach(), dim=-1) @ values


@intended(
    "scale_scores",
    "divided by the root of the number of keys",
    "divided_by_the_root_of_the_number_of_keys",
)
def root_of_keys(scores, d_k):
    return scores / scores.shape[-1] ** 0.5


@intended("scale_scores", "divided by the logarithm", "divided_by_the_logarithm")
def by_logarithm(scores, d_k):
    return scores / math.log(d_k + 1)


@intended("scale_scores", "divided by half", "divided_by_half")
def by_half(scores, d_k):
    return scores / (d_k / 2)


@intended("scale_scores", "softmax too early", "softmax_taken_too")
def softmax_too_early(scores, d_k):
    return torch.softmax(scores / d_k**0.5, -1)


@intended("attention_weights", "no scale", "not_scaled")
def no_scale(queries, keys):
    return torch.softmax(queries @ keys.mT, -1)


@intended(
    "attention_weights", "divided by the root of the number of keys", "scaled_by_the_number_of_keys"
)
def root_of_number_of_keys(queries, keys):
    return torch.softmax(queries @ keys.mT / keys.shape[-2] ** 0.5, -1)


@intended("attention_weights", "columns sum to one", "softmax_over_queries")
def columns_sum_to_one(queries, keys):
    return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -2)


@intended("attention_weights", "scaled after softmax", "scaled_after_the_softmax")
def scaled_after(queries, keys):
    return torch.softmax(queries @ keys.mT, -1) / keys.shape[-1] ** 0.5


@intended("attention_weights", "log-softmax", "logarithms")
def log_softmax(queries, keys):
    return torch.log_softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1)


@intended("attention_weights", "divided by the sum, no exponential", "divided_by_the_sum")
def no_exponential(queries, keys):
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    return scores / scores.sum(-1, keepdim=True)


@intended(
    "scaled_dot_product_attention", "the root of the values' size", "scaled_by_the_size_of_values"
)
def root_of_value_size(queries, keys, values):
    return torch.softmax(queries @ keys.mT / values.shape[-1] ** 0.5, -1) @ values


@intended("scaled_dot_product_attention", "output and weights", "weights_returned_too")
def output_and_weights(queries, keys, values):
    weights = torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1)
    return weights @ values, weights


@intended("scaled_dot_product_attention", "no values", "weights_returned")
def no_values(queries, keys, values):
    return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1)


@intended("scaled_dot_product_attention", "keys as values", "keys_mixed")
def keys_as_values(queries, keys, values):
    return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ keys


@intended(
    "scaled_dot_product_attention", "divided by the size, not its root", "context_scaled_by_size"
)
def by_the_size(queries, keys, values):
    return torch.softmax(queries @ keys.mT / keys.shape[-1], -1) @ values


@intended("scaled_dot_product_attention", "the result scaled, not the scores", "result_scaled")
def result_scaled(queries, keys, values):
    return torch.softmax(queries @ keys.mT, -1) @ values / keys.shape[-1] ** 0.5


@intended("scaled_dot_product_attention", "no softmax", "context_without_softmax")
def no_softmax(queries, keys, values):
    return queries @ keys.mT / keys.shape[-1] ** 0.5 @ values
