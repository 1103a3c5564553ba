"""Known mistakes in causal masks."""

import functools
import math

import torch

from autograder.suite import misconception

# causal_mask


@misconception(
    "causal_mask",
    confuses="above the diagonal with the diagonal and above: a token cannot even see itself",
    hint="What would the first token look at?",
)
def diagonal_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu()


@misconception(
    "causal_mask",
    confuses="where the future begins: the next token is still seen",
    hint="Row 0 of the mask: which of the tokens 0, 1, 2 may token 0 see?",
)
def next_token_allowed(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=2)


@misconception(
    "causal_mask",
    confuses="future with past: earlier tokens are forbidden",
    hint="Rows are queries, columns are keys. On which side of the diagonal is the key later?",
)
def past_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril(diagonal=-1)


@misconception(
    "causal_mask",
    confuses="forbidden with allowed: the mask is True where attention is allowed",
    hint="Read the docstring again: does True mean look, or do not look?",
)
def true_where_allowed(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()


@misconception(
    "causal_mask",
    confuses="a mask of truth values with a matrix of the numbers one and zero: the mask contains "
    "ones and zeros instead of True and False",
    hint="Print the dtype of your mask. Which dtype do conditions have?",
)
def ones_and_zeros(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1)


@misconception(
    "causal_mask",
    confuses="truth values with whole numbers: the mask contains whole numbers instead of True and "
    "False",
    hint="Print the dtype of your mask. Which dtype do conditions have?",
)
def whole_numbers(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).long()


@misconception(
    "causal_mask",
    confuses="the mask with what is added to the scores later: the mask contains minus infinity "
    "instead of True",
    hint="The mask only says where. Which question changes the scores there?",
)
def minus_infinity_in_the_mask(num_tokens):
    return torch.full((num_tokens, num_tokens), -torch.inf).triu(diagonal=1)


@misconception(
    "causal_mask",
    confuses="any length with the six words of the example sentence: the mask always has six rows "
    "and six columns",
    hint="Call it with 3 and with 10: what is the shape?",
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
    confuses="the future with everything else: each token sees itself alone",
    hint="What may the last token of a sentence see?",
)
def sees_itself_alone(num_tokens):
    return ~torch.eye(num_tokens, dtype=torch.bool)


@misconception(
    "causal_mask",
    confuses="a mask for all queries with the mask of the first one: every row of the mask is like "
    "the first one",
    hint="Each token has a different future: how many rows must differ?",
)
def same_row_for_all(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    mask[:, 1:] = True
    return mask


@misconception(
    "causal_mask",
    confuses="a table with a list: the mask has one row instead of one for each query",
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
    confuses="this call's length with the first call's: the mask of the first call is kept, and "
    "cut for later ones",
    hint="Call it with 3, then with 8: what is the second shape?",
)
def kept_from_the_first_call(num_tokens, kept=[]):
    if not kept:
        kept.append(torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1))
    return kept[0][:num_tokens, :num_tokens]


@misconception(
    "causal_mask",
    confuses="the mask with one for a batch: the mask has one dimension too many",
    hint="Compare the number of dimensions with the docstring.",
)
def with_a_batch_dimension(num_tokens):
    return torch.ones(1, num_tokens, num_tokens, dtype=torch.bool).triu(diagonal=1)


@misconception(
    "causal_mask",
    confuses="a distance with the whole future: far tokens are seen again",
    hint="Ask for 20 tokens and look at the top right corner.",
)
def only_near_future_forbidden(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1).tril(8)


# mask_and_renormalize


@misconception(
    "mask_and_renormalize",
    confuses="masking the future with masking and normalizing: the future is masked, but the rows "
    "no longer sum to one",
    hint="What is the last step? Add up each row of your result.",
)
def not_renormalized(weights):
    return weights.tril()


@misconception(
    "mask_and_renormalize",
    confuses="the sum of what is left with the sum of the whole row: each row is divided by its "
    "sum before masking",
    hint="Take the row's sum before and after masking: which of them makes the row sum to one?",
)
def divided_by_the_whole_row(weights):
    return weights.tril() / weights.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="rows with columns: each column is divided by its sum, not each row",
    hint="Add up a row, then a column of your result.",
)
def columns_sum_to_one(weights):
    visible = weights.tril()
    return visible / visible.sum(dim=-2, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="one row with all of them: the whole matrix sums to one",
    hint="How many sums do you divide by, and how many rows are there?",
)
def whole_matrix_sums_to_one(weights):
    visible = weights.tril()
    return visible / visible.sum()


