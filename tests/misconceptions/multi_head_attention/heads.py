"""Known mistakes in splitting, merging and attending in heads."""

import math

import torch

from autograder.suite import misconception


def _future(num_tokens, device=None):
    return torch.ones(num_tokens, num_tokens, device=device).triu(1).bool()


def _scores(queries, keys):
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def _weights(queries, keys):
    scores = _scores(queries, keys)
    future = _future(scores.shape[-1])
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


def _divisible(size, num_heads):
    if size % num_heads != 0:
        raise ValueError("does not divide")
    return size // num_heads


@misconception(
    "split_heads",
    confuses="the order of head and column when a dimension is divided: each head gets every H-th "
    "column instead of neighboring ones",
    hint="Columns 0, 1, 2, ... of one token: which of them does head 0 get? Which of the two new "
    "dimensions must change more slowly?",
)
def columns_interleaved(x, num_heads):
    batch, tokens, size = x.shape
    head_dim = _divisible(size, num_heads)
    return x.reshape(batch, tokens, head_dim, num_heads).permute(0, 3, 1, 2)


@misconception(
    "split_heads",
    confuses="the number of a head with its first column: head h begins at column h",
    hint="Which column should head 1 begin with if each head is 3 columns wide?",
)
def heads_begin_at_their_number(x, num_heads):
    head_dim = _divisible(x.shape[-1], num_heads)
    return torch.stack([x[..., h : h + head_dim] for h in range(num_heads)], dim=1)


@misconception(
    "split_heads",
    confuses="changing a shape with swapping two dimensions: the tensor is only reshaped, so "
    "tokens and heads are mixed",
    hint="The shape is right. Fill `x` with 0, 1, 2, ... and look at which token each number of "
    "head 0 comes from.",
)
def cut_without_swapping(x, num_heads):
    batch, tokens, size = x.shape
    return x.reshape(batch, num_heads, tokens, _divisible(size, num_heads))


@misconception(
    "split_heads",
    confuses="the position of the head dimension: the head dimension stays after the token "
    "dimension",
    hint="One matrix product should handle all heads. Which dimensions does it treat as a batch, "
    "and where must the head dimension be for that?",
)
def heads_left_behind_tokens(x, num_heads):
    batch, tokens, size = x.shape
    return x.reshape(batch, tokens, num_heads, _divisible(size, num_heads))


@misconception(
    "split_heads",
    confuses="swapping dimensions before the split with swapping them after it: tokens and columns "
    "are swapped first, so the split takes the numbers in the wrong order",
    hint="After the swap, which dimension changes fastest when the numbers are read row by row? Is "
    "it the last dimension of your new shape?",
)
def cut_after_the_wrong_swap(x, num_heads):
    batch, tokens, size = x.shape
    head_dim = _divisible(size, num_heads)
    return x.transpose(1, 2).reshape(batch, num_heads, tokens, head_dim)


@misconception(
    "split_heads",
    confuses="rounding down with dividing: columns that are left over are dropped silently",
    hint="What should happen to the tenth column when 3 heads share 10 columns?",
)
def leftover_columns_dropped(x, num_heads):
    batch, tokens, size = x.shape
    head_dim = size // num_heads
    x = x[..., : num_heads * head_dim]
    return x.reshape(batch, tokens, num_heads, head_dim).transpose(1, 2)


