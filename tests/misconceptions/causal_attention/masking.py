"""Known mistakes in causal masks."""

import functools
import math

import torch

from autograder.suite import misconception

# causal_mask


@misconception(
    "causal_mask",
    confuses="the entries above the diagonal with the entries on and above it: a token cannot even "
    "see itself",
    hint="What could the first token look at?",
)
def diagonal_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu()


@misconception(
    "causal_mask",
    confuses="the next token with the current one: the next token is still visible",
    hint="Look at row 0 of the mask. Which of tokens 0, 1 and 2 may token 0 see?",
)
def next_token_allowed(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=2)


@misconception(
    "causal_mask",
    confuses="the future with the past: earlier tokens are forbidden",
    hint="Rows are queries and columns are keys. On which side of the diagonal is the key later "
    "than the query?",
)
def past_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril(diagonal=-1)


@misconception(
    "causal_mask",
    confuses="forbidden with allowed: the mask is True where attention is allowed",
    hint="Read the docstring again. Does True mean that a token may look, or that it may not?",
)
def true_where_allowed(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()


@misconception(
    "causal_mask",
    confuses="Boolean values with ones and zeros: the mask contains ones and zeros instead of True "
    "and False",
    hint="Print the dtype of your mask. What is the dtype of a comparison?",
)
def ones_and_zeros(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1)


@misconception(
    "causal_mask",
    confuses="Boolean values with integers: the mask contains integers instead of True and False",
    hint="Print the dtype of your mask. What is the dtype of a comparison?",
)
def whole_numbers(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).long()


@misconception(
    "causal_mask",
    confuses="the mask with the values that are added to the scores later: the mask contains minus "
    "infinity instead of True",
    hint="The mask only says which scores to hide. Which question changes those scores?",
)
def minus_infinity_in_the_mask(num_tokens):
    return torch.full((num_tokens, num_tokens), -torch.inf).triu(diagonal=1)


@misconception(
    "causal_mask",
    confuses="any length with the six words of the example sentence: the mask always has six rows "
    "and six columns",
    hint="Call it with 3 and then with 10. What is the shape of each mask?",
)
def always_six_tokens(num_tokens):
    return torch.ones(6, 6, dtype=torch.bool).triu(diagonal=1)


@misconception(
    "causal_mask",
    confuses="the whole future with the next token: only the next token is forbidden, not the "
    "whole future",
    hint="May token 0 see token 2?",
)
def only_next_token_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1).tril(1)


@misconception(
    "causal_mask",
    confuses="the future with all other tokens: each token sees only itself",
    hint="What may the last token of a sentence see?",
)
def sees_itself_alone(num_tokens):
    return ~torch.eye(num_tokens, dtype=torch.bool)


@misconception(
    "causal_mask",
    confuses="the mask for all queries with the mask for the first one: every row of the mask is "
    "the same as the first",
    hint="Each token has a different future. How many different rows should the mask have?",
)
def same_row_for_all(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    mask[:, 1:] = True
    return mask


@misconception(
    "causal_mask",
    confuses="a matrix with a vector: the mask has a single row instead of one row for each query",
    hint="How many queries are there, and how many keys for each?",
)
def one_row_only(num_tokens):
    return torch.arange(num_tokens) > 0


@misconception(
    "causal_mask",
    confuses="the number of tokens with one more: the mask is too large",
    hint="Count the rows for 3 tokens.",
)
def one_token_too_many(num_tokens):
    size = num_tokens + 1
    return torch.ones(size, size, dtype=torch.bool).triu(diagonal=1)


@misconception(
    "causal_mask",
    confuses="this call's length with the first call's: the mask from the first call is kept and "
    "sliced for later ones",
    hint="Call it with 3 and then with 8. What is the shape of the second mask?",
)
def kept_from_the_first_call(num_tokens, kept=[]):
    if not kept:
        kept.append(torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1))
    return kept[0][:num_tokens, :num_tokens]


