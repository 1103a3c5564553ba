"""Answers with two known mistakes at once, which neither name alone describes."""

import torch
from torch import nn

from autograder.suite import combination, intended


@combination(
    "grouped_query_attention",
    "heads_in_turns",
    "not_scaled",
    "it_is_right_where_d_is_1_only",
    "the_division_by_a_root_is_left_out",
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


@intended("GroupedQueryAttention", "a bias by default", "a_bias_by_default")
class biased_by_default(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=True):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError("the heads are not equal")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        width = num_kv_heads * (d_model // num_heads)
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, width, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, width, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        queries, keys, values = (
            layer(x).unflatten(-1, (heads, -1)).transpose(1, 2)
            for layer, heads in (
                (self.W_query, self.num_heads),
                (self.W_key, self.num_kv_heads),
                (self.W_value, self.num_kv_heads),
            )
        )
        context = torch.nn.functional.scaled_dot_product_attention(
            queries, keys, values, is_causal=True, enable_gqa=True
        )
        return self.out_proj(context.transpose(1, 2).flatten(2))
