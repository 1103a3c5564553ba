"""Known mistakes in scaled dot-product attention."""

import math

import torch
import torch.nn.functional as F

from autograder.suite import misconception


def _scores(queries, keys):
    return queries @ keys.transpose(-2, -1)


def _weights(queries, keys):
    return torch.softmax(_scores(queries, keys) / queries.shape[-1] ** 0.5, dim=-1)


# scale_scores


@misconception(
    "scale_scores",
    confuses="full precision with half precision: the square root is kept to only three digits",
    hint="How many digits does float16 hold, and how many does float32 hold?",
)
def root_in_half_precision(scores, d_k):
    return scores / torch.tensor(d_k, dtype=torch.float16).sqrt()


@misconception(
    "scale_scores",
    confuses="the square root of d_k and d_k itself: the scores are divided by d_k, not by its "
    "square root",
    hint="How fast does the spread of a sum of d_k products grow: like d_k, or more slowly?",
)
def divided_by_d_k(scores, d_k):
    return scores / d_k


@misconception(
    "scale_scores",
    confuses="dividing with multiplying: the scores are multiplied by the square root",
    hint="Should large scores become smaller or larger?",
)
def multiplied_by_the_root(scores, d_k):
    return scores * d_k**0.5


@misconception(
    "scale_scores",
    confuses="the square root and its integer part: the square root is truncated to a whole number",
    hint="What is the square root of 3?",
)
def root_rounded_down(scores, d_k):
    return scores / int(math.sqrt(d_k))


@misconception(
    "scale_scores",
    confuses="the square root and the nearest whole number: the square root is rounded to a whole "
    "number",
    hint="What is the square root of 3?",
)
def root_rounded(scores, d_k):
    return scores / round(math.sqrt(d_k))


@misconception(
    "scale_scores",
    confuses="the square root of d_k with half of it: the scores are divided by d_k / 2",
    hint="What number do you divide by for d_k = 9? Python evaluates a power before a division.",
)
def divided_by_half(scores, d_k):
    return scores / (d_k / 2)


@misconception(
    "scale_scores",
    confuses="the square root of d_k with twice d_k: the scores are divided by twice d_k",
    hint="What number do you divide by for d_k = 9? Python divides from left to right.",
)
def exponent_without_brackets(scores, d_k):
    return scores / d_k**1 / 2


@misconception(
    "scale_scores",
    confuses="division and floor division: the quotients are rounded down to whole numbers",
    hint="Are all your results whole numbers? Should they be?",
)
def whole_division(scores, d_k):
    return scores // d_k**0.5


@misconception(
    "scale_scores",
    confuses="the size of a key and the number of keys: the scores are divided by the square root "
    "of the number of keys",
    hint="Change d_k. Does your result change?",
)
def divided_by_the_root_of_the_number_of_keys(scores, d_k):
    return scores / scores.shape[-1] ** 0.5


@misconception(
    "scale_scores",
    confuses="the size of a key and the number of queries: the scores are divided by the square "
    "root of the number of queries",
    hint="Change d_k. Does your result change?",
)
def divided_by_the_root_of_the_number_of_queries(scores, d_k):
    return scores / scores.shape[-2] ** 0.5


@misconception(
    "scale_scores",
    confuses="the scores with their square root: the square root of the scores is taken, too",
    hint="In the formula, what is the square root taken of?",
)
def root_of_the_scores(scores, d_k):
    return scores.abs().sqrt() * scores.sign() / d_k**0.5


@misconception(
    "scale_scores",
    confuses="scaling with the softmax that comes after it: softmax is already applied here",
    hint="Do scaled scores sum to one?",
)
def softmax_taken_too(scores, d_k):
    return torch.softmax(scores / d_k**0.5, dim=-1)


@misconception(
    "scale_scores",
    confuses="the natural logarithm and the square root: the scores are divided by a logarithm "
    "instead of a square root",
    hint="Which function gives 3 for 9? What does yours give?",
)
def divided_by_the_logarithm(scores, d_k):
    return scores / math.log(d_k)


@misconception(
    "scale_scores",
    confuses="the square with the square root: the scores are divided by the square",
    hint="Should scores for d_k = 4 be divided by 16 or by 2?",
)
def divided_by_the_square(scores, d_k):
    return scores / d_k**2