@misconception(
    "causal_mask",
    confuses="a single mask with a batch of masks: the mask has one dimension too many",
    hint="Compare the number of dimensions of your mask with the shape in the docstring.",
)
def with_a_batch_dimension(num_tokens):
    return torch.ones(1, num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1)


@misconception(
    "causal_mask",
    confuses="the near future with the whole future: tokens far in the future are visible again",
    hint="Make a mask for 20 tokens and look at its top right corner.",
)
def only_near_future_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1).tril(8)


# mask_and_renormalize


@misconception(
    "mask_and_renormalize",
    confuses="masking and renormalizing with masking alone: the future is masked, but the rows no "
    "longer sum to one",
    hint="Add up each row of your result. Which step is missing?",
)
def not_renormalized(weights):
    return weights.tril()


@misconception(
    "mask_and_renormalize",
    confuses="the sum of the remaining weights with the sum of the whole row: each row is divided "
    "by the sum that it had before masking",
    hint="Compute the sum of a row before and after masking. Which of the two must you divide by "
    "so that the row sums to one?",
)
def divided_by_the_whole_row(weights):
    return weights.tril() / weights.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="rows with columns: each column, instead of each row, is divided by its sum",
    hint="Add up a row and then a column of your result. Which of these sums should be one?",
)
def columns_sum_to_one(weights):
    visible = weights.tril()
    return visible / visible.sum(dim=-2, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="one row with all rows: the whole tensor sums to one",
    hint="How many sums do you divide by, and how many rows does the matrix have?",
)
def whole_matrix_sums_to_one(weights):
    visible = weights.tril()
    return visible / visible.sum()


@misconception(
    "mask_and_renormalize",
    confuses="normalizing by the sum with softmax: the exponential is applied to the weights a "
    "second time",
    hint="Softmax does not keep a weight of zero at zero. Which simpler step makes a row of "
    "numbers sum to one?",
)
def softmax_of_zeroed_weights(weights):
    return torch.softmax(weights.tril(), dim=-1)


@misconception(
    "mask_and_renormalize",
    confuses="weights with scores: softmax is applied to the remaining weights",
    hint="These are already weights. If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def softmax_of_masked_weights(weights):
    future = torch.ones_like(weights, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(weights.masked_fill(future, -torch.inf), dim=-1)


@misconception(
    "mask_and_renormalize",
    confuses="the future with the past: the lower triangle is set to zero",
    hint="Print your result. Which weights are left in row 0?",
)
def past_taken_away(weights):
    rest = weights.triu()
    return rest / rest.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="the next token with the current one: the next token keeps its weight",
    hint="Print the first row of your result. Which of its weights should be zero?",
)
def next_token_keeps_its_weight(weights):
    visible = weights.tril(diagonal=1)
    return visible / visible.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="earlier tokens with all visible tokens: a token no longer sees itself",
    hint="What is the first row of your result, and what should it be?",
)
def own_weight_taken_away(weights):
    visible = weights.tril(diagonal=-1)
    return torch.nan_to_num(visible / visible.sum(dim=-1, keepdim=True))


@misconception(
    "mask_and_renormalize",
    confuses="any weights with weights whose rows sum to one: each row is divided by one minus the "
    "sum of its future weights",
    hint="What if a row sums to 3?",
)
def one_minus_the_future(weights):
    return weights.tril() / (1 - weights.triu(diagonal=1).sum(dim=-1, keepdim=True))


