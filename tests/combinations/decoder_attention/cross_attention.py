"""Answers with two known mistakes at once, which neither name alone describes."""

import torch

from autograder.suite import combination


@combination("padding_mask", "real_tokens_marked", "keys_as_rows")
def real_tokens_in_columns(lengths, num_keys):
    return torch.arange(num_keys)[:, None] < lengths


@combination(
    "masked_attention",
    "attends_where_forbidden",
    "not_scaled",
    "the_mask_is_the_other_way_round",
    "the_division_by_a_root_is_left_out",
)
def unscaled_where_forbidden(queries, keys, values, mask):
    scores = (queries @ keys.transpose(-2, -1)).masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ values


@combination(
    "masked_attention", "zeroed_after_softmax", "divided_by_d", "it_is_right_with_one_key_only"
)
def zeroed_and_divided_by_d(queries, keys, values, mask):
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1]
    return torch.softmax(scores, -1).masked_fill(mask, 0.0) @ values
