"""Known mistakes in padding masks, masked attention and cross-attention."""

import math

import torch
from torch import nn

from autograder.suite import misconception

# padding_mask


@misconception(
    "padding_mask",
    confuses="a mask that is True for padding with one that is True for real tokens (Hugging "
    "Face's attention_mask, torch's scaled_dot_product_attention): the mask is True for real "
    "tokens instead of padding",
    hint="What does True mean in causal_mask, and what does it mean here?",
)
def real_tokens_marked(lengths, num_keys):
    return torch.arange(num_keys) < lengths[:, None]


@misconception(
    "padding_mask",
    confuses="the length with the last position: the last real token is marked, too",
    hint="A sentence of length 2 has positions 0 and 1. Is position 1 padding?",
)
def last_real_token_marked(lengths, num_keys):
    return torch.arange(num_keys) >= lengths[:, None] - 1


@misconception(
    "padding_mask",
    confuses="the first padding position with a real one: the padding starts one position too late",
    hint="A sentence of length 2 has positions 0 and 1. What is at position 2?",
)
def padding_starts_one_too_late(lengths, num_keys):
    return torch.arange(num_keys) > lengths[:, None]


@misconception(
    "padding_mask",
    confuses="rows with columns: the mask has one row for each key instead of one for each sample",
    hint="Which of the two tensors needs a new dimension, so that there is one row for each "
    "sample?",
)
def keys_as_rows(lengths, num_keys):
    return torch.arange(num_keys)[:, None] >= lengths


@misconception(
    "padding_mask",
    confuses="a plain mask with one that is ready for heads and queries: the mask has extra "
    "dimensions for heads and queries",
    hint="Which shape does the question ask for? Dimensions for heads and queries are added where "
    "the mask is used.",
)
def dimensions_for_heads_and_queries(lengths, num_keys):
    return (torch.arange(num_keys) >= lengths[:, None])[:, None, None, :]


@misconception(
    "padding_mask",
    confuses="padding on the right with padding on the left, as in batches for generation: the "
    "mask marks padding on the left instead of the right",
    hint="On which side of a sample are the real tokens here?",
)
def padding_on_the_left(lengths, num_keys):
    return torch.arange(num_keys) < num_keys - lengths[:, None]


@misconception(
    "padding_mask",
    confuses="num_keys with the longest length in the batch: the mask is as wide as the longest "
    "sample instead of num_keys wide",
    hint="Ask for more keys than the longest sample has. How many columns does the mask have?",
)
def as_wide_as_the_longest_sample(lengths, num_keys):
    return torch.arange(int(lengths.max())) >= lengths[:, None]


@misconception(
    "padding_mask",
    confuses="the length of each sample with that of the first: all samples get the length of the "
    "first one",
    hint="Give two samples different lengths. Are the rows of your mask different?",
)
def length_of_the_first_sample(lengths, num_keys):
    return (torch.arange(num_keys) >= lengths[0]).expand(len(lengths), num_keys)


@misconception(
    "padding_mask",
    confuses="a mask of True and False with numbers that are added to scores: the mask contains 0 "
    "and minus infinity instead of False and True",
    hint="Which dtype does the question ask for?",
)
def minus_infinity_at_padding(lengths, num_keys):
    padding = torch.arange(num_keys) >= lengths[:, None]
    return torch.zeros(len(lengths), num_keys).masked_fill(padding, -torch.inf)


@misconception(
    "padding_mask",
    confuses="Boolean values with ones and zeros: the mask contains ones and zeros instead of True "
    "and False",
    hint="What does the documentation of masked_fill say about the dtype of the mask?",
)
def ones_and_zeros(lengths, num_keys):
    return (torch.arange(num_keys) >= lengths[:, None]).long()


@misconception(
    "padding_mask",
    confuses="Boolean values with numbers: the mask contains floating-point numbers instead of "
    "True and False",
    hint="Print the dtype of your mask. What is the dtype of a comparison?",
)
def floats_at_padding(lengths, num_keys):
    return (torch.arange(num_keys) >= lengths[:, None]).float()


@misconception(
    "padding_mask",
    confuses="padded keys with padded keys and queries: the mask marks padded queries as well as "
    "padded keys",
    hint="Which shape does the question ask for? The result for a padded query is not used anyway.",
)
def padded_queries_as_well(lengths, num_keys):
    padding = torch.arange(num_keys) >= lengths[:, None]
    return padding[:, :, None] | padding[:, None, :]


