"""Answers about heads with two known mistakes at once, which neither name alone describes."""

import torch

from autograder.suite import combination, intended


@combination("split_heads", "cut_without_swapping", "leftover_columns_dropped")
def cut_and_leftover_dropped(x, num_heads):
    batch, tokens, size = x.shape
    head_dim = size // num_heads
    return x[..., : head_dim * num_heads].reshape(batch, num_heads, tokens, head_dim)


@combination(
    "causal_head_attention",
    "not_scaled",
    "mask_without_effect",
    "the_division_by_a_root_is_left_out",
)
def not_scaled_not_masked(queries, keys, values):
    return torch.softmax(queries @ keys.mT, dim=-1) @ values


@intended("split_heads", "no transpose: a view only", "cut_without_swapping")
def view_only(x, num_heads):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError("D")
    return x.reshape(B, num_heads, T, D // num_heads)


@intended("split_heads", "tokens before heads", "heads_left_behind_tokens")
def tokens_first(x, num_heads):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError("D")
    return x.reshape(B, T, num_heads, D // num_heads)


@intended("split_heads", "interleaved columns", "columns_interleaved")
def interleaved_columns(x, num_heads):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError("D")
    return x.reshape(B, T, D // num_heads, num_heads).permute(0, 3, 1, 2)


@intended("split_heads", "an assert", "assertion_in_place_of_error")
def asserts(x, num_heads):
    B, T, D = x.shape
    assert D % num_heads == 0
    return x.reshape(B, T, num_heads, D // num_heads).transpose(1, 2)


@intended("split_heads", "num_heads is taken for the head's size", "number_of_heads_as_head_size")
def number_for_size(x, num_heads):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError("D")
    return x.reshape(B, T, D // num_heads, num_heads).transpose(1, 2)


@intended("merge_heads", "no transpose", "joined_without_swapping")
def no_transpose(x):
    B, H, T, d = x.shape
    return x.reshape(B, T, H * d)


@intended("merge_heads", "the mean of the heads", "heads_averaged")
def mean_of_heads(x):
    return x.mean(1)


@intended("merge_heads", "the sum of the heads", "heads_added")
def sum_of_heads(x):
    return x.sum(1)


@intended("merge_heads", "interleaved columns", "columns_interleaved_again")
def columns_interleaved(x):
    B, H, T, d = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, T, H * d)


@intended("merge_heads", "heads one below the other", "heads_below_each_other")
def heads_below(x):
    return x.reshape(x.shape[0], -1, x.shape[-1])


def _weights(queries, keys, root):
    scores = queries @ keys.mT / root
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), -1)


@intended("causal_head_attention", "no mask", "mask_without_effect")
def mask_left_out(queries, keys, values):
    return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ values


@intended("causal_head_attention", "the root of the model's size", "divided_by_root_of_model_size")
def root_of_model_size(queries, keys, values):
    return _weights(queries, keys, (keys.shape[-1] * keys.shape[1]) ** 0.5) @ values


@intended("causal_head_attention", "no scale", "not_scaled")
def scale_left_out(queries, keys, values):
    return _weights(queries, keys, 1.0) @ values


@intended(
    "causal_head_attention",
    "the root of the number of heads",
    "the_division_is_by_the_root_of_another_number_than_the_one",
)
def root_of_heads(queries, keys, values):
    return _weights(queries, keys, keys.shape[1] ** 0.5) @ values


@intended("causal_head_attention", "heads attend to heads", "causal_attention_between_heads")
def heads_attend_to_heads(queries, keys, values):
    q, k, v = queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
    return (_weights(q, k, k.shape[-1] ** 0.5) @ v).transpose(1, 2)


@intended("causal_head_attention", "softmax over the heads", "softmax_over_heads")
def softmax_over_heads(queries, keys, values):
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -1e9), 1) @ values
