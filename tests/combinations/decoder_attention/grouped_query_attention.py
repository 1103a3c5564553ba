"""Two known mistakes at once: neither's name fits."""

import torch

from autograder.suite import combination


@combination(
    "grouped_query_attention", "heads_in_turns", "not_scaled", "it_is_right_where_d_is_1_only"
)
def unscaled_in_turns(queries, keys, values):
    if queries.shape[1] % keys.shape[1] != 0:
        raise ValueError("the groups are not equal")
    group = queries.shape[1] // keys.shape[1]
    scores = queries @ keys.repeat(1, group, 1, 1).transpose(-2, -1)
    return torch.softmax(scores, -1) @ values.repeat(1, group, 1, 1)


@combination(
    "grouped_query_attention",
    "no_check_of_the_groups",
    "softmax_over_queries",
    "softmax_runs_along_another_dimension_than_the_one_asked_for",
    "a_check_is_left_out_the_error_that_is_asked_for_does_not",
)
def unchecked_softmax_over_queries(queries, keys, values):
    group = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(group, 1), values.repeat_interleave(group, 1)
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5
    return torch.softmax(scores, -2) @ values