@misconception(
    "padding_mask",
    confuses="a batch of one with a dimension that can be dropped: dimensions of size one are "
    "dropped from the mask",
    hint="Create the mask for a single sample, and look at its shape.",
)
def sample_dimension_dropped(lengths, num_keys):
    return (torch.arange(num_keys) >= lengths[:, None]).squeeze()


# masked_attention


def _scores(queries, keys):
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def _attend(queries, keys, values, mask, fill=-torch.inf, dim=-1):
    """Computes masked attention, rightly unless `fill` or `dim` is given."""
    return torch.softmax(_scores(queries, keys).masked_fill(mask, fill), dim) @ values


@misconception(
    "masked_attention",
    confuses="True for a forbidden key with True for a key that may be seen, as in torch's own "
    "function: only the forbidden keys are seen",
    hint="Mask one key and look at its weight. Is it 0, or is it the only weight that is left?",
)
def attends_where_forbidden(queries, keys, values, mask):
    return _attend(queries, keys, values, ~mask)


@misconception(
    "masked_attention",
    confuses="the size of a query with the size of a value: the scores are divided by the square "
    "root of the size of a value",
    hint="How many products are added for one score?",
)
def divided_by_the_root_of_the_value_size(queries, keys, values, mask):
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(values.shape[-1])
    return torch.softmax(scores.masked_fill(mask, -torch.inf), -1) @ values


@misconception(
    "masked_attention",
    confuses="scores with weights: the division by the square root comes after softmax, not before "
    "it",
    hint="Set all values to 1. What should the result be, and what is it?",
)
def weights_divided_by_the_root(queries, keys, values, mask):
    scores = queries @ keys.transpose(-2, -1)
    weights = torch.softmax(scores.masked_fill(mask, -torch.inf), -1)
    return weights / math.sqrt(queries.shape[-1]) @ values


@misconception(
    "masked_attention",
    confuses="a score of 0 with a very low score: forbidden scores are 0, or close to 0, before "
    "softmax",
    hint="What weight does softmax give to a score of 0 if all others are negative?",
)
def filled_with_zero(queries, keys, values, mask):
    return _attend(queries, keys, values, mask, fill=1e-9)


@misconception(
    "masked_attention",
    confuses="a low score with minus infinity: forbidden scores become a number that is not low "
    "enough",
    hint="What if the allowed scores are all near -20? Is your fill value far below them?",
)
def filled_not_low_enough(queries, keys, values, mask):
    return _attend(queries, keys, values, mask, fill=-10.0)


@misconception(
    "masked_attention",
    confuses="masking scores before softmax with masking weights after it: weights are set to 0 "
    "after softmax instead of masking the scores before it",
    hint="Set all values to 1. What should the result be, and what is it?",
)
def zeroed_after_softmax(queries, keys, values, mask):
    return torch.softmax(_scores(queries, keys), -1).masked_fill(mask, 0.0) @ values


@misconception(
    "masked_attention",
    confuses="accepting a mask with using it: the mask has no effect",
    hint="Mask a key. Does its weight change? Which line uses the mask, and does your code use the "
    "result of that line?",
)
def mask_without_effect(queries, keys, values, mask):
    return torch.softmax(_scores(queries, keys), -1) @ values


@misconception(
    "masked_attention",
    confuses="0 times infinity with 0: 0 times minus infinity turns scores into nan",
    hint="Print the scores. What is 0 * float('-inf') in Python?",
)
def mask_times_minus_infinity(queries, keys, values, mask):
    scores = _scores(queries, keys)
    return torch.softmax(scores + mask.to(scores.dtype) * -torch.inf, -1) @ values


@misconception(
    "masked_attention",
    confuses="a Boolean mask with numbers to add: the mask is added to the scores, so that True "
    "adds 1",
    hint="What does a score of 2 become when you add True to it?",
)
def mask_added_to_the_scores(queries, keys, values, mask):
    return torch.softmax(_scores(queries, keys) + mask, -1) @ values


@misconception(
    "masked_attention",
    confuses="the mask of each query with that of the first: all queries use the mask of the first "
    "one",
    hint="Give two queries different masks, and look at the second row of the weights.",
)
def first_row_of_the_mask_for_all(queries, keys, values, mask):
    return _attend(queries, keys, values, mask[..., :1, :] if mask.dim() > 1 else mask)


@misconception(
    "masked_attention",
    confuses="masked scores with scaled and masked ones: the scores are not scaled",
    hint="What are scores divided by before softmax?",
)
def not_scaled(queries, keys, values, mask):
    scores = queries @ keys.transpose(-2, -1)
    return torch.softmax(scores.masked_fill(mask, -torch.inf), -1) @ values