@misconception(
    "mask_and_renormalize",
    confuses="renormalizing with softmax: weights go through the exponential a second time",
    hint="Softmax of a zero is not zero. What simpler step makes a row of numbers sum to one?",
)
def softmax_of_zeroed_weights(weights):
    return torch.softmax(weights.tril(), dim=-1)


@misconception(
    "mask_and_renormalize",
    confuses="weights with scores: the remaining weights go through a softmax",
    hint="These are already weights. If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def softmax_of_masked_weights(weights):
    future = torch.ones_like(weights, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(weights.masked_fill(future, -torch.inf), dim=-1)


@misconception(
    "mask_and_renormalize",
    confuses="future with past: the lower triangle is taken away",
    hint="Print your result: what does row 0 keep?",
)
def past_taken_away(weights):
    rest = weights.triu()
    return rest / rest.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="where the future begins: the next token keeps its weight",
    hint="What is the first row of your result?",
)
def next_token_keeps_its_weight(weights):
    visible = weights.tril(diagonal=1)
    return visible / visible.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="the past with everything visible: a token loses sight of itself",
    hint="What is the first row of your result, and what should it be?",
)
def own_weight_taken_away(weights):
    visible = weights.tril(diagonal=-1)
    return torch.nan_to_num(visible / visible.sum(dim=-1, keepdim=True))


@misconception(
    "mask_and_renormalize",
    confuses="any weights with weights whose rows sum to one: each row is divided by one minus the "
    "future weights",
    hint="What if a row sums to 3?",
)
def one_minus_the_future(weights):
    return weights.tril() / (1 - weights.triu(diagonal=1).sum(dim=-1, keepdim=True))