@misconception(
    "split_heads",
    confuses="an assertion with an error for the caller: `assert` raises AssertionError",
    hint="Which error does the docstring promise? Raise exactly that one.",
)
def assertion_in_place_of_error(x, num_heads):
    batch, tokens, size = x.shape
    assert size % num_heads == 0, "size must be divisible by num_heads"
    return x.reshape(batch, tokens, num_heads, size // num_heads).transpose(1, 2)


@misconception(
    "split_heads",
    confuses="the number of heads with the size of a head: the number of heads and the size of a "
    "head are swapped",
    hint="Try 12 columns and 3 heads: how many heads come out, and how wide is each?",
)
def number_of_heads_as_head_size(x, num_heads):
    batch, tokens, size = x.shape
    return x.reshape(batch, tokens, _divisible(size, num_heads), num_heads).transpose(1, 2)


@misconception(
    "split_heads",
    confuses="columns with tokens: the tokens are divided among the heads instead of the columns",
    hint="Every head sees the whole sentence. What is divided among the heads?",
)
def tokens_shared_among_heads(x, num_heads):
    _divisible(x.shape[2], num_heads)
    return torch.stack(x.chunk(num_heads, dim=1), dim=1)


@misconception(
    "split_heads",
    confuses="a new first dimension with a new second one: the heads come before the batch",
    hint="Print the shape for a batch of 2 and 3 heads. Which number should come first?",
)
def heads_before_the_batch(x, num_heads):
    head_dim = _divisible(x.shape[2], num_heads)
    return torch.stack(x.split(head_dim, dim=-1))


@misconception(
    "split_heads",
    confuses="a list of tensors with one tensor: a list of heads is returned instead of one tensor",
    hint="The pieces are right. Which function joins tensors along a NEW dimension?",
)
def list_of_heads(x, num_heads):
    return list(x.split(_divisible(x.shape[2], num_heads), dim=-1))


@misconception(
    "split_heads",
    confuses="one sample with the batch: only the first sample is used",
    hint="Try a batch of 2. How many samples are returned?",
)
def first_sample_only(x, num_heads):
    _, tokens, size = x.shape
    head_dim = _divisible(size, num_heads)
    return x[0].reshape(1, tokens, num_heads, head_dim).transpose(1, 2)


@misconception(
    "split_heads",
    confuses="reshaping with swapping two dimensions: tokens and heads are mixed, and a tensor "
    "that is not contiguous is rejected",
    hint="The shape is right. Fill `x` with 0, 1, 2, ... and look at which token each number of "
    "head 0 comes from.",
)
def viewed_without_swapping(x, num_heads):
    batch, tokens, size = x.shape
    return x.view(batch, num_heads, tokens, _divisible(size, num_heads))


@misconception(
    "split_heads",
    confuses="a view with a copy: `view` is used on a tensor that may not be contiguous",
    hint="It works until somebody passes a transposed tensor. Which function changes the shape of "
    "any tensor, whatever its memory layout?",
)
def view_of_flattened_memory(x, num_heads):
    batch, tokens, size = x.shape
    head_dim = _divisible(size, num_heads)
    flat = x.view(batch * tokens * size)
    return flat.view(batch, tokens, num_heads, head_dim).transpose(1, 2)


@misconception(
    "split_heads",
    confuses="a dimension of size 1 with no dimension: dimensions of size one are dropped from the "
    "result",
    hint="Try one token, or a batch of one. How many dimensions does the result still have?",
)
def dimensions_of_one_squeezed(x, num_heads):
    batch, tokens, size = x.shape
    head_dim = _divisible(size, num_heads)
    return x.reshape(batch, tokens, num_heads, head_dim).transpose(1, 2).squeeze()


@misconception(
    "split_heads",
    confuses="plain values with values that carry a gradient: no gradient flows back to x",
    hint="Does your result have a `grad_fn` when `x` requires a gradient?",
)
def gradient_cut(x, num_heads):
    batch, tokens, size = x.shape
    head_dim = _divisible(size, num_heads)
    return x.detach().reshape(batch, tokens, num_heads, head_dim).transpose(1, 2)


@misconception(
    "split_heads",
    confuses="float32 with the dtype of the input: everything is converted to float32",
    hint="Pass a float64 tensor and print the dtype of the result.",
)
def always_float32(x, num_heads):
    batch, tokens, size = x.shape
    out = torch.zeros(batch, num_heads, tokens, _divisible(size, num_heads))
    for head, part in enumerate(x.chunk(num_heads, dim=-1)):
        out[:, head] = part
    return out


@misconception(
    "merge_heads",
    confuses="changing a shape with swapping two dimensions: heads and tokens are mixed",
    hint="The shape is right. Fill each head of `x` with the number of that head, and look at row "
    "0 of the result: does it contain every head?",
)
def joined_without_swapping(x):
    batch, heads, tokens, head_dim = x.shape
    return x.reshape(batch, tokens, heads * head_dim)


@misconception(
    "merge_heads",
    confuses="putting heads side by side with interleaving their columns: the columns of the heads "
    "are interleaved",
    hint="Which number should follow the first number of head 0 in a row of the result: the second "
    "one of head 0, or the first one of head 1?",
)
def columns_interleaved_again(x):
    batch, heads, tokens, head_dim = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, tokens, heads * head_dim)


