"""Known mistakes in heads with stacked weights."""

import math

import torch

from autograder.suite import misconception


def _qkv(inputs, W_query, W_key, W_value):
    return tuple(inputs @ W.transpose(1, 2) for W in (W_query, W_key, W_value))


def _side_by_side(context):
    return context.transpose(0, 1).flatten(1)


@misconception(
    "project_heads",
    confuses="(d_out, d_in) with (d_in, d_out): the matrices are not transposed",
    hint="Write the shape under each factor. Which two sizes must be equal, and are they next to "
    "each other?",
)
def weights_not_transposed(inputs, weights):
    return inputs @ weights


@misconception(
    "project_heads",
    confuses="transposing with reshaping: a matrix is reshaped where it should be transposed",
    hint="Fill a 2 x 3 weight with the numbers 0 to 5. Is the matrix that you use its transpose?",
)
def weights_reshaped(inputs, weights):
    heads, d_out, d_in = weights.shape
    return inputs @ weights.reshape(heads, d_in, d_out)


@misconception(
    "project_heads",
    confuses="tokens and heads: the heads come after the tokens",
    hint="Which dimension should a batch matrix product treat as its batch? That dimension comes "
    "first.",
)
def heads_behind_tokens(inputs, weights):
    return torch.einsum("ti,hoi->tho", inputs, weights)


@misconception(
    "project_heads",
    confuses="the product of weights and transposed inputs with the result: columns come before "
    "tokens",
    hint="The numbers are right. Print the shape, and name each of its dimensions.",
)
def columns_before_tokens(inputs, weights):
    return torch.bmm(weights, inputs.T.repeat(weights.shape[0], 1, 1))


@misconception(
    "project_heads",
    confuses="swapping two dimensions with reshaping: the result is reshaped where two dimensions "
    "should be swapped",
    hint="The shape is right. Compare head 0 of your result with `inputs @ weights[0].T`.",
)
def result_reshaped(inputs, weights):
    stacked = inputs.T.repeat(weights.shape[0], 1, 1)
    product = torch.bmm(weights, stacked)
    return product.reshape(weights.shape[0], inputs.shape[0], weights.shape[1])


@misconception(
    "project_heads",
    confuses="one head with all: the first matrix is used for every head",
    hint="Change the last matrix only. Does the last head of the result change?",
)
def first_matrix_for_all(inputs, weights):
    return torch.stack([inputs @ weights[0].T for _ in weights])


@misconception(
    "project_heads",
    confuses="a projection with a merge: the heads are already merged",
    hint="How many dimensions should the result have?",
)
def merged_too_early(inputs, weights):
    return torch.cat([inputs @ weight.T for weight in weights], dim=-1)


@misconception(
    "project_heads",
    confuses="one matrix per head with the sum of all matrices: the projections of all heads are "
    "added up",
    hint="Is there still a dimension for the heads?",
)
def heads_summed(inputs, weights):
    return torch.einsum("ti,hoi->to", inputs, weights)


@misconception(
    "project_heads",
    confuses="repeating the sentence with repeating each token: each token is repeated, not the "
    "whole sentence",
    hint="What should head 0 see: the whole sentence once, or its first token several times?",
)
def tokens_repeated(inputs, weights):
    heads = weights.shape[0]
    repeated = inputs.repeat_interleave(heads, dim=0).reshape(heads, *inputs.shape)
    return torch.bmm(repeated, weights.transpose(1, 2))


@misconception(
    "project_heads",
    confuses="plain values with values that carry a gradient: no gradient flows to the weights",
    hint="Does the gradient of the result reach the weights?",
)
def data_of_weights(inputs, weights):
    return inputs @ weights.data.transpose(1, 2)


@misconception(
    "project_heads",
    confuses="float32 with the dtype of the inputs: the result is always float32",
    hint="Pass float64 tensors and print the dtype of the result.",
)
def projected_into_float32(inputs, weights):
    out = torch.zeros(weights.shape[0], inputs.shape[0], weights.shape[1])
    for head, weight in enumerate(weights):
        out[head] = inputs @ weight.T
    return out


@misconception(
    "project_heads",
    confuses="a dimension of size 1 with no dimension: dimensions of size one are dropped from the "
    "result",
    hint="Try one head, or one token. How many dimensions does the result still have?",
)
def projection_squeezed(inputs, weights):
    return (inputs @ weights.transpose(1, 2)).squeeze()


@misconception(
    "project_heads",
    confuses="projecting with attending: softmax runs over the projected columns",
    hint="Which step of attention does this question ask for? Which steps come later?",
)
def softmax_too_early(inputs, weights):
    return torch.softmax(inputs @ weights.transpose(1, 2), dim=-1)