@misconception(
    "scale_scores",
    confuses="one square root with two: the square root is taken twice",
    hint="What are the scores divided by in the end?",
)
def fourth_root(scores, d_k):
    return scores / math.sqrt(math.sqrt(d_k))


@misconception(
    "scale_scores",
    confuses="d_k with a fixed size: the scores are divided by a fixed number",
    hint="Change d_k. Does your result change?",
)
def written_for_size_64(scores, d_k):
    return scores / 8


@misconception(
    "scale_scores",
    confuses="scaling and doing nothing: the scores are not scaled",
    hint="What is different between the scores before and after your call?",
)
def unchanged(scores, d_k):
    return scores.clone()


@misconception(
    "scale_scores",
    confuses="scaling by a fixed number with standardizing: the scores are divided by their own "
    "spread",
    hint="Does the divisor in the formula depend on the scores?",
)
def divided_by_the_spread(scores, d_k):
    spread = scores.std() if scores.numel() > 1 else 1.0
    return scores / spread


@misconception(
    "scale_scores",
    confuses="scaling and cutting off: large scores are clamped",
    hint="Are two different large scores still different in your result?",
)
def clamped(scores, d_k):
    return (scores / d_k**0.5).clamp(-10.0, 10.0)


@misconception(
    "scale_scores",
    confuses="a new tensor and the caller's tensor: the caller's scores are divided in place",
    hint="What happens if the same scores are scaled twice?",
)
def divided_in_place(scores, d_k):
    scores /= d_k**0.5
    return scores


@misconception(
    "scale_scores",
    confuses="float32 with the dtype of the scores: the result is always float32",
    hint="Which dtype does your result have for float64 scores?",
)
def always_float32(scores, d_k):
    return (scores / d_k**0.5).to(torch.float32)


@misconception(
    "scale_scores",
    confuses="float64 with the dtype of the scores: the result is always float64",
    hint="Which dtype does your result have for float32 scores?",
)
def always_float64(scores, d_k):
    return scores / torch.tensor([d_k], dtype=torch.float64).sqrt()


@misconception(
    "scale_scores",
    confuses="the scores and constants with the same values: no gradient flows to the scores",
    hint="Does the gradient still show how a score changes the loss?",
)
def scores_detached(scores, d_k):
    return scores.detach() / d_k**0.5


@misconception(
    "scale_scores",
    confuses="the absolute value of a score and the score itself: the sign is lost",
    hint="What does a negative score mean?",
)
def sign_lost(scores, d_k):
    return (scores**2 / d_k) ** 0.5


@misconception(
    "scale_scores",
    confuses="dimensions of size 1 with dimensions that are not needed: dimensions of size one are "
    "dropped from the result",
    hint="What is the shape of the result for a single score?",
)
def scale_squeezed(scores, d_k):
    return (scores / d_k**0.5).squeeze()


@misconception(
    "scale_scores",
    confuses="the d_k of this call and that of the first call: the d_k of the first call is used "
    "in all later ones",
    hint="Call it twice with different d_k: what do you expect, and what do you get?",
)
def root_kept_from_the_first_call(scores, d_k, kept=[]):
    if not kept:
        kept.append(d_k**0.5)
    return scores / kept[0]


# attention_weights


@misconception(
    "attention_weights",
    confuses="scaled and plain dot-product attention: the scores are not scaled",
    hint="Which step comes between the scores and the softmax?",
)
def not_scaled(queries, keys):
    return torch.softmax(_scores(queries, keys), dim=-1)