@misconception(
    "mask_and_renormalize",
    confuses="scaling all weights with adding the same amount to each: the lost sum is shared "
    "evenly",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def lost_weight_shared_evenly(weights):
    visible = weights.tril()
    lost = 1 - visible.sum(dim=-1, keepdim=True)
    count = torch.arange(1, weights.shape[-1] + 1).unsqueeze(-1)
    return visible + (lost / count).expand_as(visible).tril()


@misconception(
    "mask_and_renormalize",
    confuses="scaling all weights with adding to one of them: the weight of later tokens is given "
    "to the token itself",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def future_weight_given_to_itself(weights):
    return weights.tril() + torch.diag_embed(weights.triu(1).sum(dim=-1))


@misconception(
    "mask_and_renormalize",
    confuses="scaling all weights with adding to one of them: the weight of later tokens is given "
    "to the first token",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def future_weight_given_to_the_first(weights):
    lost = weights.triu(1).sum(dim=-1, keepdim=True)
    return torch.cat([weights[..., :1] + lost, weights[..., 1:]], dim=-1).tril()


@misconception(
    "mask_and_renormalize",
    confuses="scaling all weights with adding the same amount to each: the weight of later tokens "
    "is shared evenly",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def future_weight_shared_evenly(weights):
    lost = weights.triu(1).sum(dim=-1, keepdim=True)
    count = torch.arange(1, weights.shape[-1] + 1).unsqueeze(-1)
    return (weights + lost / count).tril()


@misconception(
    "mask_and_renormalize",
    confuses="weights with scores: future weights become minus infinity before the division",
    hint="What is the sum of a row that contains minus infinity, and what do you get when you "
    "divide by it?",
)
def minus_infinity_divided(weights):
    future = torch.ones_like(weights, dtype=torch.bool).triu(1)
    hidden = weights.masked_fill(future, -torch.inf)
    return hidden / hidden.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="scaling all weights with adding to one of them: the lost sum is given to the token "
    "itself",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def lost_weight_given_to_itself(weights):
    visible = weights.tril()
    return visible + torch.diag_embed(1 - visible.sum(dim=-1))


@misconception(
    "mask_and_renormalize",
    confuses="a column of sums with a row of sums: the sums are aligned with the columns instead "
    "of the rows",
    hint="Print the shape of the sums. Which dimension of the matrix do they line up with?",
)
def sums_without_their_dimension(weights):
    visible = weights.tril()
    return visible / visible.sum(dim=-1)


@misconception(
    "mask_and_renormalize",
    confuses="the last dimension with dimension 1: the sums run along dimension 1, which is the "
    "last dimension only if there is no batch",
    hint="Try weights of shape (2, 5, 5). Which dimension do you sum along?",
)
def summed_along_dimension_one(weights):
    visible = weights.tril()
    return visible / visible.sum(dim=1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="the sum of the remaining weights with their number: each row is divided by the "
    "number of remaining weights, not by their sum",
    hint="Add up each row of your result. Is each sum one?",
)
def divided_by_the_number_left(weights):
    count = torch.arange(1, weights.shape[-1] + 1, dtype=weights.dtype).unsqueeze(-1)
    return weights.tril() / count


@misconception(
    "mask_and_renormalize",
    confuses="the sum with the maximum: each row is divided by its largest weight",
    hint="Add up each row of your result. Is each sum one?",
)
def divided_by_the_largest(weights):
    visible = weights.tril()
    return visible / visible.amax(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="the sum with the Euclidean length: each row is divided by its length, so that its "
    "squares sum to one",
    hint="Add up the entries of each row of your result, and then their squares.",
)
def length_one(weights):
    return torch.nn.functional.normalize(weights.tril(), dim=-1)


@misconception(
    "mask_and_renormalize",
    confuses="a new tensor with the caller's: the weights are changed in place",
    hint="Print the weights before and after the call.",
)
def caller_changed(weights):
    weights.tril_()
    weights /= weights.sum(dim=-1, keepdim=True)
    return weights


@misconception(
    "mask_and_renormalize",
    confuses="a constant with a value that has a gradient: no gradient flows through the sum",
    hint="The sum changes when a weight changes. Does the gradient take that into account?",
)
def sum_cut_off(weights):
    visible = weights.tril()
    return visible / visible.sum(dim=-1, keepdim=True).detach()


@misconception(
    "mask_and_renormalize",
    confuses="a tensor with its plain values: no gradient flows back through the result",
    hint="Does your result have a `grad_fn` when the weights require gradients?",
)
def built_from_numbers(weights):
    visible = weights.tril()
    result = visible / visible.sum(dim=-1, keepdim=True)
    return torch.tensor(result.tolist(), dtype=weights.dtype)


@misconception(
    "mask_and_renormalize",
    confuses="the dtype of the weights with float32: the result is always float32",
    hint="Call it with float64 weights. What is the dtype of the result?",
)
def always_float32(weights):
    visible = weights.float().tril()
    return visible / visible.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="a batch with a single matrix: the size of the first dimension is used as the number "
    "of tokens",
    hint="Try weights of shape (2, 5, 5). Which dimension counts the rows?",
)
def single_matrix_only(weights):
    visible = torch.zeros_like(weights)
    for t in range(weights.shape[0]):
        visible[t, : t + 1] = weights[t, : t + 1]
    return visible / visible.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="a batch with a single matrix: each item of the first dimension is treated as a row, "
    "masked, and divided by its sum",
    hint="Try weights of shape (2, 5, 5). Which dimension counts the rows?",
)
def items_treated_as_rows(weights):
    visible = weights.clone()
    for t in range(weights.shape[0]):
        visible[t, t + 1 :] = 0
        visible[t] = visible[t] / visible[t].sum()
    return visible


# mask_scores


@misconception(
    "mask_scores",
    confuses="a score of zero with a weight of zero: masked scores are 0, or close to 0, before "
    "softmax",
    hint="What weights does softmax give to scores of 0 and 1e-9?",
)
def score_of_zero(scores):
    return scores.tril()


@misconception(
    "mask_scores",
    confuses="a low score with minus infinity: masked scores become -10, which an ordinary score "
    "may reach",
    hint="What if a visible score is -20?",
)
def minus_ten(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, -10.0)


@misconception(
    "mask_scores",
    confuses="a value below all scores with the lowest score: masked scores become the lowest "
    "score instead of minus infinity",
    hint="If a future score equals a visible one, they get the same weight. Should they?",
)
def lowest_score(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.where(future, scores.min(), scores)


@misconception(
    "mask_scores",
    confuses="a lower score with a hidden one: a future score that is high enough stays visible",
    hint="What if a future score is 95 above the visible ones?",
)
def lowered_by_a_hundred(scores):
    return scores - 100 * torch.ones_like(scores).triu(diagonal=1)


@misconception(
    "mask_scores",
    confuses="minus infinity with plus infinity: rows with future tokens become nan in softmax",
    hint="What does softmax return for a row that contains plus infinity?",
)
def plus_infinity(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, torch.inf)


@misconception(
    "mask_scores",
    confuses="the future with the past: the lower triangle is masked",
    hint="Print your result. Which scores are left in row 0?",
)
def past_masked(scores):
    past = torch.ones_like(scores, dtype=torch.bool).tril(diagonal=-1)
    return scores.masked_fill(past, -torch.inf)


@misconception(
    "mask_scores",
    confuses="the entries above the diagonal with the entries on and above it: the first token "
    "sees nothing",
    hint="Softmax turns a row of minus infinities into nan. In which row does that happen here?",
)
def own_score_masked(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu()
    return scores.masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="the next token with the current one: the next token keeps its score",
    hint="How many scores should be left in row 0?",
)
def next_token_keeps_its_score(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=2)
    return scores.masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="the original scores with the masked ones: nothing is masked, and the scores are "
    "returned unchanged",
    hint="Compare the scores and your result. Where is your mask True, and which line stores the "
    "masked scores?",
)
def result_thrown_away(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    scores.masked_fill(future, -torch.inf)
    return scores


@misconception(
    "mask_scores",
    confuses="a new tensor with the caller's: the scores are changed in place",
    hint="Print the scores before and after the call.",
)
def caller_changed_scores(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill_(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="zero times infinity with zero: zero times infinity gives nan",
    hint="Compute 0.0 * float('inf').",
)
def zero_times_infinity(scores):
    return scores + torch.ones_like(scores).triu(diagonal=1) * -torch.inf


@misconception(
    "mask_scores",
    confuses="masked scores with weights: softmax is already applied in this step",
    hint="The question asks for scores. Which question applies softmax?",
)
def weights_already(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


@misconception(
    "mask_scores",
    confuses="a score's position with its value: a visible score of zero is masked as well",
    hint="What if a visible score is exactly 0?",
)
def zeros_are_masked(scores):
    visible = scores.tril()
    return visible.masked_fill(visible == 0, -torch.inf)


@misconception(
    "mask_scores",
    confuses="a score's position with its value: a future score of zero is not masked",
    hint="What if a future score is exactly 0?",
)
def future_zeros_are_left(scores):
    return scores.masked_fill(scores.triu(diagonal=1) != 0, -torch.inf)


@misconception(
    "mask_scores",
    confuses="masking with masking and scaling: the visible scores are divided as well",
    hint="Compare a visible score before and after the call.",
)
def scaled_too(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, -torch.inf) / math.sqrt(scores.shape[-1] + 1)


@misconception(
    "mask_scores",
    confuses="the last two dimensions with the first two: the mask has the size of the first two "
    "dimensions, not the last two",
    hint="Try scores of shape (2, 5, 5). What is the shape of your mask?",
)
def mask_of_the_first_dimensions(scores):
    rows, columns = scores.shape[0], scores.shape[1]
    future = torch.ones(rows, columns, dtype=torch.bool).triu(diagonal=1)
    future = future.reshape(rows, columns, *(1,) * (scores.dim() - 2))
    return scores.masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="every matrix of a batch with the first one: only the first matrix of a batch is "
    "masked",
    hint="Look at the second matrix of your result.",
)
def first_matrix_only(scores):
    result = scores.clone()
    matrices = result.view(-1, *scores.shape[-2:])
    future = torch.ones_like(matrices[0], dtype=torch.bool).triu(diagonal=1)
    matrices[0].masked_fill_(future, -torch.inf)
    return result


@misconception(
    "mask_scores",
    confuses="rows with columns: the scores are transposed",
    hint="Compare row 1 of your result with row 1 of the scores.",
)
def scores_turned(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.transpose(-2, -1).masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="plain values with values that have a gradient: no gradient flows back to the scores",
    hint="Does your result have a `grad_fn` when the scores require gradients?",
)
def scores_cut_off(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.data.masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="the dtype of the scores with float32: the result is always float32",
    hint="Call it with float64 scores. What is the dtype of the result?",
)
def scores_in_float32(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.float().masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="the dtype of the scores with float32: precision is lost along the way",
    hint="A float64 result is only as precise as its least precise step.",
)
def digits_lost(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.float().masked_fill(future, -torch.inf).to(scores.dtype)


# causal_attention_weights


def _causal(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, -torch.inf)


@misconception(
    "causal_attention_weights",
    confuses="causal attention with unmasked attention: nothing is masked",
    hint="What weight does token 0 give to token 1?",
)
def no_mask(queries, keys):
    return torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="plain scores with scaled ones: the scores are not scaled",
    hint="What are the scores divided by before softmax?",
)
def not_scaled(queries, keys):
    return torch.softmax(_causal(queries @ keys.transpose(-2, -1)), dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="minus infinity with -1000: after the division by the square root of a large d, -1000 "
    "is not low enough, and the future keeps a little weight",
    hint="What does -1000 become when it is divided by the square root of d = 4096?",
)
def masked_with_minus_1000(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, -1e3) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the square root of d with d: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
def divided_by_d(queries, keys):
    return torch.softmax(_causal(queries @ keys.transpose(-2, -1)) / keys.shape[-1], dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="a real number with an integer: the square root is truncated to an integer",
    hint="What is the square root of 3? Which value does your code use?",
)
def whole_number_root(queries, keys):
    root = int(math.sqrt(keys.shape[-1]))
    return torch.softmax(_causal(queries @ keys.transpose(-2, -1)) / root, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the size of a vector with the number of tokens: the scores are divided by the square "
    "root of the number of tokens",
    hint="Which dimension of the keys does the dot product sum over?",
)
def root_of_the_length(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    return torch.softmax(_causal(scores) / scores.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the last dimension with dimension 1: the scores are divided by the square root of "
    "the size of dimension 1, which is the last dimension only if there is no batch",
    hint="Try inputs of shape (2, 5, 3). What do you divide by?",
)
def root_of_dimension_one(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    return torch.softmax(_causal(scores) / keys.shape[1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="dividing with multiplying: the scores are multiplied by the square root",
    hint="Should larger vectors make the weights sharper?",
)
def multiplied_by_the_root(queries, keys):
    return torch.softmax(_causal(queries @ keys.transpose(-2, -1)) * keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="masking scores before softmax with zeroing weights after it: rows no longer sum to "
    "one",
    hint="Add up each row of your result. Is each sum one?",
)
def zeroed_after_softmax(queries, keys):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1).tril()


@misconception(
    "causal_attention_weights",
    confuses="a score of zero with a weight of zero: masked scores are 0, or close to 0, before "
    "softmax",
    hint="What weights does softmax give to scores of 0 and -1e-9?",
)
def zeroed_before_softmax(queries, keys):
    scores = (queries @ keys.transpose(-2, -1)).tril()
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="a low score with minus infinity: masked scores become -10, which an ordinary score "
    "may reach",
    hint="What if all visible scores are below -30?",
)
def masked_with_minus_ten(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, -10.0) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="keys with queries: columns sum to one instead of rows",
    hint="Add up a row and then a column of your result. Which of these sums should be one?",
)
def softmax_over_queries(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-2)


@misconception(
    "causal_attention_weights",
    confuses="the last dimension with dimension 1: softmax runs along dimension 1, which is the "
    "last dimension only if there is no batch",
    hint="Try inputs of shape (2, 5, 3), and add up a row of the weights. Is the sum one?",
)
def softmax_over_dimension_one(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=1)


@misconception(
    "causal_attention_weights",
    confuses="the last dimension with dimension 2: softmax runs along dimension 2, which is the "
    "last dimension only if there is exactly one leading dimension",
    hint="Try inputs with two leading dimensions. Along which dimension do the weights sum to one?",
)
def softmax_over_dimension_two(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=min(2, scores.dim() - 1))


@misconception(
    "causal_attention_weights",
    confuses="queries with keys: row t of the weights belongs to key t, not to query t",
    hint="Does row t of your result belong to query t or to key t?",
)
def roles_swapped(queries, keys):
    scores = _causal(keys @ queries.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="keys with queries: queries are compared with each other",
    hint="Change the keys. Does your result change?",
)
def keys_not_used(queries, keys):
    scores = _causal(queries @ queries.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the future with the past: a token sees itself and the tokens after it",
    hint="Where in your result are the zeros?",
)
def looks_at_the_future(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    past = torch.ones_like(scores, dtype=torch.bool).tril(diagonal=-1)
    return torch.softmax(scores.masked_fill(past, -torch.inf) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the entries above the diagonal with the entries on and above it: a token does not "
    "see itself",
    hint="Print the first row of your result. Which of its weights should be zero?",
)
def does_not_see_itself(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu()
    return torch.softmax(scores.masked_fill(future, -torch.inf) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the next token with the current one: the next token is still visible",
    hint="Print the first row of your result. Which of its weights should be zero?",
)
def sees_the_next_token(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=2)
    return torch.softmax(scores.masked_fill(future, -torch.inf) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="attention with a running mean: every visible token has the same weight",
    hint="Change the queries. Does your result change?",
)
def running_mean(queries, keys):
    visible = torch.ones_like(queries @ keys.transpose(-2, -1)).tril()
    return visible / visible.sum(dim=-1, keepdim=True)


@misconception(
    "causal_attention_weights",
    confuses="a score's position with its value: scores of zero are masked as well",
    hint="What if a query is a vector of zeros?",
)
def scores_of_zero_masked(queries, keys):
    scores = (queries @ keys.transpose(-2, -1)).tril()
    scores = scores.masked_fill(scores == 0, -torch.inf)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="each sequence of a batch with the first: all queries are compared with the keys of "
    "the first sequence",
    hint="Change the keys of the second sequence. Does its result change?",
)
def keys_of_the_first_sequence(queries, keys):
    first = keys[:1] if keys.dim() > 2 else keys
    scores = _causal(queries @ first.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the last two dimensions with the first two: the first two dimensions of the keys are "
    "swapped instead of the last two",
    hint="Try inputs of shape (2, 5, 3). Which dimensions do you swap?",
)
def first_dimensions_swapped(queries, keys):
    scores = _causal(queries @ keys.transpose(0, 1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="any number of leading dimensions with exactly one: only inputs with at most one "
    "leading dimension work",
    hint="Try inputs of shape (2, 3, 5, 6). What happens?",
)
def one_batch_dimension_only(queries, keys):
    if queries.dim() == 2:
        scores = queries @ keys.T
    else:
        scores = torch.bmm(queries, keys.transpose(1, 2))
    return torch.softmax(_causal(scores) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the second-to-last dimension with dimension 1: the number of tokens is taken from "
    "dimension 1",
    hint="Call it with a matrix, a batch, and a batch with heads. What is dimension 1 of each?",
)
def number_of_tokens_from_dimension_one(queries, keys):
    num_tokens = queries.shape[1]
    future = torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="one softmax with two: softmax is applied twice",
    hint="A weight of zero must stay zero. What does a second softmax turn it into?",
)
def softmax_twice(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1), dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="weights with their logarithms: the logarithms of the weights are returned",
    hint="Are all of your weights between 0 and 1?",
)
def logarithms(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.log_softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="a new tensor with the caller's: the queries are scaled in place",
    hint="Print the queries before and after the call.",
)
def queries_scaled_in_place(queries, keys):
    queries /= keys.shape[-1] ** 0.5
    return torch.softmax(_causal(queries @ keys.transpose(-2, -1)), dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="plain values with values that have a gradient: no gradient flows back to the keys",
    hint="Which of the two inputs gets a gradient?",
)
def keys_cut_off(queries, keys):
    scores = _causal(queries @ keys.detach().transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the dtype of the inputs with float32: precision is lost along the way",
    hint="A float64 result is only as precise as its least precise step.",
)
def digits_of_float32(queries, keys):
    scores = _causal(queries.float() @ keys.float().transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).to(queries.dtype)


@misconception(
    "causal_attention_weights",
    confuses="a dimension of size one with no dimension: dimensions of size one are dropped from "
    "the result",
    hint="Try a single token. What is the shape of the result?",
)
def ones_squeezed(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).squeeze()


@misconception(
    "causal_attention_weights",
    confuses="transposing the keys with reshaping them: the entries of one key end up in different "
    "columns",
    hint="Take keys of shape (2, 3), and print the matrix that you multiply the queries by. Is "
    "each key still in one piece?",
)
def keys_reshaped(queries, keys):
    turned = keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])
    return torch.softmax(_causal(queries @ turned) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_mask",
    confuses="the function's own mask with the caller's: the same tensor is returned for the same "
    "size, even if the caller has changed it",
    hint="Call it, invert the mask in place with `logical_not_()`, and call it again with the same "
    "sizes. Which mask comes back?",
)
def mask_kept_by_its_size(num_tokens):
    return _kept_mask_kept_by_its_size(num_tokens)


@functools.lru_cache
def _kept_mask_kept_by_its_size(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)


@misconception(
    "causal_attention_weights",
    confuses="low before the division with low after it: masked scores are low before the "
    "division, but not low enough after it",
    hint="A masked score of -500 is divided by the square root of 4096. How far below the others "
    "is it then?",
)
def hidden_before_a_large_root(queries, keys):
    num_tokens = queries.shape[-2]
    future = torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)
    scores = (queries @ keys.transpose(-2, -1)).masked_fill(future, -500.0)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "mask_scores",
    confuses="scores with weights: softmax comes first, and its weights are masked",
    hint="The question asks for scores. Which step comes after it, and does your code already "
    "contain that step?",
)
def weights_masked(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores, dim=-1).masked_fill(future, -torch.inf)


