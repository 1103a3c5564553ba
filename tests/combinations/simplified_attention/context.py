"""Wrong answers written from the questions alone, each with its intended mistake."""

import torch

from autograder.suite import intended


@intended("context_vector", "the mean of the weighted values", "mean_of_weighted_values")
def mean_of_weighted(weights, values):
    return (weights.unsqueeze(-1) * values).mean(0)


@intended("context_vector", "weights made to sum to one first", "weights_made_to_sum_to_one")
def weights_made_one(weights, values):
    return (weights / weights.sum()) @ values


@intended("context_vector", "the value with the largest weight", "value_of_the_largest_weight")
def largest_only(weights, values):
    return values[weights.argmax()]


@intended("context_vector", "weighted values that are not summed", "values_not_added")
def not_summed(weights, values):
    return weights.unsqueeze(-1) * values


@intended("context_vector", "summed over the columns", "tokens_summed_up")
def summed_over_columns(weights, values):
    return (weights.unsqueeze(-1) * values).sum(-1)


@intended("context_vectors", "the weights' columns", "weights_turned")
def columns_of_weights(weights, values):
    return weights.mT @ values


@intended("context_vectors", "the first sample's weights for all", "weights_of_the_first_item")
def first_weights_for_all(weights, values):
    return weights[:1] @ values if weights.dim() > 2 else weights @ values


@intended("context_vectors", "softmax of the weights", "softmax_again")
def softmax_of_weights(weights, values):
    return torch.softmax(weights, -1) @ values


@intended("context_vectors", "two dimensions only", "needs_a_matrix")
def two_dimensions_only(weights, values):
    return torch.mm(weights, values)


@intended("simplified_self_attention", "scaled scores", "scaled_by_the_root_of_d")
def scaled_scores(inputs):
    return torch.softmax(inputs @ inputs.mT / inputs.shape[-1] ** 0.5, -1) @ inputs


@intended("simplified_self_attention", "softmax over the queries", "columns_of_weights_sum_to_one")
def softmax_over_queries(inputs):
    return torch.softmax(inputs @ inputs.mT, -2) @ inputs


@intended("simplified_self_attention", "the input added", "inputs_added")
def input_added(inputs):
    return torch.softmax(inputs @ inputs.mT, -1) @ inputs + inputs


@intended("simplified_self_attention", "no softmax", "softmax_left_out")
def no_softmax(inputs):
    return inputs @ inputs.mT @ inputs


@intended(
    "simplified_self_attention", "softmax along dimension 1 always", "softmax_over_dimension_one"
)
def softmax_along_one(inputs):
    return torch.softmax(inputs @ inputs.mT, 1) @ inputs


@intended("simplified_self_attention", "the weights are returned", "weights_returned")
def weights_returned(inputs):
    return torch.softmax(inputs @ inputs.mT, -1)


@intended("simplified_self_attention", "a causal mask too many", "later_tokens_hidden")
def causal_mask_too_many(inputs):
    scores = inputs @ inputs.mT
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), -1) @ inputs


@intended("simplified_self_attention", "scores divided by their sum", "shares_instead_of_softmax")
def divided_by_sum(inputs):
    scores = inputs @ inputs.mT
    return scores / scores.sum(-1, keepdim=True) @ inputs