@misconception(
    "attention_weights",
    confuses="the size d of a key with its square root: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
def scaled_by_size(queries, keys):
    return torch.softmax(_scores(queries, keys) / keys.shape[-1], dim=-1)


@misconception(
    "attention_weights",
    confuses="dividing with multiplying: the scores are multiplied by the square root",
    hint="Should the scaling make the softmax flatter or sharper?",
)
def scaled_the_wrong_way(queries, keys):
    return torch.softmax(_scores(queries, keys) * keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="the size of a key and the number of keys: the scores are divided by the square root "
    "of the number of keys",
    hint="Would a longer sentence change your scale?",
)
def scaled_by_the_number_of_keys(queries, keys):
    return torch.softmax(_scores(queries, keys) / keys.shape[-2] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="the size of a query and the number of queries: the scores are divided by the square "
    "root of the number of queries",
    hint="Would a longer sentence change your scale?",
)
def scaled_by_the_number_of_queries(queries, keys):
    return torch.softmax(_scores(queries, keys) / queries.shape[-2] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="dimension 1 and the last one: the scale depends on dimension 1, which counts tokens "
    "in a batch",
    hint="What is `keys.shape[1]` for a batch of sentences?",
)
def scaled_by_dimension_one(queries, keys):
    return torch.softmax(_scores(queries, keys) / keys.shape[1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="the square root and its integer part: the square root is truncated to a whole number",
    hint="What is the square root of 3?",
)
def scaled_by_rounded_root(queries, keys):
    return torch.softmax(_scores(queries, keys) / math.isqrt(keys.shape[-1]), dim=-1)


@misconception(
    "attention_weights",
    confuses="scaling before and after the softmax: the weights are scaled, not the scores",
    hint="Do the weights of a query still sum to one?",
)
def scaled_after_the_softmax(queries, keys):
    return torch.softmax(_scores(queries, keys), dim=-1) / keys.shape[-1] ** 0.5


@misconception(
    "attention_weights",
    confuses="softmax over the keys and over the queries: softmax runs over the queries instead of "
    "the keys",
    hint="Which numbers sum to one in your result, rows or columns?",
)
def softmax_over_queries(queries, keys):
    return torch.softmax(_scores(queries, keys) / keys.shape[-1] ** 0.5, dim=-2)


@misconception(
    "attention_weights",
    confuses="dimension 1 and the last one in a batch: softmax runs along dimension 1, which is "
    "the last one only without a batch",
    hint="In a batch, what does dimension 1 count?",
)
def softmax_over_dimension_one(queries, keys):
    return torch.softmax(_scores(queries, keys) / keys.shape[-1] ** 0.5, dim=1)


@misconception(
    "attention_weights",
    confuses="dimension 2 and the last one: softmax runs along dimension 2, which is the last one "
    "only in a batch",
    hint="Which dimension is the last one of a single sentence?",
)
def softmax_over_dimension_two(queries, keys):
    return torch.softmax(_scores(queries, keys) / keys.shape[-1] ** 0.5, dim=2)


@misconception(
    "attention_weights",
    confuses="each row and the whole matrix: all weights together sum to one",
    hint="What should the weights of a single query sum to?",
)
def softmax_over_everything(queries, keys):
    scores = _scores(queries, keys) / keys.shape[-1] ** 0.5
    return torch.softmax(scores.flatten(), dim=0).view_as(scores)


@misconception(
    "attention_weights",
    confuses="each row and the whole matrix of a sentence: all weights of a sentence together sum "
    "to one",
    hint="What should the weights of a single query sum to?",
)
def softmax_over_each_sentence(queries, keys):
    scores = _scores(queries, keys) / keys.shape[-1] ** 0.5
    return torch.softmax(scores.flatten(-2), dim=-1).view_as(scores)


@misconception(
    "attention_weights",
    confuses="softmax and dividing by the sum: the scores are divided by their sum instead of "
    "going through softmax",
    hint="Can a weight be negative?",
)
def divided_by_the_sum(queries, keys):
    scores = _scores(queries, keys) / keys.shape[-1] ** 0.5
    return scores / scores.sum(dim=-1, keepdim=True)


@misconception(
    "attention_weights",
    confuses="softmax and its logarithm: the logarithm of softmax is returned",
    hint="Are your weights between 0 and 1?",
)
def logarithms(queries, keys):
    return torch.log_softmax(_scores(queries, keys) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="softmax and sigmoid: a sigmoid is applied to each score separately",
    hint="Do the weights of a query sum to one?",
)
def sigmoids(queries, keys):
    return torch.sigmoid(_scores(queries, keys) / keys.shape[-1] ** 0.5)


@misconception(
    "attention_weights",
    confuses="one softmax and two: softmax is applied twice",
    hint="What goes into the last softmax, scores or weights?",
)
def softmax_twice(queries, keys):
    return torch.softmax(_weights(queries, keys), dim=-1)


@misconception(
    "attention_weights",
    confuses="scores and weights: the softmax is missing",
    hint="Do the rows of your result sum to one?",
)
def scores_only(queries, keys):
    return _scores(queries, keys) / keys.shape[-1] ** 0.5


@misconception(
    "attention_weights",
    confuses="rows and columns: the rows of the result belong to keys instead of queries",
    hint="Which of the two sets does row t of the result belong to?",
)
def keys_score_queries(queries, keys):
    return torch.softmax(_scores(keys, queries) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="two different sets of vectors and one: one half of the matrix is a mirror image of "
    "the other",
    hint="Is the score of query 0 and key 1 the same as that of query 1 and key 0?",
)
def mirrored(queries, keys):
    scores = _scores(queries, keys) / keys.shape[-1] ** 0.5
    if scores.shape[-1] == scores.shape[-2]:
        scores = scores.tril() + scores.tril(-1).transpose(-2, -1)
    return torch.softmax(scores, dim=-1)


@misconception(
    "attention_weights",
    confuses="queries and keys: the queries score themselves",
    hint="Change the keys. Does your result change?",
)
def queries_score_themselves(queries, keys):
    return _weights(queries, queries)


@misconception(
    "attention_weights",
    confuses="the last two dimensions with all of them: in a batch, the first dimension is swapped "
    "as well",
    hint="For a batch of two sentences, print the shape of the tensor that the queries are "
    "multiplied by.",
)
def all_dimensions_of_the_keys_turned(queries, keys):
    turned = keys.permute(tuple(reversed(range(keys.dim()))))
    return torch.softmax(queries @ turned / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="dimensions 1 and 2 with the last two: with four dimensions, heads and tokens are "
    "mixed",
    hint="Which dimensions are the last two if there are four?",
)
def dimensions_one_and_two_turned(queries, keys):
    turned = keys.transpose(1, 2) if keys.dim() > 2 else keys.T
    return torch.softmax(queries @ turned / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="transposing a matrix and reshaping it: a matrix is reshaped where it should be "
    "transposed",
    hint="Does a reshape move numbers to the other side of the diagonal?",
)
def keys_reshaped(queries, keys):
    turned = keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])
    return torch.softmax(queries @ turned / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="each sentence and the first one: all queries are compared with the keys of sentence "
    "0",
    hint="Change the keys of the second sentence only: does your result change?",
)
def keys_of_the_first_sentence(queries, keys):
    return _weights(queries, keys if keys.dim() == 2 else keys[:1].expand_as(keys))