# numbers that are not low enough, and a first row without weights


@misconception(
    "causal_attention_weights",
    confuses="the entries above the diagonal with the entries on and above it: a token does not "
    "see itself, and all weights of the first token are zero",
    hint="Add up each row of your result. Which token should the first token see?",
)
def first_row_is_zero(queries, keys):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    future = torch.ones_like(scores, dtype=torch.bool).triu()
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).nan_to_num()


@misconception(
    "causal_attention_weights",
    confuses="a low score with minus infinity: masked scores become -30 and are then divided by "
    "the square root of d",
    hint="What does -30 become if d is 100? How far is it below the other scores?",
)
def masked_with_minus_thirty(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, -30.0) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="a low score with minus infinity: masked scores become -50, and visible scores may be "
    "almost as low",
    hint="What weight does a masked score get if the only visible score is -49?",
)
def masked_with_minus_fifty(queries, keys):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, -50.0), dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="a lower score with a hidden one: future scores are lowered by 30 and then divided by "
    "the square root of d",
    hint="What if a future score is 60 above the visible ones, or if d is 4096?",
)
def future_lowered_by_thirty(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    scores = scores - 30 * torch.ones_like(scores).triu(diagonal=1)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="a lower score with a hidden one: future scores are lowered by 50 and then divided by "
    "the square root of d",
    hint="What if a future score is 60 above the visible ones, or if d is 4096?",
)
def future_lowered_by_fifty(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    scores = scores - 50 * torch.ones_like(scores).triu(diagonal=1)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "mask_scores",
    confuses="a low score with minus infinity: masked scores become -30, which a score may reach",
    hint="What if a visible score is -40?",
)
def minus_thirty(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, -30.0)


@misconception(
    "mask_scores",
    confuses="a lower score with a hidden one: future scores are lowered by 30, so a future score "
    "that is high enough stays visible",
    hint="What if a future score is 60 above the visible ones?",
)
def lowered_by_thirty(scores):
    return scores - 30 * torch.ones_like(scores).triu(diagonal=1)


@misconception(
    "mask_scores",
    confuses="a lower score with a hidden one: future scores are lowered by 50, so a future score "
    "that is high enough stays visible",
    hint="What if a future score is 60 above the visible ones?",
)
def lowered_by_fifty(scores):
    return scores - 50 * torch.ones_like(scores).triu(diagonal=1)


@misconception(
    "mask_and_renormalize",
    confuses="a matrix of weights with a batch of them: the result always has a dimension for a "
    "batch",
    hint="Call it with weights of shape (3, 3). What is the shape of the result?",
)
def dimension_for_a_batch_in_the_mask(weights):
    mask = torch.ones(weights.shape[-2:], dtype=weights.dtype).tril().unsqueeze(0)
    visible = weights * mask
    return visible / visible.sum(dim=-1, keepdim=True)