@misconception(
    "mask_and_renormalize",
    confuses="making larger in proportion with giving the same to all: the lost sum is shared "
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
    confuses="making larger in proportion with giving to one: the weight of the future is given "
    "to the token itself",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def future_weight_given_to_itself(weights):
    return weights.tril() + torch.diag_embed(weights.triu(1).sum(dim=-1))


@misconception(
    "mask_and_renormalize",
    confuses="making larger in proportion with giving to one: the weight of the future is given "
    "to the first token",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def future_weight_given_to_the_first(weights):
    lost = weights.triu(1).sum(dim=-1, keepdim=True)
    return torch.cat([weights[..., :1] + lost, weights[..., 1:]], dim=-1).tril()


@misconception(
    "mask_and_renormalize",
    confuses="making larger in proportion with giving the same to all: the weight of the future "
    "is shared evenly",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def future_weight_shared_evenly(weights):
    lost = weights.triu(1).sum(dim=-1, keepdim=True)
    count = torch.arange(1, weights.shape[-1] + 1).unsqueeze(-1)
    return (weights + lost / count).tril()


@misconception(
    "mask_and_renormalize",
    confuses="weights with scores: the future becomes minus infinity before the division",
    hint="What is the sum of a row that contains minus infinity, and what is a quotient by it?",
)
def minus_infinity_divided(weights):
    future = torch.ones_like(weights, dtype=torch.bool).triu(1)
    hidden = weights.masked_fill(future, -torch.inf)
    return hidden / hidden.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="making the row larger with giving the lost sum to the token itself: the lost sum is "
    "given to the token itself",
    hint="If two weights are 0.4 and 0.2, their ratio must stay 2.",
)
def lost_weight_given_to_itself(weights):
    visible = weights.tril()
    return visible + torch.diag_embed(1 - visible.sum(dim=-1))


@misconception(
    "mask_and_renormalize",
    confuses="a column of sums with a row of them: the sums are aligned with the wrong side",
    hint="Print the shape of the sums. Which side of the matrix do they line up with?",
)
def sums_without_their_dimension(weights):
    visible = weights.tril()
    return visible / visible.sum(dim=-1)


@misconception(
    "mask_and_renormalize",
    confuses="the last dimension with dimension 1, which it is only without a batch: the sums run "
    "along dimension 1, which is the last one only without a batch",
    hint="Try weights of shape (2, 5, 5): along which dimension do you sum?",
)
def summed_along_dimension_one(weights):
    visible = weights.tril()
    return visible / visible.sum(dim=1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="the sum of the remaining weights with their number: each row is divided by the "
    "number of weights left, not by their sum",
    hint="Add up each row of your result.",
)
def divided_by_the_number_left(weights):
    count = torch.arange(1, weights.shape[-1] + 1, dtype=weights.dtype).unsqueeze(-1)
    return weights.tril() / count


@misconception(
    "mask_and_renormalize",
    confuses="the sum with the largest: each row is divided by its largest weight",
    hint="Add up each row of your result.",
)
def divided_by_the_largest(weights):
    visible = weights.tril()
    return visible / visible.amax(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="sum with length: rows are divided so that their squares sum to one",
    hint="Add up each row of your result, then its squares.",
)
def length_one(weights):
    return torch.nn.functional.normalize(weights.tril(), dim=-1)


@misconception(
    "mask_and_renormalize",
    confuses="a new tensor with the caller's own: the weights are changed in place",
    hint="Print the weights before and after the call.",
)
def caller_changed(weights):
    weights.tril_()
    weights /= weights.sum(dim=-1, keepdim=True)
    return weights


@misconception(
    "mask_and_renormalize",
    confuses="a constant with a number that carries a gradient: no gradient flows through the sum",
    hint="The sum changes when a weight changes. Does the gradient take that into account?",
)
def sum_cut_off(weights):
    visible = weights.tril()
    return visible / visible.sum(dim=-1, keepdim=True).detach()


@misconception(
    "mask_and_renormalize",
    confuses="a tensor with its numbers: no gradient flows back through the result",
    hint="Does your result have a `grad_fn` when the weights require gradients?",
)
def built_from_numbers(weights):
    visible = weights.tril()
    result = visible / visible.sum(dim=-1, keepdim=True)
    return torch.tensor(result.tolist(), dtype=weights.dtype)


@misconception(
    "mask_and_renormalize",
    confuses="the dtype of the weights with float32: the result is always float32",
    hint="Call it with float64 weights: what is the dtype of the result?",
)
def always_float32(weights):
    visible = weights.float().tril()
    return visible / visible.sum(dim=-1, keepdim=True)


@misconception(
    "mask_and_renormalize",
    confuses="a batch with a single matrix: the first size is taken for the number of tokens",
    hint="Try weights of shape (2, 5, 5).",
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
    hint="Try weights of shape (2, 5, 5).",
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
    confuses="a score of zero, or near it, with a weight of zero: masked scores are 0, or near it, "
    "before softmax",
    hint="What does softmax make of a score of 0? And of 1e-9?",
)
def score_of_zero(scores):
    return scores.tril()


@misconception(
    "mask_scores",
    confuses="low with low enough: -10 is an ordinary score",
    hint="What if a visible score is -20?",
)
def minus_ten(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, -10.0)


@misconception(
    "mask_scores",
    confuses="a number below all scores with the lowest score: masked scores become the lowest "
    "score instead of minus infinity",
    hint="If a future score equals a visible one, they get the same weight. Should they?",
)
def lowest_score(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.where(future, scores.min(), scores)


@misconception(
    "mask_scores",
    confuses="lower with low enough: a high future score stays visible",
    hint="What if a future score is 95 above the visible ones?",
)
def lowered_by_a_hundred(scores):
    return scores - 100 * torch.ones_like(scores).triu(diagonal=1)


@misconception(
    "mask_scores",
    confuses="the sign of infinity: rows with a future become nan in softmax",
    hint="What does softmax make of plus infinity?",
)
def plus_infinity(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, torch.inf)


@misconception(
    "mask_scores",
    confuses="future with past: the lower triangle is masked",
    hint="Print your result: which scores does row 0 keep?",
)
def past_masked(scores):
    past = torch.ones_like(scores, dtype=torch.bool).tril(diagonal=-1)
    return scores.masked_fill(past, -torch.inf)


@misconception(
    "mask_scores",
    confuses="above the diagonal with the diagonal and above: the first token sees nothing",
    hint="Softmax of a row of minus infinities is nan. Which row could that be?",
)
def own_score_masked(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu()
    return scores.masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="where the future begins: the next token keeps its score",
    hint="How many scores may row 0 keep?",
)
def next_token_keeps_its_score(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=2)
    return scores.masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="scores with masked scores: the result of the masking is thrown away, and the scores "
    "are returned unchanged",
    hint="Compare the scores and your result. `masked_fill` returns a new tensor: which line keeps "
    "it?",
)
def result_thrown_away(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    scores.masked_fill(future, -torch.inf)
    return scores


@misconception(
    "mask_scores",
    confuses="a new tensor with the caller's own: the scores are changed in place",
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
    confuses="place with value: a visible score of zero is masked as well",
    hint="What if a visible score is exactly 0?",
)
def zeros_are_masked(scores):
    visible = scores.tril()
    return visible.masked_fill(visible == 0, -torch.inf)


@misconception(
    "mask_scores",
    confuses="place with value: a future score of zero is left in",
    hint="What if a future score is exactly 0?",
)
def future_zeros_are_left(scores):
    return scores.masked_fill(scores.triu(diagonal=1) != 0, -torch.inf)


@misconception(
    "mask_scores",
    confuses="masking with scaling: the visible scores are divided as well",
    hint="Compare a visible score before and after the call.",
)
def scaled_too(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, -torch.inf) / math.sqrt(scores.shape[-1] + 1)


@misconception(
    "mask_scores",
    confuses="the last two dimensions with the first two: the mask is as large as the first two "
    "dimensions, not the last two",
    hint="Try scores of shape (2, 5, 5): how large is your mask?",
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
    confuses="plain values with values that carry a gradient: no gradient flows back to the scores",
    hint="Does your result have a `grad_fn` when the scores require gradients?",
)
def scores_cut_off(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.data.masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="the dtype of the scores with float32: the result is always float32",
    hint="Call it with float64 scores: what is the dtype of the result?",
)
def scores_in_float32(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return scores.float().masked_fill(future, -torch.inf)


@misconception(
    "mask_scores",
    confuses="the precision of the scores with float32: digits are lost along the way",
    hint="A float64 result can't have more digits than its least precise step.",
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
    confuses="causal attention with attention: nothing is masked",
    hint="What weight does token 0 give to token 1?",
)
def no_mask(queries, keys):
    return torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="scores with scaled scores: the division is left out",
    hint="What are scores divided by before softmax?",
)
def not_scaled(queries, keys):
    return torch.softmax(_causal(queries @ keys.transpose(-2, -1)), dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="minus infinity with -1000: after the division by the root of a large d, -1000 is not "
    "low enough, and the future keeps a little weight",
    hint="For d = 4096, what does -1000 become when it is divided by the root of d?",
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
    confuses="a square root with a whole number: the root is truncated to a whole number",
    hint="What is the square root of 3? Which value does your code use?",
)
def whole_number_root(queries, keys):
    root = int(math.sqrt(keys.shape[-1]))
    return torch.softmax(_causal(queries @ keys.transpose(-2, -1)) / root, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the size of a vector with the number of tokens: the scores are divided by the root "
    "of the number of tokens",
    hint="Which dimension of the keys does the dot product sum over?",
)
def root_of_the_length(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    return torch.softmax(_causal(scores) / scores.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the last dimension with dimension 1, which it is only without a batch: the size "
    "under the root is that of dimension 1, which is the last one only without a batch",
    hint="Try inputs of shape (2, 5, 3): what do you divide by?",
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
    confuses="masking scores with zeroing weights: rows no longer sum to one",
    hint="Add up each row of your result.",
)
def zeroed_after_softmax(queries, keys):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1).tril()


@misconception(
    "causal_attention_weights",
    confuses="a score of zero, or near it, with a weight of zero: masked scores are 0, or near it, "
    "before softmax",
    hint="What does softmax make of a score of 0? And of -1e-9?",
)
def zeroed_before_softmax(queries, keys):
    scores = (queries @ keys.transpose(-2, -1)).tril()
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="low with low enough: -10 is an ordinary score",
    hint="What if all visible scores are below -30?",
)
def masked_with_minus_ten(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, -10.0) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="keys with queries: columns sum to one",
    hint="Add up a row, then a column of your result.",
)
def softmax_over_queries(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-2)


@misconception(
    "causal_attention_weights",
    confuses="the last dimension with dimension 1: softmax runs along dimension 1, which is the "
    "last one only without a batch",
    hint="Try inputs of shape (2, 5, 3) and add up a row.",
)
def softmax_over_dimension_one(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=1)


@misconception(
    "causal_attention_weights",
    confuses="the last dimension with dimension 2: softmax runs along dimension 2, which is the "
    "last one only with one leading dimension",
    hint="Try inputs with two leading dimensions.",
)
def softmax_over_dimension_two(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=min(2, scores.dim() - 1))


@misconception(
    "causal_attention_weights",
    confuses="queries with keys: row t of the weights belongs to key t, not to query t",
    hint="Which of the two sets does row t of the result belong to?",
)
def roles_swapped(queries, keys):
    scores = _causal(keys @ queries.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="keys with queries: queries are scored against each other",
    hint="Change the keys: does your result change?",
)
def keys_not_used(queries, keys):
    scores = _causal(queries @ queries.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="future with past: a token sees itself and what comes after it",
    hint="Where are the zeros of your result?",
)
def looks_at_the_future(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    past = torch.ones_like(scores, dtype=torch.bool).tril(diagonal=-1)
    return torch.softmax(scores.masked_fill(past, -torch.inf) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="above the diagonal with the diagonal and above: a token does not see itself",
    hint="What is the first row of your result?",
)
def does_not_see_itself(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu()
    return torch.softmax(scores.masked_fill(future, -torch.inf) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="where the future begins: the next token is still seen",
    hint="What is the first row of your result?",
)
def sees_the_next_token(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=2)
    return torch.softmax(scores.masked_fill(future, -torch.inf) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="attention with a running mean: every visible token has the same weight",
    hint="Change the queries: does your result change?",
)
def running_mean(queries, keys):
    visible = torch.ones_like(queries @ keys.transpose(-2, -1)).tril()
    return visible / visible.sum(dim=-1, keepdim=True)


@misconception(
    "causal_attention_weights",
    confuses="place with value: scores of zero are masked as well",
    hint="What if a query is a vector of zeros?",
)
def scores_of_zero_masked(queries, keys):
    scores = (queries @ keys.transpose(-2, -1)).tril()
    scores = scores.masked_fill(scores == 0, -torch.inf)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="each sequence of a batch with the first: all queries meet the keys of the first "
    "sequence",
    hint="Change the second sequence's keys: does its result change?",
)
def keys_of_the_first_sequence(queries, keys):
    first = keys[:1] if keys.dim() > 2 else keys
    scores = _causal(queries @ first.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the last two dimensions with the first two: the first two dimensions of the keys are "
    "swapped instead of the last two",
    hint="Try inputs of shape (2, 5, 3): which dimensions are swapped?",
)
def first_dimensions_swapped(queries, keys):
    scores = _causal(queries @ keys.transpose(0, 1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="one dimension in front with any number of them: only inputs with one leading "
    "dimension work",
    hint="Try inputs of shape (2, 3, 5, 6).",
)
def one_batch_dimension_only(queries, keys):
    if queries.dim() == 2:
        scores = queries @ keys.T
    else:
        scores = torch.bmm(queries, keys.transpose(1, 2))
    return torch.softmax(_causal(scores) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="dimension 1 with the last but one: the number of tokens is taken from dimension 1",
    hint="Call it with a matrix, a batch, and a batch with heads: what is dimension 1 of each?",
)
def number_of_tokens_from_dimension_one(queries, keys):
    num_tokens = queries.shape[1]
    future = torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="softmax once with softmax twice: softmax is applied twice",
    hint="A weight of zero must stay zero: what does a second softmax turn it into?",
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
    confuses="a new tensor with the caller's own: the queries are scaled in place",
    hint="Print the queries before and after the call.",
)
def queries_scaled_in_place(queries, keys):
    queries /= keys.shape[-1] ** 0.5
    return torch.softmax(_causal(queries @ keys.transpose(-2, -1)), dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="plain values with values that carry a gradient: no gradient flows back to the keys",
    hint="Which of the two inputs gets a gradient?",
)
def keys_cut_off(queries, keys):
    scores = _causal(queries @ keys.detach().transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_attention_weights",
    confuses="the precision of the inputs with float32: digits are lost along the way",
    hint="A float64 result can't have more digits than its least precise step.",
)
def digits_of_float32(queries, keys):
    scores = _causal(queries.float() @ keys.float().transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).to(queries.dtype)


@misconception(
    "causal_attention_weights",
    confuses="a dimension of size one with no dimension: dimensions of size one are dropped from "
    "the result",
    hint="Try a single token: what is the shape of the result?",
)
def ones_squeezed(queries, keys):
    scores = _causal(queries @ keys.transpose(-2, -1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).squeeze()


@misconception(
    "causal_attention_weights",
    confuses="transposing the keys with reshaping them: a key is torn apart",
    hint="Take keys of shape (2, 3), and print the matrix that you multiply the queries by. Is "
    "each key still in one piece?",
)
def keys_reshaped(queries, keys):
    turned = keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])
    return torch.softmax(_causal(queries @ turned) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "causal_mask",
    confuses="its own mask with one that belongs to the caller: the same tensor is returned for "
    "the same size, whatever was done to it",
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
    confuses="low before the division with low after the division: hidden "
    "scores are made low before the division, and are not low enough after it",
    hint="A hidden score of -500 is divided by the root of 4096. How far below the others is it "
    "then?",
)
def hidden_before_a_large_root(queries, keys):
    num_tokens = queries.shape[-2]
    future = torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)
    scores = (queries @ keys.transpose(-2, -1)).masked_fill(future, -500.0)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "mask_scores",
    confuses="scores with weights: softmax comes first, and its weights are masked",
    hint="The question asks for scores. Which step comes after it, and is it in your code already?",
)
def weights_masked(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores, dim=-1).masked_fill(future, -torch.inf)