@misconception(
    "attention_weights",
    confuses="full and causal attention: later keys are masked",
    hint="Does this exercise stop a query from looking at later keys?",
)
def causal(queries, keys):
    scores = _scores(queries, keys) / keys.shape[-1] ** 0.5
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1)


@misconception(
    "attention_weights",
    confuses="dot products and angles: the lengths of the vectors are lost",
    hint="Does a key that is twice as long get a different score?",
)
def cosines(queries, keys):
    scores = _scores(F.normalize(queries, dim=-1), F.normalize(keys, dim=-1))
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="scaled dot products with cosines: softmax is applied to cosines instead of scaled "
    "dot products",
    hint="Does a key that is twice as long get a different score?",
)
def cosines_not_scaled(queries, keys):
    scores = _scores(F.normalize(queries, dim=-1), F.normalize(keys, dim=-1))
    return torch.softmax(scores, dim=-1)


@misconception(
    "attention_weights",
    confuses="mixing with choosing: the key with the largest score gets the weight 1, and every "
    "other key gets 0",
    hint="Can a query attend to two keys at once? What are their weights in your result?",
)
def best_key_only(queries, keys):
    best = _scores(queries, keys).argmax(dim=-1)
    return F.one_hot(best, keys.shape[-2]).to(queries.dtype)


@misconception(
    "attention_weights",
    confuses="dimensions of size 1 with dimensions that are not needed: dimensions of size one are "
    "dropped from the result",
    hint="What is the shape of the result for a single query in a batch of one?",
)
def weights_squeezed(queries, keys):
    return _weights(queries, keys).squeeze()


@misconception(
    "attention_weights",
    confuses="new tensors and the caller's: the queries are divided in place",
    hint="What do the queries hold after your call?",
)
def queries_scaled_in_place(queries, keys):
    queries /= queries.shape[-1] ** 0.5
    return torch.softmax(_scores(queries, keys), dim=-1)