@misconception(
    "masked_attention",
    confuses="the square root of d with d: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
def divided_by_d(queries, keys, values, mask):
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1]
    return torch.softmax(scores.masked_fill(mask, -torch.inf), -1) @ values


@misconception(
    "masked_attention",
    confuses="the keys of a query with the queries of a key: softmax runs over the queries",
    hint="Which weights sum to one: those in a row or those in a column?",
)
def softmax_over_queries(queries, keys, values, mask):
    weights = torch.softmax(_scores(queries, keys).masked_fill(mask, -torch.inf), -2)
    return weights.nan_to_num() @ values


@misconception(
    "masked_attention",
    confuses="the last dimension with dimension 1: softmax runs along dimension 1, which is the "
    "last dimension only if there is no batch",
    hint="Your result is right for (T, S). Which dimension of (B, T, S) holds the keys?",
)
def softmax_over_dimension_one(queries, keys, values, mask):
    return _attend(queries, keys, values, mask, dim=1).nan_to_num()


@misconception(
    "masked_attention",
    confuses="forbidden keys with values of zero: the values of forbidden keys are set to zero, "
    "but these keys still get weights",
    hint="Set all values to 1. What should the result be, and what is it?",
)
def values_set_to_zero(queries, keys, values, mask):
    kept = (~mask).any(-2, keepdim=True).transpose(-2, -1) if mask.dim() > 1 else ~mask[:, None]
    return torch.softmax(_scores(queries, keys), -1) @ (values * kept)


@misconception(
    "masked_attention",
    confuses="a given mask with a causal one: later keys are forbidden as well",
    hint="Mask nothing. Does the first query see the last key?",
)
def causal_as_well(queries, keys, values, mask):
    future = torch.ones(queries.shape[-2], keys.shape[-2], dtype=torch.bool).triu(1)
    filled = _scores(queries, keys).masked_fill(mask | future, -torch.inf)
    return torch.softmax(filled, -1).nan_to_num() @ values


@misconception(
    "masked_attention",
    confuses="the dtype of the inputs with float32: precision is lost along the way",
    hint="Call it with float64 inputs. Which step is less precise?",
)
def float32_before_softmax(queries, keys, values, mask):
    scores = _scores(queries, keys).float().masked_fill(mask, -torch.inf)
    return torch.softmax(scores, -1).to(values.dtype) @ values


@misconception(
    "masked_attention",
    confuses="weights that need a gradient with constants: no gradient reaches queries and keys",
    hint="Do queries and keys get a gradient? Look at their gradients after a backward pass.",
)
def weights_without_gradient(queries, keys, values, mask):
    filled = _scores(queries, keys).masked_fill(mask, -torch.inf)
    return torch.softmax(filled, -1).detach() @ values


@misconception(
    "masked_attention",
    confuses="a new tensor with the caller's: the queries are scaled in place",
    hint="Look at the queries before and after the call.",
)
def queries_scaled_in_place(queries, keys, values, mask):
    queries.data /= math.sqrt(queries.shape[-1])
    scores = queries @ keys.transpose(-2, -1)
    return torch.softmax(scores.masked_fill(mask, -torch.inf), -1) @ values


@misconception(
    "masked_attention",
    confuses="a dimension of size one with one that can be dropped: dimensions of size one are "
    "dropped from the result",
    hint="Call it with one query or one sample, and look at the shape of the result.",
)
def dimensions_of_one_dropped(queries, keys, values, mask):
    return _attend(queries, keys, values, mask).squeeze()


@misconception(
    "masked_attention",
    confuses="the rows of a mask with its columns: the mask is transposed",
    hint="In a mask of shape (T, S), does a row belong to a query or to a key?",
)
def mask_turned_around(queries, keys, values, mask):
    turned = mask.transpose(-2, -1) if mask.dim() > 1 else mask
    return _attend(queries, keys, values, turned).nan_to_num()


# CrossAttention