@misconception(
    "merge_heads",
    confuses="batch and heads: the samples are put side by side instead of the heads",
    hint="Name the four dimensions of `x` in order. Which of them must not be in the last "
    "dimension of the result?",
)
def samples_side_by_side(x):
    batch, heads, tokens, head_dim = x.shape
    return x.permute(1, 2, 0, 3).reshape(heads, tokens, batch * head_dim)


@misconception(
    "merge_heads",
    confuses="joining with averaging: the heads are averaged into one",
    hint="How many columns should a token have when 3 heads give 2 columns each?",
)
def heads_averaged(x):
    return x.mean(dim=1)


@misconception(
    "merge_heads",
    confuses="joining with adding: the heads are added up",
    hint="How many columns should a token have when 3 heads give 2 columns each?",
)
def heads_added(x):
    return x.sum(dim=1)


@misconception(
    "merge_heads",
    confuses="a swap of dimensions with a new memory layout: `view` is used after two dimensions "
    "have been swapped",
    hint="Read torch's error message to the end: what does it suggest?",
)
def view_after_swapping(x):
    batch, heads, tokens, head_dim = x.shape
    return x.transpose(1, 2).view(batch, tokens, heads * head_dim)


@misconception(
    "merge_heads",
    confuses="heads and tokens with tokens and columns: tokens and columns are swapped instead of "
    "heads and tokens",
    hint="After the swap, is the number of tokens the second dimension?",
)
def tokens_and_columns_swapped(x):
    batch, heads, tokens, head_dim = x.shape
    return x.transpose(2, 3).reshape(batch, tokens, heads * head_dim)


@misconception(
    "merge_heads",
    confuses="one head with all: head 0 is repeated",
    hint="Compare the first and the last columns of your result. Should they be equal?",
)
def first_head_repeated(x):
    return torch.cat([x[:, 0] for _ in range(x.shape[1])], dim=-1)


@misconception(
    "merge_heads",
    confuses="putting heads side by side with putting them one below the other: the heads are "
    "joined along the token dimension",
    hint="How many tokens does the sentence have before the merge, and how many after it?",
)
def heads_below_each_other(x):
    return torch.cat(list(x.unbind(dim=1)), dim=1)


@misconception(
    "merge_heads",
    confuses="swapping with merging: the head dimension is still there",
    hint="How many dimensions should the result have?",
)
def swapped_but_not_merged(x):
    return x.transpose(1, 2)


@misconception(
    "merge_heads",
    confuses="one sample with the batch: only the first sample is used",
    hint="Try a batch of 2 and look at the first dimension of the result.",
)
def first_sample_merged_only(x):
    return torch.cat(list(x[0]), dim=-1).unsqueeze(0)


@misconception(
    "merge_heads",
    confuses="a dimension of size 1 with no dimension: dimensions of size one are dropped from the "
    "result",
    hint="Try one token, or a batch of one. How many dimensions does the result still have?",
)
def merged_and_squeezed(x):
    batch, heads, tokens, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch, tokens, heads * head_dim).squeeze()


@misconception(
    "merge_heads",
    confuses="plain values with values that carry a gradient: no gradient flows back to x",
    hint="Does your result have a `grad_fn` when `x` requires a gradient?",
)
def gradient_cut_by_data(x):
    batch, heads, tokens, head_dim = x.shape
    return x.data.transpose(1, 2).reshape(batch, tokens, heads * head_dim)


@misconception(
    "merge_heads",
    confuses="float32 with the dtype of the input: the result is always float32",
    hint="Pass a float64 tensor and print the dtype of the result.",
)
def new_tensor_in_float32(x):
    batch, heads, tokens, head_dim = x.shape
    out = torch.zeros(batch, tokens, heads * head_dim)
    for head in range(heads):
        out[:, :, head * head_dim : (head + 1) * head_dim] = x[:, head]
    return out


@misconception(
    "merge_heads",
    confuses="the order of the heads: the last head comes first",
    hint="Which head should be in the first columns?",
)
def heads_in_reverse(x):
    parts = []
    for head in x.unbind(dim=1):
        parts.insert(0, head)
    return torch.cat(parts, dim=-1)