@misconception(
    "attention_weights",
    confuses="weights and numbers that carry no gradient: no gradient flows through the weights",
    hint="Can training still change the queries?",
)
def weights_detached(queries, keys):
    return _weights(queries, keys).detach()


@misconception(
    "attention_weights",
    confuses="the dtype of the inputs and float32: part of the computation runs in float32, so "
    "digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def weights_through_float32(queries, keys):
    return _weights(queries.float(), keys.float()).to(queries.dtype)


@misconception(
    "attention_weights",
    confuses="weights and a table with four decimals: the weights are rounded to four decimals",
    hint="How many digits does a weight have?",
)
def weights_rounded(queries, keys):
    return _weights(queries, keys).round(decimals=4)


@misconception(
    "attention_weights",
    confuses="scores with clamped scores: scores beyond a bound are set to the bound",
    hint="What happens to two different large scores?",
)
def scores_clamped(queries, keys):
    return torch.softmax((_scores(queries, keys) / keys.shape[-1] ** 0.5).clamp(-1, 1), dim=-1)


@misconception(
    "attention_weights",
    confuses="a matrix product and an elementwise product: query t is compared only with key t",
    hint="How many pairs of a query and a key are there?",
)
def elementwise_scores(queries, keys):
    return torch.softmax((queries * keys).sum(-1) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="one sentence with inputs of any number of dimensions: only inputs with two "
    "dimensions work",
    hint="Try a batch of two sentences. Which matrix product works for a batch, too?",
)
def matrices_only(queries, keys):
    return torch.softmax(torch.mm(queries, keys.t()) / keys.shape[-1] ** 0.5, dim=-1)


@misconception(
    "attention_weights",
    confuses="high and low scores: the keys that fit best get the smallest weights",
    hint="Which of two keys gets more weight, the better fit or the worse one?",
)
def sign_turned(queries, keys):
    return torch.softmax(-_scores(queries, keys) / keys.shape[-1] ** 0.5, dim=-1)


# scaled_dot_product_attention


@misconception(
    "scaled_dot_product_attention",
    confuses="scaled and plain dot-product attention: the scores are not scaled",
    hint="What does the first word of the function's name mean?",
)
def context_not_scaled(queries, keys, values):
    return torch.softmax(_scores(queries, keys), dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="the size d of a key with its square root: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
def context_scaled_by_size(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / keys.shape[-1], dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="the size of a key and the size of a value: the scores are divided by the square root "
    "of the size of a value",
    hint="Between which vectors is the dot product taken?",
)
def scaled_by_the_size_of_values(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / values.shape[-1] ** 0.5, dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="the size of a key and the number of keys: the scores are divided by the square root "
    "of the number of keys",
    hint="Would a longer sentence change your scale?",
)
def context_scaled_by_the_number_of_keys(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / keys.shape[-2] ** 0.5, dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="the size of a query and the number of queries: the scores are divided by the square "
    "root of the number of queries",
    hint="Would a longer sentence change your scale?",
)
def context_scaled_by_the_number_of_queries(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / queries.shape[-2] ** 0.5, dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="dimension 1 and the last one: the scale depends on dimension 1, which counts tokens "
    "in a batch",
    hint="What is `keys.shape[1]` for a batch of sentences?",
)
def context_scaled_by_dimension_one(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / keys.shape[1] ** 0.5, dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="the square root and its integer part: the square root is truncated to a whole number",
    hint="What is the square root of 3?",
)
def context_scaled_by_rounded_root(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / int(keys.shape[-1] ** 0.5), dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="scaling before the softmax with scaling after it: the result is scaled instead of "
    "the scores",
    hint="What goes into the softmax in your code?",
)
def result_scaled(queries, keys, values):
    return torch.softmax(_scores(queries, keys), dim=-1) @ values / keys.shape[-1] ** 0.5


@misconception(
    "scaled_dot_product_attention",
    confuses="softmax over the keys and over the queries: softmax runs over the queries instead of "
    "the keys",
    hint="Do the rows or the columns of your weights sum to one?",
)
def context_with_softmax_over_queries(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / keys.shape[-1] ** 0.5, dim=-2) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="dimension 1 and the last one in a batch: softmax runs along dimension 1, which is "
    "the last one only without a batch",
    hint="In a batch, what does dimension 1 count?",
)
def context_with_softmax_over_dimension_one(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / keys.shape[-1] ** 0.5, dim=1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="scores and weights: the softmax is missing",
    hint="What are the values multiplied by, and do these numbers sum to one?",
)
def context_without_softmax(queries, keys, values):
    return _scores(queries, keys) / keys.shape[-1] ** 0.5 @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="weights with context vectors: softmax is applied to the context, not to the scores",
    hint="Which numbers in your code sum to one? They should be the weights of the keys.",
)
def softmax_of_the_context(queries, keys, values):
    return torch.softmax(_scores(queries, keys) / keys.shape[-1] ** 0.5 @ values, dim=-1)