@misconception(
    "per_head_attention",
    confuses="the size of a head with its square root: in total, the scores are divided by d_k, "
    "not by its square root",
    hint="How fast does a sum of d_k products of random numbers grow with d_k?",
)
def divided_by_d_k(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT / W_query.shape[1], dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="scores with scaled scores: the scores are not scaled",
    hint="Which step comes between the scores and softmax?",
)
def scores_not_scaled(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT, dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="the size of one head with the total size of all heads: the scores are divided by the "
    "square root of the total size of all heads",
    hint="How many products are added up in one score?",
)
def scaled_by_all_heads(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    scale = math.sqrt(W_query.shape[0] * W_query.shape[1])
    return _side_by_side(torch.softmax(q @ k.mT / scale, dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="the size of a value with the size of a key: the scores are divided by the square "
    "root of the size of a value",
    hint="From which two vectors is a score computed? How long are they?",
)
def scaled_by_value_size(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT / math.sqrt(W_value.shape[1]), dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="the size of an input with the size of a key: the scores are divided by the square "
    "root of the size of an input vector",
    hint="From which two vectors is a score computed? How long are they after the projection?",
)
def scaled_by_input_size(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT / math.sqrt(inputs.shape[1]), dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="one attention for each head with one for all: the queries and keys of all heads are "
    "scored together",
    hint="Change the key weights of head 1. May the weights of head 0 change?",
)
def heads_scored_together(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    scores = (q @ k.mT).sum(0) / math.sqrt(W_query.shape[0] * W_query.shape[1])
    return _side_by_side(torch.softmax(scores, dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="a square root with its integer part: the square root is truncated to a whole number",
    hint="The result is right for keys of size 4 and 9. Try size 3.",
)
def scale_rounded_down(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT / int(math.sqrt(W_query.shape[1])), dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="attention with causal attention: the future is hidden",
    hint="Does the docstring mention a mask? May the first token see the last one here?",
)
def future_hidden(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    scores = q @ k.mT / math.sqrt(W_query.shape[1])
    future = torch.ones(scores.shape[-2:]).triu(1).bool()
    return _side_by_side(torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="queries with keys: softmax runs over the queries",
    hint="Counted from the end, which dimension of the scores holds the keys?",
)
def softmax_over_dimension_1(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=1) @ v)


@misconception(
    "per_head_attention",
    confuses="the heads with the keys: softmax runs over the heads",
    hint="Add up the weights of one query in one head. What should the sum be?",
)
def softmax_over_dimension_0(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=0) @ v)


@misconception(
    "per_head_attention",
    confuses="swapping heads and tokens with reshaping: the result is reshaped where heads and "
    "tokens should be swapped",
    hint="The shape is right. Which heads and tokens do the numbers of row 0 come from?",
)
def merged_without_swapping(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    context = torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1) @ v
    return context.reshape(inputs.shape[0], -1)


@misconception(
    "per_head_attention",
    confuses="putting heads side by side with interleaving their columns: the columns of the heads "
    "are interleaved",
    hint="Which columns of the result belong to head 0?",
)
def contexts_interleaved(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    context = torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1) @ v
    return context.permute(1, 2, 0).flatten(1)


@misconception(
    "per_head_attention",
    confuses="putting heads side by side with averaging them: the heads are averaged instead of "
    "being put side by side",
    hint="How many columns should the result have for 3 heads with values of size 2?",
)
def contexts_averaged(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return (torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1) @ v).mean(dim=0)


@misconception(
    "per_head_attention",
    confuses="putting heads side by side with putting them one below the other: the heads are "
    "joined along the token dimension",
    hint="How many rows should the result have?",
)
def contexts_below_each_other(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    context = torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1) @ v
    return torch.cat(list(context), dim=0)


@misconception(
    "per_head_attention",
    confuses="attention of all heads with the result: the heads are not merged",
    hint="How many dimensions should the result have?",
)
def heads_not_merged(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1) @ v


@misconception(
    "per_head_attention",
    confuses="values per head with attention per head: all heads share the attention of head 0",
    hint="Change the query weights of the last head only. Does anything change?",
)
def attention_of_head_0_shared(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q[0] @ k[0].T / math.sqrt(W_query.shape[1]), dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="one key matrix for each head with one for all: all heads use the keys of head 0",
    hint="Change the key weights of the last head only. Does anything change?",
)
def keys_of_head_0_shared(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    weights = torch.softmax(q @ k[:1].mT / math.sqrt(W_query.shape[1]), dim=-1)
    return _side_by_side(weights @ v)


@misconception(
    "per_head_attention",
    confuses="one value matrix for each head with one for all: all heads use the values of head 0",
    hint="Change the value weights of the last head only. Does anything change?",
)
def values_of_head_0_shared(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1)
    return _side_by_side(weights @ v[:1])


@misconception(
    "per_head_attention",
    confuses="many heads with one long sentence: all heads attend to each other",
    hint="Change the key weights of head 1 only. Which columns of the result may change?",
)
def heads_not_apart(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    heads, tokens, d_k = q.shape
    scores = q.reshape(-1, d_k) @ k.reshape(-1, d_k).T / math.sqrt(d_k)
    context = torch.softmax(scores, dim=-1) @ v.reshape(heads * tokens, -1)
    return _side_by_side(context.reshape(heads, tokens, -1))


@misconception(
    "per_head_attention",
    confuses="queries with keys: the rows of the scores belong to keys instead of queries",
    hint="Row t of the scores should belong to query t. In your code, which projection does it "
    "come from?",
)
def query_and_key_swapped(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(k @ q.mT / math.sqrt(W_query.shape[1]), dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="scores with weights: the scores are used as weights, without softmax",
    hint="Add up the numbers that one query's values are multiplied by. What should the sum be?",
)
def softmax_left_out(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(q @ k.mT / math.sqrt(W_query.shape[1]) @ v)


@misconception(
    "per_head_attention",
    confuses="the inputs with the values: the value weights are not used",
    hint="How wide is the context of one head: as wide as an input, or as a value?",
)
def inputs_as_values(inputs, W_query, W_key, W_value):
    q, k, _ = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1) @ inputs)


@misconception(
    "per_head_attention",
    confuses="plain values with values that carry a gradient: the attention weights are detached",
    hint="Call backward on the sum of the result. Do query and key weights get a gradient?",
)
def attention_detached(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    weights = torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1).detach()
    return _side_by_side(weights @ v)


@misconception(
    "per_head_attention",
    confuses="float32 with the dtype of the input: the result is always float32",
    hint="Pass float64 tensors and print the dtype of the result.",
)
def attention_in_float32(inputs, W_query, W_key, W_value):
    arguments = (tensor.float() for tensor in (inputs, W_query, W_key, W_value))
    q, k, v = _qkv(*arguments)
    return _side_by_side(torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1) @ v)


@misconception(
    "per_head_attention",
    confuses="a dimension of size 1 with no dimension: dimensions of size one are dropped from the "
    "result",
    hint="Try one token. How many dimensions does the result still have?",
)
def attention_squeezed(inputs, W_query, W_key, W_value):
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    context = torch.softmax(q @ k.mT / math.sqrt(W_query.shape[1]), dim=-1) @ v
    return _side_by_side(context).squeeze()


@misconception(
    "per_head_attention",
    confuses="a new tensor with the caller's: the query weights are scaled in place",
    hint="Print `W_query` before and after the call.",
)
def weights_scaled_in_place(inputs, W_query, W_key, W_value):
    W_query /= math.sqrt(W_query.shape[1])
    q, k, v = _qkv(inputs, W_query, W_key, W_value)
    return _side_by_side(torch.softmax(q @ k.mT, dim=-1) @ v)


@misconception(
    "slice_value_heads",
    confuses="counting from one with counting from zero: the first head's columns are left out",
    hint="How many columns does the result have, and how many do the values have?",
)
def first_head_left_out(weights, values, num_heads):
    size = values.shape[-1] // num_heads
    return weights @ values[:, size : num_heads * size]


@misconception(
    "slice_value_heads",
    confuses="all columns with those that make full slices: columns that do not fill a slice are "
    "kept",
    hint="How many columns should remain when 7 value columns are cut into 3 slices?",
)
def leftover_columns_kept(weights, values, num_heads):
    return weights @ values


@misconception(
    "slice_value_heads",
    confuses="this question with split_heads: sizes that are not divisible by the number of slices "
    "are rejected",
    hint="What does the docstring say about columns that are left over?",
)
def leftover_columns_refused(weights, values, num_heads):
    if values.shape[1] % num_heads:
        raise ValueError("does not divide")
    return weights @ values


@misconception(
    "slice_value_heads",
    confuses="the first columns with the last: the first columns are left out instead of the last",
    hint="Which columns does slice 0 hold? Which ones are left over after the last slice?",
)
def left_out_at_the_front(weights, values, num_heads):
    return weights @ values[:, values.shape[1] % num_heads :]


@misconception(
    "slice_value_heads",
    confuses="neighboring columns with every H-th column: each slice gets every H-th column "
    "instead of neighboring ones",
    hint="Which columns belong to slice 0 when 6 columns are cut into 3 slices?",
)
def every_hth_column(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    slices = [values[:, head::num_heads][:, :head_dim] for head in range(num_heads)]
    return torch.cat([weights @ one for one in slices], dim=1)


@misconception(
    "slice_value_heads",
    confuses="the number of a slice with its first column: slice h begins at column h",
    hint="Which column should slice 1 begin with if each slice is 3 columns wide?",
)
def slices_begin_at_their_number(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    slices = [values[:, head : head + head_dim] for head in range(num_heads)]
    return torch.cat([weights @ one for one in slices], dim=1)


@misconception(
    "slice_value_heads",
    confuses="one slice with all: slice 0 is used every time",
    hint="Compare the first and the last columns of the result. Should they be equal?",
)
def first_slice_repeated(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    return torch.cat([weights @ values[:, :head_dim]] * num_heads, dim=1)


@misconception(
    "slice_value_heads",
    confuses="putting slices side by side with averaging them: the slices are averaged instead of "
    "being put side by side",
    hint="How many columns should the result have?",
)
def slices_averaged(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    kept = values[:, : num_heads * head_dim].reshape(-1, num_heads, head_dim)
    return weights @ kept.mean(dim=1)


@misconception(
    "slice_value_heads",
    confuses="columns with tokens: the tokens are sliced instead of the columns",
    hint="Every slice holds all tokens. What is divided among the slices?",
)
def tokens_sliced(weights, values, num_heads):
    size = values.shape[0] // num_heads
    parts = [
        weights[:, head * size : (head + 1) * size] @ values[head * size : (head + 1) * size]
        for head in range(num_heads)
    ]
    return torch.cat(parts, dim=1)


@misconception(
    "slice_value_heads",
    confuses="joining with stacking: the slices are stacked along a new dimension",
    hint="How many dimensions should the result have?",
)
def slices_stacked(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    return torch.stack(
        [weights @ values[:, i * head_dim : (i + 1) * head_dim] for i in range(num_heads)]
    )


@misconception(
    "slice_value_heads",
    confuses="putting slices side by side with putting them one below the other: the slices are "
    "joined one below the other, not side by side",
    hint="How many rows should the result have?",
)
def slices_below_each_other(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    return torch.cat(
        [weights @ values[:, i * head_dim : (i + 1) * head_dim] for i in range(num_heads)], dim=0
    )


@misconception(
    "slice_value_heads",
    confuses="weights with scores: softmax is applied to the given weights",
    hint="The first argument already contains weights. What would softmax do to them?",
)
def softmax_once_more(weights, values, num_heads):
    kept = values.shape[1] // num_heads * num_heads
    return torch.softmax(weights, dim=-1) @ values[:, :kept]


@misconception(
    "slice_value_heads",
    confuses="given weights with raw ones: every row is rescaled to sum to one",
    hint="Does the docstring say that rows sum to one? Dropout, for example, changes the sum.",
)
def rows_normalized(weights, values, num_heads):
    kept = values.shape[1] // num_heads * num_heads
    return weights / weights.sum(dim=-1, keepdim=True) @ values[:, :kept]


@misconception(
    "slice_value_heads",
    confuses="rows and columns of the weights: rows and columns of the weights are swapped",
    hint="Which index of the weights runs over the tokens whose values are added up?",
)
def shared_weights_transposed(weights, values, num_heads):
    kept = values.shape[1] // num_heads * num_heads
    return weights.T @ values[:, :kept]


@misconception(
    "slice_value_heads",
    confuses="a list of contexts with one tensor: a list of contexts is returned instead of one "
    "tensor",
    hint="The pieces are right. Which function joins tensors along an EXISTING dimension?",
)
def list_of_contexts(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    return [weights @ values[:, i * head_dim : (i + 1) * head_dim] for i in range(num_heads)]


@misconception(
    "slice_value_heads",
    confuses="plain numbers with numbers that carry a gradient: no gradient flows to the values",
    hint="Does the gradient of the result reach the values?",
)
def slices_detached(weights, values, num_heads):
    kept = values.shape[1] // num_heads * num_heads
    return weights @ values[:, :kept].detach()


@misconception(
    "slice_value_heads",
    confuses="float32 with the dtype of the values: the result is always float32",
    hint="Pass float64 tensors and print the dtype of the result.",
)
def sliced_into_float32(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    out = torch.zeros(weights.shape[0], num_heads * head_dim)
    for i in range(num_heads):
        part = slice(i * head_dim, (i + 1) * head_dim)
        out[:, part] = weights @ values[:, part]
    return out
