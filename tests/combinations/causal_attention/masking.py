"""Wrong answers written from the questions alone, and what each of them means to do."""

import torch

from autograder.suite import intended


@intended("causal_mask", "the diagonal is forbidden too")
def diagonal_too(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu().bool()


@intended("causal_mask", "True where it is allowed")
def true_is_allowed(num_tokens):
    return torch.ones(num_tokens, num_tokens).tril().bool()


@intended("causal_mask", "ones and zeros")
def ones_and_zeros(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu(1)


@intended("causal_mask", "minus infinity and zero")
def minus_infinity(num_tokens):
    return torch.full((num_tokens, num_tokens), -torch.inf).triu(1)


@intended("causal_mask", "the past is forbidden")
def past_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens).tril(-1).bool()


@intended("causal_mask", "one token ahead may be seen")
def one_ahead(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu(2).bool()


@intended("mask_and_renormalize", "not renormalized")
def not_renormalized(weights):
    return weights.tril()


@intended("mask_and_renormalize", "softmax to renormalize")
def softmax_to_renormalize(weights):
    return torch.softmax(weights.tril(), -1)


@intended("mask_and_renormalize", "columns sum to one")
def columns_sum_to_one(weights):
    kept = weights.tril()
    return kept / kept.sum(-2, keepdim=True)


@intended("mask_and_renormalize", "divided by the number of tokens that may be seen")
def divided_by_number(weights):
    kept = weights.tril()
    return kept / torch.arange(1, weights.shape[-1] + 1, dtype=weights.dtype).unsqueeze(-1)


@intended("mask_and_renormalize", "divided by the sum before masking")
def sum_before_masking(weights):
    return weights.tril() / weights.sum(-1, keepdim=True)


@intended("mask_and_renormalize", "the mask was forgotten")
def mask_forgotten(weights):
    return weights / weights.sum(-1, keepdim=True)


@intended("mask_scores", "zero for the future")
def zero_for_the_future(scores):
    return scores.tril()


@intended("mask_scores", "minus one for the future")
def minus_one(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -1.0)


@intended("mask_scores", "plus infinity")
def plus_infinity(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, torch.inf)


@intended("mask_scores", "the result of masked_fill is not used")
def result_not_used(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    scores.masked_fill(future, -torch.inf)
    return scores


@intended("mask_scores", "in place")
def in_place(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill_(future, -torch.inf)


@intended("mask_scores", "a mask times minus infinity is added")
def zero_times_infinity(scores):
    return scores + torch.ones(scores.shape[-2:], dtype=scores.dtype).triu(1) * -torch.inf


def _scores(queries, keys):
    return queries @ keys.mT / keys.shape[-1] ** 0.5


def _future(scores):
    return torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)


@intended("causal_attention_weights", "no mask")
def no_mask(queries, keys):
    return torch.softmax(_scores(queries, keys), -1)


@intended("causal_attention_weights", "masked after softmax")
def masked_after_softmax(queries, keys):
    return torch.softmax(_scores(queries, keys), -1).tril()


@intended("causal_attention_weights", "no scale")
def no_scale(queries, keys):
    scores = queries @ keys.mT
    return torch.softmax(scores.masked_fill(_future(scores), -torch.inf), -1)


@intended("causal_attention_weights", "the root of the number of tokens")
def root_of_tokens(queries, keys):
    scores = queries @ keys.mT / keys.shape[-2] ** 0.5
    return torch.softmax(scores.masked_fill(_future(scores), -torch.inf), -1)


@intended("causal_attention_weights", "the mask upside down")
def upside_down(queries, keys):
    scores = _scores(queries, keys)
    return torch.softmax(scores.masked_fill(~_future(scores), -torch.inf), -1)


@intended("causal_attention_weights", "masked scores become minus ten")
def minus_ten(queries, keys):
    scores = _scores(queries, keys)
    return torch.softmax(scores.masked_fill(_future(scores), -10.0), -1)


@intended("causal_attention_weights", "softmax along the queries")
def softmax_along_queries(queries, keys):
    scores = _scores(queries, keys)
    return torch.softmax(scores.masked_fill(_future(scores), -torch.inf), -2)
