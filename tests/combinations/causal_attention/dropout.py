"""Dropout with two known mistakes at once, which neither name alone describes."""

import torch
import torch.nn.functional as F

from autograder.suite import combination, intended


def _plain(x, p, training):
    """Returns the result if p or `training` leave nothing to chance, and None otherwise."""
    if not 0 <= p <= 1:
        raise ValueError(f"p must lie between 0 and 1, got {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return None


@combination("dropout", "kept_as_they_were", "whole_rows")
def rows_kept_as_they_were(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand_like(x[..., :1]) >= p)


@combination("dropout", "kept_as_they_were", "whole_columns")
def columns_kept_as_they_were(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand(x.shape[-1]) >= p)


@combination("dropout", "whole_rows", "whole_columns")
def rows_and_columns(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    q = 1 - (1 - p) ** 0.5
    kept = (torch.rand_like(x[..., :1]) >= q) & (torch.rand(x.shape[-1]) >= q)
    return x * kept / (1 - p)


@combination("dropout", "dropped_are_cut_out", "kept_as_they_were")
def cut_out_as_they_were(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x[torch.rand_like(x) >= p]


@combination("dropout", "dropped_are_cut_out", "p_keeps")
def cut_out_the_others(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x[torch.rand_like(x) < p] / (1 - p)


@combination("dropout", "normal_numbers", "kept_as_they_were", "one_step_is_left_out")
def normal_numbers_as_they_were(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.randn_like(x) >= p)


@combination("dropout", "exact_number_dropped", "kept_as_they_were")
def exact_number_as_they_were(x, p, training=True):
    plain = _plain(x, p, training)
    if plain is not None:
        return plain
    order = torch.rand(x.numel()).argsort().reshape(x.shape)
    return x * (order >= round(p * x.numel()))


@combination("dropout", "cut_off", "always_doubled")
def cut_off_and_doubled(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x.detach() * (torch.rand_like(x) >= p) * 2


@combination("dropout", "noise", "p_keeps")
def noise_times_p(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (1 + torch.randn_like(x) * p)


@combination("dropout", "all_or_nothing", "kept_as_they_were")
def all_or_nothing_as_it_was(x, p, training=True):
    plain = _plain(x, p, training)
    return plain if plain is not None else x * (torch.rand(()) >= p)


@combination("dropout_attention_weights", "context_dropped", "weights_not_scaled")
def context_dropped_as_it_was(weights, values, p, training=True):
    context = weights @ values
    return context * (torch.rand_like(context) >= p) if training else context


@combination("dropout_attention_weights", "context_dropped", "p_keeps_weights")
def context_dropped_the_other_way(weights, values, p, training=True):
    return F.dropout(weights @ values, 1 - p, training and p > 0) if p < 1 else weights @ values * 0


@combination("dropout_attention_weights", "values_dropped", "batch_shares_a_pattern")
def values_dropped_alike(weights, values, p, training=True):
    pattern = F.dropout(torch.ones(values.shape[-2:], dtype=values.dtype), p, training)
    return weights @ (values * pattern)


@combination(
    "dropout_attention_weights",
    "softmax_again",
    "rows_made_to_sum_to_one",
    "softmax_before_dropout",
)
def softmax_twice(weights, values, p, training=True):
    weights = torch.softmax(weights, dim=-1)
    return torch.softmax(F.dropout(weights, p, training), dim=-1) @ values


@combination("dropout_attention_weights", "both_dropped", "weights_not_scaled")
def both_dropped_as_they_were(weights, values, p, training=True):
    if not training:
        return weights @ values
    return (weights * (torch.rand_like(weights) >= p)) @ (values * (torch.rand_like(values) >= p))


@combination("dropout_attention_weights", "dropped_are_no_zeros", "values_dropped")
def values_without_zeros(weights, values, p, training=True):
    return weights @ F.alpha_dropout(values, p, training)


@combination("dropout_attention_weights", "values_not_used", "weights_not_scaled")
def weights_alone_as_they_were(weights, values, p, training=True):
    return weights * (torch.rand_like(weights) >= p) if training else weights


@combination("dropout_attention_weights", "values_not_used", "queries_dropped")
def rows_of_weights_alone(weights, values, p, training=True):
    return weights * F.dropout(torch.ones_like(weights[..., :1]), p, training)


@intended("dropout", "p is the rate that is kept", "p_keeps")
def p_is_kept(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    return x * (torch.rand_like(x) < p) / p


@intended("dropout", "kept entries stay as they are", "kept_as_they_were")
def not_scaled(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    return x * (torch.rand_like(x) >= p)


@intended(
    "dropout",
    "kept entries divided by p",
    "divided_by_p",
    "one_step_is_left_out",
    "a_share_stands_where_what_is_left_of_it_belongs_one_minus",
)
def divided_by_p(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    return x * (torch.rand_like(x) >= p) / p


@intended("dropout", "always training", "training_not_asked")
def always_training(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if p == 1:
        return torch.zeros_like(x)
    return x * (torch.rand_like(x) >= p) / (1 - p)


@intended("dropout", "no error for a p that is no probability", "not_checked")
def no_error(x, p, training=True):
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x * (torch.rand_like(x) >= p) / (1 - p)


@intended("dropout", "nan for p = 1", "not_a_number_at_one", "one_step_is_left_out")
def nan_for_one(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    return x * (torch.rand_like(x) >= p) / (1 - torch.tensor(p, dtype=x.dtype))


@intended(
    "dropout",
    "the same numbers in every call",
    "pattern_kept",
)
def seeded(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    torch.manual_seed(0)
    return x * (torch.rand_like(x) >= p) / (1 - p)


@intended("dropout", "whole rows fall together", "whole_rows")
def rows_fall_together(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x * (torch.rand_like(x[..., :1]) >= p) / (1 - p)


@intended("dropout", "noise, nothing becomes zero")
def noise(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    return x * torch.rand_like(x) / (1 - p)


@intended("dropout_attention_weights", "the output is dropped", "context_dropped")
def output_dropped(weights, values, p, training=True):
    return F.dropout(weights @ values, p, training)


@intended("dropout_attention_weights", "the values are dropped", "values_dropped")
def values_dropped(weights, values, p, training=True):
    return weights @ F.dropout(values, p, training)


@intended(
    "dropout_attention_weights",
    "rows made to sum to one afterwards",
    "rows_are_made_to_sum_to_one_again_after_dropout",
    "kept_weights_sum_to_one",
)
def rows_made_one(weights, values, p, training=True):
    kept = F.dropout(weights, p, training)
    return kept / kept.sum(-1, keepdim=True).clamp(min=1e-9) @ values


@intended("dropout_attention_weights", "training is not handed on", "mode_not_passed_on")
def training_not_handed_on(weights, values, p, training=True):
    return F.dropout(weights, p) @ values


@intended("dropout_attention_weights", "no dropout at all", "no_dropout")
def no_dropout(weights, values, p, training=True):
    return weights @ values
