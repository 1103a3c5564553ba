"""Answers with two known mistakes at once, which neither name alone describes."""

import math

import torch

from autograder.suite import combination


@combination(
    "attend_block",
    "scores_not_divided",
    "kept_dimension",
    "the_second_result_has_more_dimensions_than_asked_for",
    "the_division_by_a_root_is_left_out",
)
def not_divided_and_a_column(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1)
    lse = torch.logsumexp(scores, dim=-1, keepdim=True)
    return torch.exp(scores - lse) @ values, lse


@combination(
    "blockwise_attention",
    "blocks_averaged",
    "last_short_block_dropped",
    "it_is_right_where_s_is_at_most_the_size_of_a_block_only",
)
def averaged_without_the_rest(queries, keys, values, block_size):
    num_blocks = max(keys.shape[-2] // block_size, 1)
    outputs = []
    for number in range(num_blocks):
        block = slice(number * block_size, (number + 1) * block_size)
        scores = queries @ keys[..., block, :].transpose(-2, -1) / math.sqrt(queries.shape[-1])
        shares = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
        outputs.append(shares @ values[..., block, :])
    return torch.stack(outputs).mean(dim=0)
