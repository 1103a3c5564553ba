"""Wrong answers written from the questions alone, each with its intended mistake."""

import torch

from autograder.suite import intended


@intended("causal_mask", "the diagonal is forbidden too", "diagonal_forbidden")
def diagonal_too(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu().bool()


@intended("causal_mask", "True where it is allowed", "true_where_allowed")
def true_is_allowed(num_tokens):
    return torch.ones(num_tokens, num_tokens).tril().bool()


@intended("causal_mask", "ones and zeros", "ones_and_zeros")
def ones_and_zeros(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu(1)


@intended("causal_mask", "minus infinity and zero", "minus_infinity_in_the_mask")
def minus_infinity(num_tokens):
    return torch.full((num_tokens, num_tokens), -torch.inf).triu(1)


@intended("causal_mask", "the past is forbidden", "past_forbidden")
def past_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens).tril(-1).bool()


@intended("causal_mask", "one token ahead may be seen", "next_token_allowed")
def one_ahead(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu(2).bool()


@intended("mask_and_renormalize", "not renormalized", "not_renormalized")
def not_renormalized(weights):
    return weights.tril()


@intended("mask_and_renormalize", "softmax to renormalize", "softmax_of_zeroed_weights")
def softmax_to_renormalize(weights):
    return torch.softmax(weights.tril(), -1)


@intended("mask_and_renormalize", "columns sum to one", "columns_sum_to_one")
def columns_sum_to_one(weights):
    kept = weights.tril()
    return kept / kept.sum(-2, keepdim=True)


@intended(
    "mask_and_renormalize",
    "divided by the number of tokens that may be seen",
    "divided_by_the_number_left",
)
def divided_by_number(weights):
    kept = weights.tril()
    return kept / torch.arange(1, weights.shape[-1] + 1, dtype=weights.dtype).unsqueeze(-1)


@intended("mask_and_renormalize", "divided by the sum before masking", "divided_by_the_whole_row")
def sum_before_masking(weights):
    return weights.tril() / weights.sum(-1, keepdim=True)


@intended("mask_and_renormalize", "the mask was forgotten", "one_step_is_left_out")
def mask_forgotten(weights):
    return weights / weights.sum(-1, keepdim=True)


@intended("mask_scores", "zero for the future", "score_of_zero")
def zero_for_the_future(scores):
    return scores.tril()


@intended(
    "mask_scores",
    "minus one for the future",
    "masked_scores_are_not_made_minus_infinity_and_can_keep",
)
def minus_one(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -1.0)


@intended("mask_scores", "plus infinity", "plus_infinity")
def plus_infinity(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, torch.inf)


@intended("mask_scores", "the result of masked_fill is not used", "result_thrown_away")
def result_not_used(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    scores.masked_fill(future, -torch.inf)
    return scores


@intended("mask_scores", "in place", "caller_changed_scores")
def in_place(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill_(future, -torch.inf)


@intended("mask_scores", "a mask times minus infinity is added", "zero_times_infinity")
def zero_times_infinity(scores):
    return scores + torch.ones(scores.shape[-2:], dtype=scores.dtype).triu(1) * -torch.inf


def _scores(queries, keys):
    return queries @ keys.mT / keys.shape[-1] ** 0.5


def _future(scores):
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)


@intended("causal_attention_weights", "no mask", "no_mask")
def no_mask(queries, keys):
    return torch.softmax(_scores(queries, keys), -1)


@intended("causal_attention_weights", "masked after softmax", "zeroed_after_softmax")
def masked_after_softmax(queries, keys):
    return torch.softmax(_scores(queries, keys), -1).tril()


@intended("causal_attention_weights", "no scale", "not_scaled")
def no_scale(queries, keys):
    scores = queries @ keys.mT
    return torch.softmax(scores.masked_fill(_future(scores), -torch.inf), -1)


@intended("causal_attention_weights", "the root of the number of tokens", "root_of_the_length")
def root_of_tokens(queries, keys):
    scores = queries @ keys.mT / keys.shape[-2] ** 0.5
    return torch.softmax(scores.masked_fill(_future(scores), -torch.inf), -1)


@intended("causal_attention_weights", "the mask upside down", "the_mask_is_the_other_way_round")
def upside_down(queries, keys):
    scores = _scores(queries, keys)
    return torch.softmax(scores.masked_fill(~_future(scores), -torch.inf), -1)


@intended(
    "causal_attention_weights",
    "masked scores become minus ten",
    "it_is_right_with_one_token_only",
    "large_numbers_are_cut_off",  # as if minus infinity were clamped to minus ten
)
def minus_ten(queries, keys):
    scores = _scores(queries, keys)
    return torch.softmax(scores.masked_fill(_future(scores), -10.0), -1)


@intended("causal_attention_weights", "softmax along the queries", "softmax_over_queries")
def softmax_along_queries(queries, keys):
    scores = _scores(queries, keys)
    return torch.softmax(scores.masked_fill(_future(scores), -torch.inf), -2)