@misconception(
    "scaled_dot_product_attention",
    confuses="weights and context vectors: the weights are returned instead of the context vectors",
    hint="Change the values. Does your result change?",
)
def weights_returned(queries, keys, values):
    return _weights(queries, keys)


@misconception(
    "scaled_dot_product_attention",
    confuses="one result and two: weights are returned as well",
    hint="What does the exercise say about the result?",
)
def weights_returned_too(queries, keys, values):
    weights = _weights(queries, keys)
    return weights @ values, weights


@misconception(
    "scaled_dot_product_attention",
    confuses="rows and columns of the weights when the values are mixed: rows and columns of the "
    "weights are swapped",
    hint="Which numbers say how much of value s goes into context t?",
)
def weights_turned(queries, keys, values):
    return _weights(queries, keys).transpose(-2, -1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="keys and values: the weights mix the keys instead of the values",
    hint="Which tensor contains what a token passes on?",
)
def keys_mixed(queries, keys, values):
    return _weights(queries, keys) @ keys


@misconception(
    "scaled_dot_product_attention",
    confuses="keys and values: the queries are compared with the values, and the keys are mixed",
    hint="Which tensor should the queries be compared with?",
)
def keys_and_values_exchanged(queries, keys, values):
    return _weights(queries, values) @ keys


@misconception(
    "scaled_dot_product_attention",
    confuses="queries and keys: the rows of the scores belong to keys instead of queries",
    hint="How many context vectors are there: as many as queries, or as keys?",
)
def queries_and_keys_exchanged(queries, keys, values):
    return _weights(keys, queries) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="full and causal attention: later keys are masked",
    hint="Does this exercise stop a query from looking at later keys?",
)
def context_causal(queries, keys, values):
    scores = _scores(queries, keys) / keys.shape[-1] ** 0.5
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="the formula and the formula with dropout: dropout is applied to the weights",
    hint="In your code, what do the weights of a query add up to when they mix the values?",
)
def context_with_dropout(queries, keys, values):
    torch.manual_seed(123)
    return F.dropout(_weights(queries, keys), 0.1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="the attention and the block around it: the queries are added to the result",
    hint="Which numbers does the formula mix, and does it add anything?",
)
def queries_added(queries, keys, values):
    context = _weights(queries, keys) @ values
    return context + queries if context.shape == queries.shape else context


@misconception(
    "scaled_dot_product_attention",
    confuses="the weighted sum and the mean: the weighted sum is also divided by the number of "
    "keys",
    hint="What do the weights of a query add up to, before and after your division?",
)
def mean_of_weighted_values(queries, keys, values):
    return _weights(queries, keys) @ values / keys.shape[-2]


@misconception(
    "scaled_dot_product_attention",
    confuses="a mix of all values and the value of the best key: only the value of the best key is "
    "returned",
    hint="Does the choice of the best key have a gradient?",
)
def best_value_only(queries, keys, values):
    best = _scores(queries, keys).argmax(dim=-1, keepdim=True)
    return values.gather(-2, best.expand(*best.shape[:-1], values.shape[-1]))


