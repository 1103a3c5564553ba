"""Causal attention layers with two known mistakes at once, which neither name alone describes."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import combination, intended


class _Layers(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def scores(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError("too many tokens")
        return self.W_query(x) @ self.W_key(x).mT

    def root(self):
        return self.W_key.weight.shape[0] ** 0.5

    def masked(self, scores):
        future = torch.ones_like(scores[0], dtype=torch.bool).triu(1)
        return scores.masked_fill(future, -torch.inf)


@combination(
    "CausalAttention", "not_scaled", "context_dropped", "it_is_right_where_d_out_is_1_only"
)
class not_scaled_and_context_dropped(_Layers):
    def forward(self, x):
        return self.dropout(self.masked(self.scores(x)).softmax(-1) @ self.W_value(x))


@combination(
    "CausalAttention",
    "not_scaled",
    "batch_shares_a_pattern",
    "it_is_right_where_d_out_is_1_only",
)
class not_scaled_and_one_pattern(_Layers):
    def forward(self, x):
        weights = self.masked(self.scores(x)).softmax(-1)
        return weights * self.dropout(torch.ones_like(weights[:1])) @ self.W_value(x)


@combination("CausalAttention", "no_mask", "scores_dropped")
class no_mask_and_scores_dropped(_Layers):
    def forward(self, x):
        return self.dropout(self.scores(x) / self.root()).softmax(-1) @ self.W_value(x)


@combination(
    "CausalAttention",
    "softmax_over_queries",
    "not_scaled",
    "it_is_right_with_one_token_only",
    "softmax_runs_along_another_dimension_than_the_one_asked_for",
    "the_division_by_a_root_is_left_out",
)
class softmax_over_queries_not_scaled(_Layers):
    def forward(self, x):
        weights = self.masked(self.scores(x)).softmax(-2)
        return self.dropout(weights) @ self.W_value(x)


@combination("CausalAttention", "softmax_over_batch", "context_dropped")
class softmax_over_the_batch_and_context_dropped(_Layers):
    def forward(self, x):
        weights = self.masked(self.scores(x) / self.root()).softmax(0).nan_to_num(0.0)
        return self.dropout(weights @ self.W_value(x))


@combination(
    "CausalAttention",
    "always_one_half",
    "drops_in_evaluation",
    "two_equal_calls_give_different_results",
    "two_layers_with_equal_weights_give_different_results",
)
class one_half_always(_Layers):
    def forward(self, x):
        weights = self.masked(self.scores(x) / self.root()).softmax(-1)
        return F.dropout(weights, 0.5 if self.dropout.p else 0.0) @ self.W_value(x)


@combination(
    "CausalAttention",
    "mask_is_plain_attribute",
    "not_scaled",
    "the_division_by_a_root_is_left_out",
    "a_mask_or_table_is_a_plain_attribute_and_stays_behind_when",
)
class plain_mask_not_scaled(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.mask = torch.ones(context_length, context_length).triu(1).bool()

    def forward(self, x):
        length = x.shape[1]
        scores = self.scores(x).masked_fill(self.mask[:length, :length], -torch.inf)
        return self.dropout(scores.softmax(-1)) @ self.W_value(x)


class _Parts(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        if x.shape[1] > self.mask.shape[0]:
            raise ValueError("too many tokens")
        return self.attend(self.W_query(x), self.W_key(x), self.W_value(x), x)

    def hide(self, scores):
        return scores.masked_fill(self.mask[: scores.shape[-1], : scores.shape[-1]], -torch.inf)


@intended("CausalAttention", "no mask", "no_mask")
class mask_left_out(_Parts):
    def attend(self, queries, keys, values, x):
        weights = torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1)
        return self.dropout(weights) @ values


@intended("CausalAttention", "the root of the input size", "root_of_input_size")
class root_of_input_size(_Parts):
    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / x.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ values


@intended(
    "CausalAttention",
    "the root of the context length",
    "root_of_the_context_length",
    "the_division_is_by_the_root_of_another_number_than_the_one",
)
class root_of_context_length(_Parts):
    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / self.mask.shape[0] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ values


@intended("CausalAttention", "the root of the number of tokens", "root_of_length")
class root_of_tokens(_Parts):
    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / x.shape[1] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ values


@intended("CausalAttention", "no scale", "not_scaled")
class scale_left_out(_Parts):
    def attend(self, queries, keys, values, x):
        return self.dropout(torch.softmax(self.hide(queries @ keys.mT), -1)) @ values


@intended("CausalAttention", "dropout is never applied", "dropout_not_used")
class dropout_left_out(_Parts):
    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, -1) @ values


@intended("CausalAttention", "dropout on the scores", "scores_dropped")
class scores_dropped(_Parts):
    def attend(self, queries, keys, values, x):
        scores = self.dropout(queries @ keys.mT / keys.shape[-1] ** 0.5)
        return torch.softmax(self.hide(scores), -1) @ values


@intended("CausalAttention", "dropout on the output", "context_dropped")
class output_dropped(_Parts):
    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, -1) @ values)


@intended("CausalAttention", "W_key used for values", "keys_as_values")
class values_by_keys(_Parts):
    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ keys


@intended("CausalAttention", "masked after softmax", "zeroed_after_softmax")
class masked_after(_Parts):
    def attend(self, queries, keys, values, x):
        weights = torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1)
        mask = self.mask[: x.shape[1], : x.shape[1]]
        return self.dropout(weights.masked_fill(mask, 0.0)) @ values


@intended("CausalAttention", "softmax along dimension 1", "softmax_over_queries")
class softmax_along_one(_Parts):
    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, 1)) @ values


@intended("CausalAttention", "the mask is not cut to the length", "mask_not_cut")
class mask_not_cut(_Parts):
    def hide(self, scores):
        return scores.masked_fill(self.mask, -torch.inf)

    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ values


@intended(
    "CausalAttention",
    "the mask is a parameter",
    "mask_is_trained",
    "there_are_trained_parameters_that_the_question_does_not",
)
class mask_is_a_parameter(_Parts):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        del self.mask
        self.mask = nn.Parameter(torch.full((context_length, context_length), -torch.inf).triu(1))

    def attend(self, queries, keys, values, x):
        length = x.shape[1]
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5 + self.mask[:length, :length]
        return self.dropout(torch.softmax(scores, -1)) @ values


@intended("CausalAttention", "a bias by default", "biased_by_default")
class bias_by_default(_Parts):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=True):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)

    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ values


@intended(
    "CausalAttention",
    "torch's attention with the mask the other way round",
    "allowed_masked",
    "the_mask_is_the_other_way_round",
)
class mask_the_other_way(_Parts):
    def attend(self, queries, keys, values, x):
        mask = self.mask[: x.shape[1], : x.shape[1]]
        rate = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, mask, rate)


@intended(
    "CausalAttention",
    "dropout of one half, whatever is asked for",
    "always_one_half",
    "rate_of_one_half",
)
class half_always(_Parts):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, 0.5, qkv_bias)

    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ values


@intended("CausalAttention", "long input is cut, no error", "too_long_is_cut")
class long_input_cut(_Parts):
    def forward(self, x):
        x = x[:, : self.mask.shape[0]]
        return self.attend(self.W_query(x), self.W_key(x), self.W_value(x), x)

    def attend(self, queries, keys, values, x):
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ values


@intended(
    "CausalAttention",
    "the same pattern in every call",
    "same_pattern_in_every_call",
)
class reseeds(_Parts):
    def attend(self, queries, keys, values, x):
        torch.manual_seed(123)
        scores = self.hide(queries @ keys.mT) / keys.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, -1)) @ values