class _Cross(nn.Module):
    """The right module in steps; each mistake below changes one of them."""

    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads does not divide d_model")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_context, d_model)
        self.W_value = nn.Linear(d_context, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def project(self, x, context):
        return self.W_query(x), self.W_key(context), self.W_value(context)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(-2)

    def scale(self):
        return math.sqrt(self.head_dim)

    def masked(self, scores, mask):
        return scores.masked_fill(mask[:, None, None], -torch.inf)

    def weights(self, scores):
        return torch.softmax(scores, -1)

    def forward(self, x, context, key_padding_mask=None):
        q, k, v = map(self.split, self.project(x, context))
        scores = q @ k.mT / self.scale()
        if key_padding_mask is not None:
            scores = self.masked(scores, key_padding_mask)
        return self.out_proj(self.merge(self.weights(scores) @ v))


@misconception(
    "CrossAttention",
    confuses="cross-attention with self-attention: keys and values come from x",
    hint="Change the context. Does your result change?",
)
class keys_and_values_from_x(_Cross):
    def project(self, x, context):
        return self.W_query(x), self.W_key(x), self.W_value(x)


@misconception(
    "CrossAttention",
    confuses="the keys of the context with keys of x: only the values come from the context",
    hint="Which two of the three projections read the context?",
)
class keys_from_x(_Cross):
    def project(self, x, context):
        return self.W_query(x), self.W_key(x), self.W_value(context)


@misconception(
    "CrossAttention",
    confuses="the values of the context with values of x: only the keys come from the context",
    hint="Which two of the three projections read the context?",
)
class values_from_x(_Cross):
    def project(self, x, context):
        return self.W_query(x), self.W_key(context), self.W_value(x)


@misconception(
    "CrossAttention",
    confuses="the sequence of the queries with that of the keys: queries come from the context, "
    "and keys and values come from x",
    hint="Which of the three projections should read x, and which should read the context?",
)
class queries_from_the_context(_Cross):
    def project(self, x, context):
        return self.W_query(context), self.W_key(x), self.W_value(x)


@misconception(
    "CrossAttention",
    confuses="cross-attention with self-attention: keys and values come from x",
    hint="Change the context. Does your result change?",
)
class keys_and_values_from_x_with_fitting_layers(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)

    def project(self, x, context):
        return self.W_query(x), self.W_key(x), self.W_value(x)


@misconception(
    "CrossAttention",
    confuses="the keys of the context with keys of x: only the values come from the context",
    hint="Which two of the three projections read the context?",
)
class keys_from_x_with_a_fitting_layer(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.W_key = nn.Linear(d_model, d_model)

    def project(self, x, context):
        return self.W_query(x), self.W_key(x), self.W_value(context)


@misconception(
    "CrossAttention",
    confuses="the values of the context with values of x: only the keys come from the context",
    hint="Which two of the three projections read the context?",
)
class values_from_x_with_a_fitting_layer(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.W_value = nn.Linear(d_model, d_model)

    def project(self, x, context):
        return self.W_query(x), self.W_key(context), self.W_value(x)


@misconception(
    "CrossAttention",
    confuses="the sequence of the queries with that of the keys: queries come from the context, "
    "and keys and values come from x",
    hint="Which of the three projections should read x, and which should read the context?",
)
class queries_from_the_context_with_fitting_layers(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.W_query = nn.Linear(d_context, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)

    def project(self, x, context):
        return self.W_query(context), self.W_key(x), self.W_value(x)


@misconception(
    "CrossAttention",
    confuses="True for padding with True for real tokens: only padding is seen, and real tokens "
    "are hidden",
    hint="Mark the last token as padding and change it. Does your result change?",
)
class attends_to_padding_only(_Cross):
    def masked(self, scores, mask):
        return scores.masked_fill(~mask[:, None, None], -torch.inf)


@misconception(
    "CrossAttention",
    confuses="accepting a mask with using it: key_padding_mask has no effect",
    hint="Mark a token as padding and change it. Does your result change?",
)
class mask_accepted_and_forgotten(_Cross):
    def masked(self, scores, mask):
        return scores


@misconception(
    "CrossAttention",
    confuses="transposing and reshaping with reshaping alone: heads are merged without a transpose",
    hint="Before merging, all columns of one token must be next to each other. Print the shapes.",
)
class merged_without_transpose(_Cross):
    def merge(self, heads):
        batch, _, num_tokens, _ = heads.shape
        return heads.reshape(batch, num_tokens, -1)


@misconception(
    "CrossAttention",
    confuses="building a layer with using it: out_proj has no effect",
    hint="What happens after the heads are merged?",
)
class out_proj_never_called(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        q, k, v = map(self.split, self.project(x, context))
        scores = q @ k.mT / self.scale()
        if key_padding_mask is not None:
            scores = self.masked(scores, key_padding_mask)
        return self.merge(self.weights(scores) @ v)


@misconception(
    "CrossAttention",
    confuses="the dimension of the heads with that of the samples: the samples of the mask line up "
    "with the heads",
    hint="Align the shape of your mask with (B, H, T, S) from the right. Which dimension does B "
    "line up with?",
)
class mask_meets_the_heads(_Cross):
    def masked(self, scores, mask):
        return scores.masked_fill(mask[:, None], -torch.inf)


@misconception(
    "CrossAttention",
    confuses="separate calls with steps of generation, where the context stays the same: the "
    "context of the first call is kept",
    hint="Call it twice with different contexts. Are the results different?",
)
class first_context_kept(_Cross):
    kept = None

    def project(self, x, context):
        if self.kept is None:
            self.kept = self.W_key(context), self.W_value(context)
        return self.W_query(x), *self.kept


@misconception(
    "CrossAttention",
    confuses="neighboring columns with every H-th column: each head gets every H-th column instead "
    "of neighboring ones",
    hint="Which columns belong to head 0: the first d columns or every H-th column?",
)
class heads_interleaved(_Cross):
    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, heads):
        return heads.permute(0, 2, 3, 1).flatten(-2)


@misconception(
    "CrossAttention",
    confuses="reshaping and transposing with reshaping alone: heads are split without a transpose",
    hint="Print one head. Does it contain the same columns of every token?",
)
class split_without_transpose(_Cross):
    def split(self, x):
        return x.reshape(len(x), self.num_heads, -1, self.head_dim)


@misconception(
    "CrossAttention",
    confuses="the size of one head with the size of a token: the scores are divided by the square "
    "root of d_model, not of the head size",
    hint="How many products are added for one score of one head?",
)
class divided_by_the_root_of_d_model(_Cross):
    def scale(self):
        return math.sqrt(self.head_dim * self.num_heads)


@misconception(
    "CrossAttention",
    confuses="the size of one head with the size of a context token: the scores are divided by the "
    "square root of d_context, not of the head size",
    hint="How many products are added for one score of one head?",
)
class divided_by_the_root_of_d_context(_Cross):
    def scale(self):
        return math.sqrt(self.W_key.in_features)


@misconception(
    "CrossAttention",
    confuses="plain scores with scaled ones: the scores are not scaled",
    hint="What are scores divided by before softmax?",
)
class scores_not_scaled(_Cross):
    def scale(self):
        return 1.0


@misconception(
    "CrossAttention",
    confuses="attending to a different sequence with attending to one's own past: a causal mask "
    "hides keys of the context",
    hint="The whole context is known before the first query. Is there any part of it that token 0 "
    "must not see?",
)
class causal_to_the_context(_Cross):
    def weights(self, scores):
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(future, -torch.inf), -1).nan_to_num()


@misconception(
    "CrossAttention",
    confuses="masking scores before softmax with removing padding after it: padding is removed "
    "only after softmax (its weights or its values are set to 0), so its scores still take a share "
    "of the weights",
    hint="Add up the weights that one query gives to tokens that are not padding. Is the sum one?",
)
class padding_zeroed_after_softmax(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        q, k, v = map(self.split, self.project(x, context))
        weights = self.weights(q @ k.mT / self.scale())
        if key_padding_mask is not None:
            weights = weights.masked_fill(key_padding_mask[:, None, None], 0.0)
        return self.out_proj(self.merge(weights @ v))


@misconception(
    "CrossAttention",
    confuses="padding with tokens of zeros: padding still gets a share of the weights",
    hint="What is the score of a token of zeros, and what weight does softmax give to that score?",
)
class padding_replaced_by_zeros(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        if key_padding_mask is not None:
            context = context.masked_fill(key_padding_mask[..., None], 0.0)
        return super().forward(x, context)


@misconception(
    "CrossAttention",
    confuses="a low score with minus infinity: the scores of padding become a number that is not "
    "low enough",
    hint="What if the scores of real tokens are all near -20? Is your fill value far below them?",
)
class padding_not_low_enough(_Cross):
    def masked(self, scores, mask):
        return scores.masked_fill(mask[:, None, None], -10.0)


@misconception(
    "CrossAttention",
    confuses="the keys with the heads: softmax runs over dimension 1, the heads, instead of the "
    "keys",
    hint="In scores of shape (B, H, T, S), which dimension holds the keys?",
)
class softmax_over_the_heads(_Cross):
    def weights(self, scores):
        return torch.softmax(scores, 1).nan_to_num()


@misconception(
    "CrossAttention",
    confuses="attention with the block around it: x is added to the result",
    hint="Does the question ask for the sum of input and output?",
)
class residual_inside(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        return x + super().forward(x, context, key_padding_mask)


@misconception(
    "CrossAttention",
    confuses="these projections with those of later models, which have no bias: W_query, W_key and "
    "W_value have no bias",
    hint="Look at the names of the required parameters. Each layer has two.",
)
class projections_without_bias(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_context, d_model, bias=False)
        self.W_value = nn.Linear(d_context, d_model, bias=False)


@misconception(
    "CrossAttention",
    confuses="the size of a context token with the size of x: all layers expect inputs of size "
    "d_model",
    hint="Use a context whose tokens have a different size from those of x. What happens?",
)
class all_layers_from_d_model(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_model, num_heads)


@misconception(
    "CrossAttention",
    confuses="an exception of a given type with `assert`: `assert` raises AssertionError",
    hint="Which exception does `assert` raise, and which one does the question ask for?",
)
class assertion_error(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        assert d_model % num_heads == 0
        super().__init__(d_model, d_context, num_heads)


@misconception(
    "CrossAttention",
    confuses="a size that is divisible with one that is not: a number of heads that does not "
    "divide d_model is accepted",
    hint="Build it with a d_model of 6 and 4 heads. What should happen?",
)
class heads_that_do_not_divide(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, 1)
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads


@misconception(
    "CrossAttention",
    confuses="the output of a trained part with a constant: no gradient reaches the context",
    hint="Could an encoder that computes the context be trained? Look at the gradient of the "
    "context.",
)
class context_without_gradient(_Cross):
    def project(self, x, context):
        return super().project(x, context.detach())


@misconception(
    "CrossAttention",
    confuses="the mask of this call with that of an earlier one: the mask of an earlier call is "
    "used again",
    hint="Call it with a mask and then without one. Which tokens does the second call leave out?",
)
class mask_of_an_earlier_call(_Cross):
    kept = None

    def forward(self, x, context, key_padding_mask=None):
        if key_padding_mask is not None:
            self.kept = key_padding_mask
        if self.kept is not None and self.kept.shape == context.shape[:2]:
            key_padding_mask = self.kept
        return super().forward(x, context, key_padding_mask)


@misconception(
    "CrossAttention",
    confuses="the mask of each sample with that of the first: all samples use the mask of the "
    "first one",
    hint="Give two samples different padding, and change a padded token of the second one. Does "
    "the result change?",
)
class mask_of_the_first_sample(_Cross):
    def masked(self, scores, mask):
        return scores.masked_fill(mask[:1, None, None], -torch.inf)


@misconception(
    "CrossAttention",
    confuses="the dtype of the input with float32: precision is lost along the way",
    hint="Call it with float64 inputs. Which step is less precise?",
)
class float32_attention(_Cross):
    def weights(self, scores):
        return torch.softmax(scores.float(), -1).to(scores.dtype)


@misconception(
    "CrossAttention",
    confuses="a batch of one with a dimension that can be dropped: a batch of one loses its "
    "dimension",
    hint="Call it with a batch of one, and look at the shape of the result.",
)
class batch_of_one_dropped(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        return super().forward(x, context, key_padding_mask).squeeze(0)


@misconception(
    "CrossAttention",
    confuses="any device with the CPU: forward uses a tensor that is on the CPU even after the "
    "module is moved",
    hint="Which tensors does `module.to(device)` move? On which device is a tensor that you "
    "create?",
)
class root_stays_behind(_Cross):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__(d_model, d_context, num_heads)
        self.root = torch.tensor([float(self.head_dim)]).sqrt()

    def scale(self):
        return self.root


@misconception(
    "masked_attention",
    confuses="the mask of each head with that of the first: all heads use the mask of the first "
    "one",
    hint="Use a mask of shape (1, H, T, S) whose heads differ. Which mask does head 1 get?",
)
def mask_of_the_first_head(queries, keys, values, mask):
    if mask.dim() > 2 and mask.shape[-3] > 1 and queries.dim() > 3:
        mask = mask[..., :1, :, :]
    return _attend(queries, keys, values, mask)


@misconception(
    "CrossAttention",
    confuses="a computed context with data: no gradient reaches the layers that computed the "
    "context",
    hint="Let the context be the output of a linear layer. Does that layer get a gradient?",
)
class ContextOfALayerDetached(_Cross):
    def project(self, x, context):
        return super().project(x, context if context.is_leaf else context.detach())


@misconception(
    "CrossAttention",
    confuses="queries with keys: the padding mask is applied along the queries instead of the keys",
    hint="In scores of shape (B, H, T, S), which dimension is that of the S tokens of the context?",
)
class mask_along_the_queries(_Cross):
    def masked(self, scores, mask):
        return scores.masked_fill(mask[:, None, :, None], -torch.inf)


@misconception(
    "CrossAttention",
    confuses="a mask (B, S) with one for scores (B, H, T, S): the samples of the mask line "
    "up with the queries",
    hint="Align the shape of your mask with that of the scores from the right. Which dimension "
    "does B line up with?",
)
class mask_without_new_dimensions(_Cross):
    def masked(self, scores, mask):
        return scores.masked_fill(mask, -torch.inf)


@misconception(
    "CrossAttention",
    confuses="a mask (B, S) with one for scores (B, H, T, S): the samples of the mask line "
    "up with the queries",
    hint="Align the shape of your mask with that of the scores from the right. Which dimension "
    "does B line up with?",
)
class mask_without_new_dimensions_and_the_shape_of_x(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        q, k, v = map(self.split, self.project(x, context))
        scores = q @ k.mT / self.scale()
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask, -torch.inf)
        heads = self.weights(scores) @ v
        return self.out_proj(heads.transpose(1, 2).reshape(x.shape))


@misconception(
    "CrossAttention",
    confuses="a mask (B, S) with one for scores (B, H, T, S): the samples of the mask line "
    "up with the queries",
    hint="Align the shape of your mask with that of the scores from the right. Which dimension "
    "does B line up with?",
)
class mask_without_new_dimensions_in_every_call(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        if key_padding_mask is None:
            key_padding_mask = torch.zeros(context.shape[:2], dtype=torch.bool, device=x.device)
        heads = _attend(*map(self.split, self.project(x, context)), key_padding_mask)
        return self.out_proj(heads.transpose(1, 2).reshape(x.shape))


@misconception(
    "CrossAttention",
    confuses="the heads of one sample with the samples: the mask is repeated in the wrong order, "
    "so samples get the masks of other samples",
    hint="If heads and samples share a dimension, does row 1 belong to sample 1, or to head 1 of "
    "sample 0?",
)
class mask_repeated_in_another_order(_Cross):
    def masked(self, scores, mask):
        repeated = mask.repeat(self.num_heads, 1).unflatten(0, scores.shape[:2])
        return scores.masked_fill(repeated[:, :, None], -torch.inf)


@misconception(
    "CrossAttention",
    confuses="no mask with a mask that forbids everything: without a mask, all keys are forbidden",
    hint="Call it without key_padding_mask. Which tokens of the context are padding in that case?",
)
class no_mask_forbids_all(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        if key_padding_mask is None:
            key_padding_mask = torch.ones(context.shape[:2], dtype=torch.bool)
        return super().forward(x, context, key_padding_mask.to(x.device))


@misconception(
    "CrossAttention",
    confuses="separate calls with steps of generation, where the context stays the same: the keys "
    "of the first call are kept",
    hint="Call it twice with different contexts. Do both results match their contexts?",
)
class first_keys_kept(_Cross):
    kept = None

    def project(self, x, context):
        if self.kept is None:
            self.kept = self.W_key(context)
        return self.W_query(x), self.kept, self.W_value(context)


@misconception(
    "CrossAttention",
    confuses="the sequence of the queries with that of the keys: queries come from the context, "
    "keys and values come from x, and the result has the shape of x",
    hint="Which of the three projections should read x, and which should read the context?",
)
class sources_swapped_in_the_shape_of_x(_Cross):
    def forward(self, x, context, key_padding_mask=None):
        batch, tokens, size = x.shape
        q, k, v = map(self.split, (self.W_query(context), self.W_key(x), self.W_value(x)))
        scores = q @ k.mT / self.scale()
        if key_padding_mask is not None:
            scores = self.masked(scores, key_padding_mask)
        heads = self.weights(scores) @ v
        return self.out_proj(heads.transpose(1, 2).reshape(batch, tokens, size))


@misconception(
    "CrossAttention",
    confuses="queries with keys: the padding mask is applied along the queries instead of the keys",
    hint="In scores of shape (B, H, T, S), which dimension is that of the S tokens of the context?",
)
class mask_on_queries(_Cross):
    def masked(self, scores, mask):
        return scores.masked_fill(mask[:, None, :, None], -torch.inf)

    def merge(self, heads):
        return heads.transpose(1, 2).reshape(heads.shape[0], self.tokens, -1)

    def forward(self, x, context, key_padding_mask=None):
        self.tokens = x.shape[1]
        return super().forward(x, context, key_padding_mask)


@misconception(
    "CrossAttention",
    confuses="separate calls with steps of generation, where the context stays the same: the "
    "context of the first call is kept",
    hint="Call it twice with different contexts. Are the results different?",
)
class first_context_itself_kept(_Cross):
    kept = None

    def project(self, x, context):
        if self.kept is None:
            self.kept = context
        return super().project(x, self.kept)


@misconception(
    "padding_mask",
    confuses="all padded keys with the first one: only the first padded key is marked",
    hint="For a length of 2 and 5 keys, how many keys are padding, and how many are marked?",
)
def first_padding_marked(lengths, num_keys):
    return torch.arange(num_keys) == lengths[:, None]


@misconception(
    "masked_attention",
    confuses="a query's own row of the mask with all rows: a key that is forbidden for one query "
    "is hidden from all queries",
    hint="Mask a key for the first query only. Does the result for the second query change?",
)
def hidden_from_one_hidden_from_all(queries, keys, values, mask):
    scores = _scores(queries, keys)
    hidden = mask.expand(scores.shape).any(-2, keepdim=True)
    return torch.softmax(scores.masked_fill(hidden, -1e30), -1) @ values


@misconception(
    "masked_attention",
    confuses="a query's own row of the mask with all rows: a key is hidden only if it is forbidden "
    "for all queries",
    hint="Mask a key for the first query only. What weight does that query give to the key?",
)
def hidden_only_if_hidden_from_all(queries, keys, values, mask):
    scores = _scores(queries, keys)
    hidden = mask.expand(scores.shape).all(-2, keepdim=True)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), -1) @ values


@misconception(
    "masked_attention",
    confuses="each sample with the first: all samples use the mask of the first one",
    hint="Give two samples different masks, and change the second mask. Does the result change?",
)
def mask_of_sample_0(queries, keys, values, mask):
    scores = _scores(queries, keys)
    first = mask.expand(scores.shape)[:1] if scores.dim() > 2 else mask
    return torch.softmax(scores.masked_fill(first, -torch.inf), -1) @ values


@misconception(
    "masked_attention",
    confuses="a mask that is broadcast with one of the full shape: a mask that has to be broadcast "
    "raises an error",
    hint="Try a mask of shape (1, S), as for padding. Which step needs one entry for each score?",
)
def mask_of_the_full_shape_only(queries, keys, values, mask):
    scores = _scores(queries, keys)
    scores[mask] = -torch.inf
    return torch.softmax(scores, -1) @ values


@misconception(
    "CrossAttention",
    confuses="padding anywhere with padding at the end: only the number of padded tokens matters, "
    "and the last tokens are hidden",
    hint="Mark the first token of the context as padding and change it. Does your result change?",
)
class padding_at_the_end(_Cross):
    def masked(self, scores, mask):
        real = (~mask).sum(1, keepdim=True)
        last = torch.arange(mask.shape[1], device=mask.device) >= real
        return super().masked(scores, last)


@misconception(
    "CrossAttention",
    confuses="padding in one sample with padding in all samples: a token is hidden only if it is "
    "padding in every sample",
    hint="Mark a token of the first sample only, and change that token. Does your result change?",
)
class padding_of_all_samples_only(_Cross):
    def masked(self, scores, mask):
        return super().masked(scores, mask.all(0, keepdim=True).expand_as(mask))


@misconception(
    "CrossAttention",
    confuses="each sample with the first: the values are those of the first sample's context",
    hint="Change the context of the second sample so that its weights stay the same. Does its "
    "result change?",
)
class values_of_the_first_sample(_Cross):
    def project(self, x, context):
        queries, keys, values = super().project(x, context)
        return queries, keys, values[:1].expand_as(values)


@misconception(
    "masked_attention",
    confuses="a mask that is broadcast with one that lacks a dimension for heads: the mask gets a "
    "dimension for heads, whatever shape the inputs have",
    hint="Call it with a mask of shape (T, S) and inputs without a batch. How many dimensions does "
    "the result have?",
)
def dimension_for_heads_in_the_mask(queries, keys, values, mask):
    return _attend(queries, keys, values, mask.unsqueeze(1))


@misconception(
    "CrossAttention",
    confuses="values with keys: W_key computes the values as well as the keys",
    hint="Change W_value. Does the result change?",
)
class values_from_w_key(_Cross):
    def project(self, x, context):
        keys = self.W_key(context)
        return self.W_query(x), keys, keys


@misconception(
    "CrossAttention",
    confuses="a low score with minus infinity: the scores of padding become -50, and real scores "
    "may be almost as low",
    hint="What weight does padding get if the scores of all real tokens are -49?",
)
class padding_of_minus_fifty(_Cross):
    def masked(self, scores, mask):
        return scores.masked_fill(mask[:, None, None], -50.0)


@misconception(
    "masked_attention",
    confuses="a mask that is broadcast with one that lacks a dimension: the mask always gets a new "
    "first dimension",
    hint="Call it with inputs of shape (B, T, d) and a mask of shape (B, T, S). How many "
    "dimensions does the result have?",
)
def first_dimension_in_the_mask(queries, keys, values, mask):
    return _attend(queries, keys, values, mask.unsqueeze(0))