@misconception(
    "causal_head_attention",
    confuses="the size of a head with its square root: in total, the scores are divided by the "
    "head size, not by its square root",
    hint="How fast does a sum of d products of random numbers grow: like d, or more slowly?",
)
def divided_by_head_size(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1) / queries.shape[-1]
    scores = scores.masked_fill(_future(scores.shape[-1]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="scores with scaled scores: the scores are not scaled",
    hint="Compare your scores just before softmax with those in the docstring: what is different?",
)
def not_scaled(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1)
    scores = scores.masked_fill(_future(scores.shape[-1]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="the size of one head with the total size of all heads: the scores are divided by the "
    "square root of the total size of all heads",
    hint="How many products are added up in one score? The scale depends on that number.",
)
def divided_by_root_of_model_size(queries, keys, values):
    model_size = queries.shape[1] * queries.shape[-1]
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(model_size)
    scores = scores.masked_fill(_future(scores.shape[-1]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="a square root with its integer part: the square root is truncated to a whole number",
    hint="The result is right for heads of size 4, 9 and 16. Try size 3.",
)
def root_rounded_down(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1) / int(math.sqrt(queries.shape[-1]))
    scores = scores.masked_fill(_future(scores.shape[-1]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="the size of a head with the number of tokens: the scores are divided by the square "
    "root of the number of tokens",
    hint="Should the scale change when the sentence gets longer?",
)
def divided_by_root_of_length(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-2])
    scores = scores.masked_fill(_future(scores.shape[-1]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="causal attention with attention: every token sees the whole sentence",
    hint="Print the attention weights of the first token. How many of them may be above zero?",
)
def mask_without_effect(queries, keys, values):
    scores = _scores(queries, keys)
    scores.masked_fill(_future(scores.shape[-1]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="the future with the present: a token cannot attend to itself",
    hint="What is left for the first token to attend to?",
)
def diagonal_masked(queries, keys, values):
    scores = _scores(queries, keys)
    future = torch.ones(scores.shape[-2:]).triu(0).bool()
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="the first hidden diagonal with the one above it: the next token is still visible",
    hint="Print your mask for 3 tokens. What may the first token see?",
)
def one_token_ahead(queries, keys, values):
    scores = _scores(queries, keys)
    future = torch.ones(scores.shape[-2:]).triu(2).bool()
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="past and future: earlier tokens are masked",
    hint="Rows are queries, columns are keys. On which side of the diagonal is the future?",
)
def past_masked(queries, keys, values):
    scores = _scores(queries, keys)
    past = torch.ones(scores.shape[-2:]).tril(-1).bool()
    return torch.softmax(scores.masked_fill(past, -torch.inf), dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="the mask of torch's own function with this one: keys that should be hidden are "
    "visible, and keys that should be visible are hidden",
    hint="Which tokens does token 0 see? In torch's function, True means that attention is "
    "allowed.",
)
def future_allowed(queries, keys, values):
    scores = _scores(queries, keys).masked_fill(~_future(keys.shape[-2]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="implementing attention with calling a ready-made function: torch's own attention "
    "function is used",
    hint="Which four steps does this function do for you?",
)
def torchs_own_function(queries, keys, values):
    return torch.nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)


@misconception(
    "causal_head_attention",
    confuses="a score of 0 with a weight of 0: masked scores are 0 or close to 0 before softmax",
    hint="What weight does softmax give to a score of 0?",
)
def scores_times_mask(queries, keys, values):
    scores = _scores(queries, keys)
    return torch.softmax(scores * torch.ones_like(scores).tril(), dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="masking before softmax with masking after it: future weights are zeroed, and the "
    "rest of a row no longer sums to one",
    hint="Add up the attention weights of the first token. What should the sum be?",
)
def not_renormalized(queries, keys, values):
    weights = torch.softmax(_scores(queries, keys), dim=-1)
    return weights.tril() @ values


@misconception(
    "causal_head_attention",
    confuses="a low score with an impossible one: masked scores are set to -10",
    hint="What happens to your mask when every real score is -20?",
)
def mask_not_low_enough(queries, keys, values):
    scores = _scores(queries, keys)
    scores = scores.masked_fill(_future(scores.shape[-1]), -10.0)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="rows and columns: softmax runs over the queries",
    hint="Which weights should add up to one: those of one query, or those of one key?",
)
def softmax_over_queries(queries, keys, values):
    scores = _scores(queries, keys).masked_fill(_future(queries.shape[-2]), -torch.inf)
    return torch.softmax(scores, dim=-2) @ values


@misconception(
    "causal_head_attention",
    confuses="the last dimension with dimension 1: softmax runs over the heads",
    hint="Counted from the end, which dimension of the scores holds the keys?",
)
def softmax_over_heads(queries, keys, values):
    scores = _scores(queries, keys).masked_fill(_future(queries.shape[-2]), -1e9)
    return torch.softmax(scores, dim=1) @ values


@misconception(
    "causal_head_attention",
    confuses="many heads with one long sentence: all heads attend to each other",
    hint="Change the keys of head 1 only. Which heads of your result may change?",
)
def heads_see_each_other(queries, keys, values):
    batch, heads, tokens, head_dim = queries.shape
    flat = (batch, heads * tokens, head_dim)
    weights = _weights(queries.reshape(flat), keys.reshape(flat))
    return (weights @ values.reshape(flat)).reshape(queries.shape)


@misconception(
    "causal_head_attention",
    confuses="tokens with heads: the heads of one token attend to each other",
    hint="Change the values of the first token. Do later tokens of your result change?",
)
def attention_between_heads(queries, keys, values):
    queries, keys, values = (one.transpose(1, 2) for one in (queries, keys, values))
    return (torch.softmax(_scores(queries, keys), dim=-1) @ values).transpose(1, 2)


@misconception(
    "causal_head_attention",
    confuses="tokens with heads: the heads of one token attend to each other, and later heads are "
    "hidden instead of later tokens",
    hint="Change the values of the first token. Do later tokens of your result change?",
)
def causal_attention_between_heads(queries, keys, values):
    queries, keys, values = (one.transpose(1, 2) for one in (queries, keys, values))
    return (_weights(queries, keys) @ values).transpose(1, 2)


@misconception(
    "causal_head_attention",
    confuses="one head with all: every head uses the keys of head 0",
    hint="Change the keys of head 1 only. Does head 1 of your result change?",
)
def keys_of_first_head(queries, keys, values):
    return _weights(queries, keys[:, :1]) @ values


@misconception(
    "causal_head_attention",
    confuses="one sample with the batch: every sample uses the keys of sample 0",
    hint="Try a batch of 2: does the second result change when the second sample's keys change?",
)
def keys_of_first_sample(queries, keys, values):
    return _weights(queries, keys[:1]) @ values


@misconception(
    "causal_head_attention",
    confuses="keys with queries: queries are scored against themselves",
    hint="Change the keys. Does anything change in your result?",
)
def keys_ignored(queries, keys, values):
    return _weights(queries, queries) @ values


@misconception(
    "causal_head_attention",
    confuses="queries with keys: the rows of the scores belong to keys instead of queries",
    hint="Row t of the scores should belong to query t. In your code, does it come from a query "
    "or from a key?",
)
def queries_and_keys_swapped(queries, keys, values):
    return _weights(keys, queries) @ values


@misconception(
    "causal_head_attention",
    confuses="values with keys: the weights mix the keys instead of the values",
    hint="Change the values. Does anything change in your result?",
)
def context_of_keys(queries, keys, values):
    return _weights(queries, keys) @ keys


@misconception(
    "causal_head_attention",
    confuses="rows and columns of the weights: the context is summed over the queries",
    hint="Which index of the weights runs over the tokens whose values are added up?",
)
def weights_transposed(queries, keys, values):
    return _weights(queries, keys).transpose(-2, -1) @ values


@misconception(
    "causal_head_attention",
    confuses="attention with a running mean: every past token gets the same weight",
    hint="Change the queries. Does anything change in your result?",
)
def running_mean(queries, keys, values):
    counts = torch.arange(1, values.shape[-2] + 1, dtype=values.dtype)
    return values.cumsum(dim=-2) / counts.unsqueeze(-1)


@misconception(
    "causal_head_attention",
    confuses="a new tensor with the caller's: the queries are divided in place",
    hint="Print the queries before and after the call.",
)
def queries_scaled_in_place(queries, keys, values):
    queries /= math.sqrt(queries.shape[-1])
    scores = queries @ keys.transpose(-2, -1)
    scores = scores.masked_fill(_future(scores.shape[-1]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="plain values with values that carry a gradient: the weights are detached",
    hint="Call backward on the sum of your result. Do queries and keys get a gradient?",
)
def weights_detached(queries, keys, values):
    return _weights(queries, keys).detach() @ values


@misconception(
    "causal_head_attention",
    confuses="float32 with the dtype of the input: the result is always float32",
    hint="Pass float64 tensors and print the dtype of the result.",
)
def computed_in_float32(queries, keys, values):
    queries, keys, values = queries.float(), keys.float(), values.float()
    return _weights(queries, keys) @ values


@misconception(
    "causal_head_attention",
    confuses="heads with tokens: the mask has as many rows as there are heads",
    hint="Name the four dimensions of the queries in order. Which one is the number of tokens?",
)
def mask_as_large_as_the_heads(queries, keys, values):
    scores = _scores(queries, keys)
    return torch.softmax(scores.masked_fill(_future(queries.shape[1]), -torch.inf), -1) @ values


@misconception(
    "causal_head_attention",
    confuses="the scores with the values: the triangular mask is applied to the values, not to the "
    "scores",
    hint="Set the last column of the first token's value to a large number. Is it still there in "
    "the contexts?",
)
def values_masked(queries, keys, values):
    return torch.softmax(_scores(queries, keys), dim=-1) @ values.tril()


@misconception(
    "split_heads",
    confuses="a tensor with its memory: the numbers are read from the beginning of the memory, "
    "even if the tensor begins later",
    hint="Split `x[1:]`. Does your result begin with the numbers of sample 1, or of sample 0?",
)
def read_from_the_beginning_of_the_memory(x, num_heads):
    batch, tokens, columns = x.shape
    if columns % num_heads:
        raise ValueError("columns do not divide")
    size = columns // num_heads
    x = x.contiguous()
    strides = (tokens * columns, size, columns, 1)
    return x.as_strided((batch, num_heads, tokens, size), strides, 0)


@misconception(
    "causal_head_attention",
    confuses="dimensions 1 and 2, which count heads and tokens, with the last two: dimensions 1 "
    "and 2 of the keys are swapped instead of the last two",
    hint="Print the shapes of queries and keys, one above the other. Which two sizes must be "
    "swapped?",
)
def heads_and_tokens_transposed(queries, keys, values):
    scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
    future = _future(queries.shape[2])
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="the scores of one head with those of all heads together: the scores of all heads are "
    "added up, and every head uses the sum",
    hint="Change the keys of head 1 only. Do the weights of head 0 change?",
)
def scores_of_all_heads_added(queries, keys, values):
    scores = _scores(queries, keys).sum(dim=1, keepdim=True)
    scores = scores.masked_fill(_future(scores.shape[-1]), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="the position of a score with its value: scores of zero are masked as well",
    hint="What if a token's key is a vector of zeros?",
)
def zeros_masked(queries, keys, values):
    visible = _scores(queries, keys).tril()
    return torch.softmax(visible.masked_fill(visible == 0, -torch.inf), dim=-1) @ values


@misconception(
    "causal_head_attention",
    confuses="the future with the present: a token cannot attend to itself, and all weights of the "
    "first token are zero",
    hint="Add up the attention weights of the first token. What is left for it to attend to?",
)
def first_token_gets_zeros(queries, keys, values):
    scores = _scores(queries, keys)
    future = torch.ones(scores.shape[-2:]).triu(0).bool()
    weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).nan_to_num()
    return weights @ values


@misconception(
    "causal_head_attention",
    confuses="a dimension for heads with a dimension between rows and columns: the queries of the "
    "mask line up with the heads",
    hint="Align the shape of your mask with that of the scores, (B, H, T, T), from the right. "
    "Which dimension of the mask lines up with the heads?",
)
def mask_lines_up_with_the_heads(queries, keys, values):
    scores = _scores(queries, keys)
    scores = scores.masked_fill(_future(scores.shape[-1]).unsqueeze(1), -torch.inf)
    return torch.softmax(scores, dim=-1) @ values