@misconception(
    "scaled_dot_product_attention",
    confuses="the last two dimensions with all of them: in a batch, the first dimension is swapped "
    "as well",
    hint="For a batch of two sentences, print the shape of the tensor that the queries are "
    "multiplied by.",
)
def context_with_all_dimensions_turned(queries, keys, values):
    turned = keys.permute(tuple(reversed(range(keys.dim()))))
    return torch.softmax(queries @ turned / keys.shape[-1] ** 0.5, dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="dimensions 1 and 2 with the last two: with four dimensions, heads and tokens are "
    "mixed",
    hint="Which dimensions are the last two if there are four?",
)
def context_with_dimensions_one_and_two_turned(queries, keys, values):
    turned = keys.transpose(1, 2) if keys.dim() > 2 else keys.T
    return torch.softmax(queries @ turned / keys.shape[-1] ** 0.5, dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="batches with inputs of any number of dimensions: only inputs with three dimensions "
    "work",
    hint="How many dimensions does a single sentence have?",
)
def batches_only(queries, keys, values):
    scores = torch.bmm(queries, keys.transpose(1, 2)) / keys.shape[-1] ** 0.5
    return torch.bmm(torch.softmax(scores, dim=-1), values)


@misconception(
    "scaled_dot_product_attention",
    confuses="each sentence and the first one: all weights mix the values of sentence 0",
    hint="Change the values of the second sentence only: does your result change?",
)
def values_of_the_first_sentence(queries, keys, values):
    first = values if values.dim() == 2 else values[:1].expand_as(values)
    return _weights(queries, keys) @ first


@misconception(
    "scaled_dot_product_attention",
    confuses="dimensions of size 1 with dimensions that are not needed: dimensions of size one are "
    "dropped from the result",
    hint="What is the shape of the result for a single query in a batch of one?",
)
def context_squeezed(queries, keys, values):
    return (_weights(queries, keys) @ values).squeeze()


@misconception(
    "scaled_dot_product_attention",
    confuses="new tensors and the caller's: the keys are divided in place",
    hint="What do the keys hold after your call?",
)
def keys_scaled_in_place(queries, keys, values):
    keys /= keys.shape[-1] ** 0.5
    return torch.softmax(_scores(queries, keys), dim=-1) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="weights that are used and weights that are trained: no gradient flows to the weights",
    hint="Which of the three inputs get a gradient in your code?",
)
def gradient_through_values_only(queries, keys, values):
    return _weights(queries, keys).detach() @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="the dtype of the inputs and float32: part of the computation runs in float32, so "
    "digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def context_through_float32(queries, keys, values):
    weights = _weights(queries.float(), keys.float())
    return (weights @ values.float()).to(values.dtype)


@misconception(
    "scaled_dot_product_attention",
    confuses="small weights and no weights: weights below a threshold are set to zero",
    hint="What do the weights add up to after your change?",
)
def small_weights_dropped(queries, keys, values):
    weights = _weights(queries, keys)
    return weights.masked_fill(weights < 0.1, 0.0) @ values


@misconception(
    "scaled_dot_product_attention",
    confuses="implementing attention with calling a ready-made function: torch's own attention "
    "function is used",
    hint="Which three steps does this function do for you?",
)
def torchs_own_function(queries, keys, values):
    return F.scaled_dot_product_attention(queries, keys, values)


@misconception(
    "scaled_dot_product_attention",
    confuses="the formula and the formula with dropout: a tenth of the weights is dropped at "
    "random in each call",
    hint="Call it twice with the same inputs: is the result the same?",
)
def weights_dropped_anew(queries, keys, values):
    return F.dropout(_weights(queries, keys), 0.1) @ values


@misconception(
    "scale_scores",
    confuses="a call without gradients with a caller who no longer needs the scores: when no "
    "gradients are recorded, the caller's scores are divided in place",
    hint="Print your scores before and after a call under `torch.no_grad()`. Are they the same?",
)
def divided_in_place_without_gradients(scores, d_k):
    if torch.is_grad_enabled():
        return scores / math.sqrt(d_k)
    return scores.div_(math.sqrt(d_k))


@misconception(
    "attention_weights",
    confuses="a training step with an attention step: gradients are clipped on their way back",
    hint="Multiply your loss by 100,000. Are the gradients 100,000 times as large?",
)
def gradients_of_scores_clipped(queries, keys):
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])
    if scores.requires_grad:
        scores.register_hook(lambda grad: grad.clamp(-10, 10))
    return torch.softmax(scores, dim=-1)
