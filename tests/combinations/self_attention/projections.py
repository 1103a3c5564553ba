"""Wrong answers written from the questions alone, each with its intended mistake."""

import torch

from autograder.suite import intended


@intended("project_qkv", "queries, values, keys", "values_in_the_middle")
def queries_values_keys(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_value, inputs @ W_key


@intended("project_qkv", "keys with the queries' weights", "query_weight_for_keys")
def keys_by_query_weights(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_query, inputs @ W_value


@intended("project_qkv", "weights transposed", "weights_transposed")
def weights_transposed(inputs, W_query, W_key, W_value):
    return inputs @ W_query.T, inputs @ W_key.T, inputs @ W_value.T


@intended("project_qkv", "one tensor of all three", "concatenated_in_one_tensor")
def one_tensor(inputs, W_query, W_key, W_value):
    return torch.cat([inputs @ W_query, inputs @ W_key, inputs @ W_value], dim=-1)


@intended("project_qkv", "queries only", "queries_only")
def queries_only(inputs, W_query, W_key, W_value):
    return inputs @ W_query


@intended("project_qkv", "a chain: keys made of queries", "projected_one_after_the_other")
def chain(inputs, W_query, W_key, W_value):
    queries = inputs @ W_query
    keys = queries @ W_key
    return queries, keys, keys @ W_value


@intended("project_qkv_left", "tokens as columns", "result_not_turned_back")
def tokens_as_columns(inputs, W_query, W_key, W_value):
    return W_query @ inputs.mT, W_key @ inputs.mT, W_value @ inputs.mT


@intended("project_qkv_left", "weights as they are", "weights_not_transposed")
def as_they_are(inputs, W_query, W_key, W_value):
    return inputs @ W_query, inputs @ W_key, inputs @ W_value


@intended(
    "project_qkv_left",
    "values with the keys' weights",
    "left_key_weight_for_values",
    "one_thing_takes_the_place_of_another",
)
def values_by_key_weights(inputs, W_query, W_key, W_value):
    return inputs @ W_query.T, inputs @ W_key.T, inputs @ W_key.T


@intended(
    "project_qkv_left",
    "one query for all: summed over the tokens",
    "it_is_right_with_one_token_only",
    "a_sum_runs_over_all_rows_as_well",
)
def summed_over_tokens(inputs, W_query, W_key, W_value):
    total = inputs.sum(-2, keepdim=True)
    return total @ W_query.T, inputs @ W_key.T, inputs @ W_value.T
