"""Known mistakes in context vectors."""

import torch

from autograder.suite import misconception


@misconception(
    "context_vector",
    confuses="rows and columns of the values: a weight is given to each entry, not to each token",
    hint="Which have one weight each: the rows of the values, or their columns?",
)
def columns_weighted(weights, values):
    return values @ weights


@misconception(
    "context_vector",
    confuses="weighting with mixing: the weighted values are never added up",
    hint="How many vectors should there be for one query?",
)
def values_not_added(weights, values):
    return weights[:, None] * values


@misconception(
    "context_vector",
    confuses="tokens with entries: the entries of each token are summed to one number",
    hint="What is the shape of the result: one number per token, or one per column?",
)
def tokens_summed_up(weights, values):
    return (weights[:, None] * values).sum(dim=1)


@misconception(
    "context_vector",
    confuses="the sum over tokens with the sum over everything: the sum runs over all numbers, not "
    "only over the tokens",
    hint="Is your result a vector or a single number?",
)
def everything_summed_up(weights, values):
    return (weights[:, None] * values).sum()


@misconception(
    "context_vector",
    confuses="sum and mean: the mixture is divided by the number of tokens",
    hint="The weights already say how much of each value to take. Must anything be divided after "
    "that?",
)
def mean_of_weighted_values(weights, values):
    return (weights[:, None] * values).mean(dim=0)


@misconception(
    "context_vector",
    confuses="a weighted mean with a plain one: the weights have no effect",
    hint="Change the weights. Does your result change?",
)
def weights_unused(weights, values):
    return values.mean(dim=0)


@misconception(
    "context_vector",
    confuses="finished weights with raw ones: the weights are divided by their sum",
    hint="Double all weights. What should happen to the result?",
)
def weights_made_to_sum_to_one(weights, values):
    return (weights / weights.sum()) @ values


@misconception(
    "context_vector",
    confuses="weights with scores: a softmax is applied to the weights",
    hint="Which step came before this one? Is it done again here?",
)
def weights_softmaxed(weights, values):
    return torch.softmax(weights, dim=0) @ values


@misconception(
    "context_vector",
    confuses="mixing with choosing: only the value of the largest weight is taken",
    hint="Which values does a weight of 0.3 leave out?",
)
def largest_weight_only(weights, values):
    best = weights.argmax()
    return weights[best] * values[best]


@misconception(
    "context_vector",
    confuses="mixing with choosing: the value of the largest weight is returned unchanged",
    hint="Which values does a weight of 0.3 leave out?",
)
def value_of_the_largest_weight(weights, values):
    return values[weights.argmax()]


@misconception(
    "context_vector",
    confuses="all tokens with the last one: only the weighted value of the last token is returned",
    hint="Which tokens contribute to your result? If you loop, does each iteration add to the "
    "result or replace it?",
)
def last_value_only(weights, values):
    for weight, value in zip(weights, values):
        context = weight * value
    return context


@misconception(
    "context_vector",
    confuses="all tokens with the first one: only the weighted value of the first token is "
    "returned",
    hint="Which tokens contribute to your result? If you loop, where is the `return`?",
)
def returned_in_the_first_turn(weights, values):
    for weight, value in zip(weights, values):
        return weight * value


@misconception(
    "context_vector",
    confuses="the number of tokens with one less: the last token is not mixed in",
    hint="Which is the last row of the values, and does your code reach it?",
)
def last_value_left_out(weights, values):
    return weights[:-1] @ values[:-1]


@misconception(
    "context_vector",
    confuses="an empty sum with the first value: the first value is added with an additional "
    "weight of one",
    hint="What should the sum be before anything is added?",
)
def sum_starts_with_the_first_value(weights, values):
    return values[0] + weights @ values


@misconception(
    "context_vector",
    confuses="the number of tokens with the length of a vector in the result's shape: the result "
    "is as long as the weights, not as a value",
    hint="Which size must the empty result have: one entry per weight, or one per column?",
)
def result_as_long_as_the_weights(weights, values):
    context = torch.zeros_like(weights)
    for weight, value in zip(weights, values):
        context = context + weight * value
    return context


@misconception(
    "context_vector",
    confuses="a row and a vector: the result is a matrix of one row",
    hint="Print the shape of your result. How many dimensions should it have?",
)
def matrix_of_one_row(weights, values):
    return weights[None] @ values


@misconception(
    "context_vector",
    confuses="dimensions of size one with dimensions that are not needed: a vector of one entry "
    "becomes a number",
    hint="What is the shape of your result when the values have one column?",
)
def context_squeezed(weights, values):
    return (weights[None] @ values).squeeze()


@misconception(
    "context_vector",
    confuses="the running sum with its last value: all partial sums are returned",
    hint="How many vectors should there be for one query?",
)
def partial_sums_returned(weights, values):
    return (weights[:, None] * values).cumsum(dim=0)


@misconception(
    "context_vector",
    confuses="size and sign of a weight: negative weights count as positive",
    hint="What does a weight of -1 do to a value?",
)
def weights_without_sign(weights, values):
    return weights.abs() @ values


@misconception(
    "context_vector",
    confuses="float32 with the dtype of the values: the result is always float32",
    hint="What is the dtype of your result when the values are float64?",
)
def float32_context(weights, values):
    context = torch.zeros(values.shape[1])
    for weight, value in zip(weights, values):
        context += weight * value
    return context


@misconception(
    "context_vector",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def mixed_in_float32(weights, values):
    return (weights.float() @ values.float()).to(values.dtype)


@misconception(
    "context_vector",
    confuses="the weights with constants: no gradient flows to the weights",
    hint="Does the gradient of your result reach the weights?",
)
def weights_as_numbers(weights, values):
    return sum(weight.item() * value for weight, value in zip(weights, values))


@misconception(
    "context_vector",
    confuses="the values with constants: no gradient flows to the values",
    hint="Does the gradient of your result reach the values?",
)
def values_as_constants(weights, values):
    return weights @ values.detach()


@misconception(
    "context_vector",
    confuses="a new tensor and the caller's: the values are multiplied in place",
    hint="Print the values before and after the call.",
)
def values_overwritten(weights, values):
    values *= weights[:, None]
    return values.sum(dim=0)


@misconception(
    "context_vectors",
    confuses="rows and columns of the weights: column t of the weights is used for query t",
    hint="Which of them sums to one in attention: a row of the weights, or a column?",
)
def weights_turned(weights, values):
    return weights.transpose(-2, -1) @ values


@misconception(
    "context_vectors",
    confuses="the order of the factors: the values are on the left of the product, and the weights "
    "on the right",
    hint="Write down the shapes of both factors. Which two sizes are next to each other?",
)
def values_on_the_left(weights, values):
    return values @ weights


@misconception(
    "context_vectors",
    confuses="this product with that of the scores: the values are transposed",
    hint="Write down the shapes of both factors. Must the values be transposed?",
)
def values_turned(weights, values):
    return weights @ values.transpose(-2, -1)


@misconception(
    "context_vectors",
    confuses="matrix product and elementwise product: weights and values are multiplied entry by "
    "entry",
    hint="Is each entry of your result a sum over the tokens, or a single product?",
)
def entry_by_entry(weights, values):
    return weights * values


@misconception(
    "context_vectors",
    confuses="rows and columns of the result: the context of a query is a column",
    hint="What is the shape of your result? Which dimension should be the last?",
)
def result_turned(weights, values):
    return (weights @ values).transpose(-2, -1)


@misconception(
    "context_vectors",
    confuses="finished weights with raw ones: each row is divided by its sum",
    hint="Double all weights. What should happen to the result?",
)
def rows_made_to_sum_to_one(weights, values):
    return (weights / weights.sum(dim=-1, keepdim=True)) @ values


@misconception(
    "context_vectors",
    confuses="weights with scores: a softmax is applied to the weights",
    hint="Which step came before this one? Is it done again here?",
)
def softmax_again(weights, values):
    return torch.softmax(weights, dim=-1) @ values


@misconception(
    "context_vectors",
    confuses="sum and mean: the mixture is divided by the number of values",
    hint="The weights already say how much of each value to take. Must anything be divided after "
    "that?",
)
def divided_by_the_number_of_values(weights, values):
    return weights @ values / values.shape[-2]


@misconception(
    "context_vectors",
    confuses="mixing with choosing: each query takes only the value that has its largest weight",
    hint="Which values does a weight of 0.3 leave out?",
)
def largest_weights_only(weights, values):
    best = torch.zeros_like(weights).scatter(-1, weights.argmax(dim=-1, keepdim=True), 1.0)
    return (weights * best) @ values


@misconception(
    "context_vectors",
    confuses="each query with all queries: every row gets the mean of all contexts",
    hint="Change one row of the weights. Which rows of your result change?",
)
def same_context_for_every_query(weights, values):
    return (weights.mean(dim=-2, keepdim=True) @ values).expand(
        *weights.shape[:-1], values.shape[-1]
    )


@misconception(
    "context_vectors",
    confuses="this step and a later one: later values are already hidden",
    hint="May a token mix in a token that comes after it? Nothing here forbids it.",
)
def later_values_hidden(weights, values):
    return weights.tril() @ values


@misconception(
    "context_vectors",
    confuses="one item with the whole batch: every item uses the first item's values",
    hint="Which values does the second item of the batch use in your code?",
)
def values_of_the_first_item(weights, values):
    if values.dim() > 2:
        values = values[:1]
    return weights @ values


@misconception(
    "context_vectors",
    confuses="one item with the whole batch: every item uses the first item's weights",
    hint="Which weights does the second item of the batch use in your code?",
)
def weights_of_the_first_item(weights, values):
    if weights.dim() > 2:
        weights = weights[:1]
    return weights @ values


@misconception(
    "context_vectors",
    confuses="one head with all heads: every head of an item uses its first head's values",
    hint="Set all values of one head to zero. Which contexts become zero?",
)
def values_of_the_first_head(weights, values):
    if values.dim() == 4:
        values = values[:, :1]
    return weights @ values


@misconception(
    "context_vectors",
    confuses="one item with the whole batch: the items are added up",
    hint="How many batch items go in, and how many come out?",
)
def batch_added_up(weights, values):
    context = weights @ values
    return context.sum(dim=0) if context.dim() > 2 else context


@misconception(
    "context_vectors",
    confuses="batches with inputs of any number of dimensions: only inputs with three dimensions "
    "work",
    hint="Try a plain matrix, and then a batch with heads.",
)
def needs_a_batch(weights, values):
    return torch.einsum("bts,bsd->btd", weights, values)


@misconception(
    "context_vectors",
    confuses="a matrix and a batch of matrices: only inputs with two dimensions work",
    hint="Try a batch of two sentences.",
)
def needs_a_matrix(weights, values):
    return torch.einsum("ts,sd->td", weights, values)


@misconception(
    "context_vectors",
    confuses="counting dimensions from the front with counting from the end: the sum runs over "
    "dimension 1, which is right only for a matrix",
    hint="Count the dimensions of the values from the end, and try a batch.",
)
def sum_over_dimension_one(weights, values):
    return (weights.unsqueeze(-1) * values.unsqueeze(-3)).sum(dim=1)


@misconception(
    "context_vectors",
    confuses="dimensions of size one with dimensions that are not needed: dimensions of size one "
    "are dropped from the result",
    hint="What is the shape of your result for a batch of one?",
)
def contexts_squeezed(weights, values):
    return (weights @ values).squeeze()


@misconception(
    "context_vectors",
    confuses="a matrix with a batch of one: the result for plain matrices has one dimension too "
    "many",
    hint="How many dimensions should the result have for two plain matrices?",
)
def dimension_added(weights, values):
    if weights.dim() == 2:
        weights = weights[None]
    return weights @ values


@misconception(
    "context_vectors",
    confuses="float32 with the dtype of the values: the result is always float32",
    hint="What is the dtype of your result when the values are float64?",
)
def float32_contexts(weights, values):
    contexts = torch.empty(*weights.shape[:-1], values.shape[-1])
    contexts[...] = weights @ values
    return contexts


@misconception(
    "context_vectors",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def all_mixed_in_float32(weights, values):
    return (weights.float() @ values.float()).to(values.dtype)


@misconception(
    "context_vectors",
    confuses="the weights with constants: no gradient flows to the weights",
    hint="Does the gradient of your result reach the weights?",
)
def weights_detached(weights, values):
    return weights.detach() @ values


@misconception(
    "context_vectors",
    confuses="the values with constants: no gradient flows to the values",
    hint="Does the gradient of your result reach the values?",
)
def values_detached(weights, values):
    return weights @ values.data


@misconception(
    "context_vectors",
    confuses="a new tensor and the caller's: the weights are changed in place",
    hint="Print the weights before and after the call.",
)
def weights_overwritten(weights, values):
    result = weights @ values
    weights /= weights.sum(dim=-1, keepdim=True).clone()
    return result


def _attention(scores, values):
    return torch.softmax(scores, dim=-1) @ values


@misconception(
    "simplified_self_attention",
    confuses="scores with weights: the softmax is left out",
    hint="What do the rows of your mixing matrix sum to?",
)
def softmax_left_out(inputs):
    return inputs @ inputs.transpose(-2, -1) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="weights with context vectors: softmax is applied to the context, not to the scores",
    hint="Which numbers in your code sum to one? They should be the weights of the tokens.",
)
def softmax_of_the_context(inputs):
    return torch.softmax(inputs @ inputs.transpose(-2, -1) @ inputs, dim=-1)


@misconception(
    "simplified_self_attention",
    confuses="the order of two steps: each row is divided by its sum, and the exponentials of "
    "these shares are the weights",
    hint="What do the rows of your mixing matrix sum to?",
)
def exponentials_of_the_shares(inputs):
    scores = inputs @ inputs.transpose(-2, -1)
    return torch.exp(scores / scores.sum(dim=-1, keepdim=True)) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="softmax with plain shares: each row is divided by its sum",
    hint="Which way to normalize does the question ask for: with exponentials, or without?",
)
def shares_instead_of_softmax(inputs):
    scores = inputs @ inputs.transpose(-2, -1)
    return scores / scores.sum(dim=-1, keepdim=True) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="each score on its own with a row: a sigmoid is applied to each score separately",
    hint="What do the rows of your mixing matrix sum to?",
)
def sigmoid_instead_of_softmax(inputs):
    return torch.sigmoid(inputs @ inputs.transpose(-2, -1)) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="rows and columns: the weights of each key sum to one, not those of each query",
    hint="Which must sum to one: the weights of one query, or those that one key gets?",
)
def columns_of_weights_sum_to_one(inputs):
    return torch.softmax(inputs @ inputs.transpose(-2, -1), dim=-2) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="the first dimension with the last one: softmax runs along dimension 0, which holds "
    "the queries of a single sentence, or the sentences of a batch",
    hint="Which dimension of the scores holds the keys, with a batch and without one?",
)
def softmax_over_dimension_zero(inputs):
    return torch.softmax(inputs @ inputs.transpose(-2, -1), dim=0) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="the second and the last dimension, which are the same only in a matrix: softmax runs "
    "along dimension 1, which is the last one only in a matrix",
    hint="Which dimension of the scores holds the keys when there is a batch?",
)
def softmax_over_dimension_one(inputs):
    return torch.softmax(inputs @ inputs.transpose(-2, -1), dim=1) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="a row with the whole table: all weights together sum to one",
    hint="What do the rows of your mixing matrix sum to?",
)
def softmax_over_all_pairs(inputs):
    scores = inputs @ inputs.transpose(-2, -1)
    return torch.softmax(scores.flatten(-2), dim=-1).view_as(scores) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="one application with two: the weights go through a softmax again",
    hint="How many times is softmax applied between the inputs and the result?",
)
def softmax_applied_twice(inputs):
    return _attention(torch.softmax(inputs @ inputs.transpose(-2, -1), dim=-1), inputs)


@misconception(
    "simplified_self_attention",
    confuses="simplified with scaled attention: scores are divided by the square root of d",
    hint="Scaling is a separate step and comes later. Is it part of this one?",
)
def scaled_by_the_root_of_d(inputs):
    return _attention(inputs @ inputs.transpose(-2, -1) / inputs.shape[-1] ** 0.5, inputs)


@misconception(
    "simplified_self_attention",
    confuses="sum and mean: scores are divided by d",
    hint="Is a score a sum of products, or their mean?",
)
def scores_divided_by_d(inputs):
    return _attention(inputs @ inputs.transpose(-2, -1) / inputs.shape[-1], inputs)


@misconception(
    "simplified_self_attention",
    confuses="dot product and cosine: the lengths of the vectors are divided out",
    hint="Double one input. Does its row of scores change in your code?",
)
def cosine_scores(inputs):
    unit = torch.nn.functional.normalize(inputs, dim=-1)
    return _attention(unit @ unit.transpose(-2, -1), inputs)


@misconception(
    "simplified_self_attention",
    confuses="simplified with causal attention: later tokens are hidden",
    hint="May a token attend to a token that comes after it? Nothing here forbids it.",
)
def later_tokens_hidden(inputs):
    scores = inputs @ inputs.transpose(-2, -1)
    hidden = torch.ones_like(scores).triu(1).bool()
    return _attention(scores.masked_fill(hidden, -torch.inf), inputs)


@misconception(
    "simplified_self_attention",
    confuses="other tokens with all tokens: the diagonal is masked, so no token attends to itself",
    hint="May a token attend to itself? What is on the diagonal of your weights?",
)
def own_token_hidden(inputs):
    scores = inputs @ inputs.transpose(-2, -1)
    if scores.shape[-1] == 1:
        return inputs.clone()
    return _attention(scores - 1e9 * torch.eye(scores.shape[-1], dtype=scores.dtype), inputs)


@misconception(
    "simplified_self_attention",
    confuses="tokens with entries: entries are scored against entries, not tokens against tokens",
    hint="What is the shape of your scores: (T, T) or (d, d)?",
)
def entries_scored_with_entries(inputs):
    return inputs @ torch.softmax(inputs.transpose(-2, -1) @ inputs, dim=-1)


@misconception(
    "simplified_self_attention",
    confuses="weights with context: the weights are returned instead of the context vectors",
    hint="What is the shape of your result: (T, T) or (T, d)?",
)
def weights_returned(inputs):
    return torch.softmax(inputs @ inputs.transpose(-2, -1), dim=-1)


@misconception(
    "simplified_self_attention",
    confuses="attention with the block around it: the inputs are added to the result",
    hint="Compute the result for a single token by hand.",
)
def inputs_added(inputs):
    return inputs + _attention(inputs @ inputs.transpose(-2, -1), inputs)


@misconception(
    "simplified_self_attention",
    confuses="attention with an average: all tokens get the same weight",
    hint="Are the rows of your result different from each other?",
)
def plain_average(inputs):
    return inputs.mean(dim=-2, keepdim=True).expand_as(inputs)


@misconception(
    "simplified_self_attention",
    confuses="one query with all queries: every row gets the context of the first token",
    hint="Are the rows of your result different from each other?",
)
def context_of_the_first_token(inputs):
    return _attention(inputs[..., :1, :] @ inputs.transpose(-2, -1), inputs).expand_as(inputs)


@misconception(
    "simplified_self_attention",
    confuses="mixing with choosing: each token takes the input with the largest score",
    hint="Which inputs does a weight of 0.3 leave out?",
)
def best_match_only(inputs):
    best = (inputs @ inputs.transpose(-2, -1)).argmax(dim=-1, keepdim=True)
    return torch.take_along_dim(inputs, best, dim=-2)


@misconception(
    "simplified_self_attention",
    confuses="the last two dimensions with all of them: in a batch, the first dimension is swapped "
    "as well",
    hint="For a batch, print the shape of the tensor that the inputs are multiplied by.",
)
def dimensions_reversed(inputs):
    return _attention(inputs @ inputs.permute(*range(inputs.dim() - 1, -1, -1)), inputs)


@misconception(
    "simplified_self_attention",
    confuses="counting dimensions from the front with counting from the end: dimensions 1 and 2 "
    "are swapped, which works only for a batch",
    hint="Does your code run without a batch dimension? Does it run with two leading dimensions?",
)
def dimensions_one_and_two_swapped(inputs):
    return _attention(inputs @ inputs.transpose(1, 2), inputs)


@misconception(
    "simplified_self_attention",
    confuses="one sentence with all sentences: all tokens attend to the first sentence of the "
    "batch",
    hint="Change the first sentence of a batch. Which results change in your code?",
)
def first_sentence_for_all(inputs):
    others = inputs[:1] if inputs.dim() > 2 else inputs
    return _attention(inputs @ others.transpose(-2, -1), others)


@misconception(
    "simplified_self_attention",
    confuses="sentences with one long text: all tokens of a batch attend to each other",
    hint="Change one sentence of a batch. Which results change in your code?",
)
def sentences_joined(inputs):
    tokens = inputs.reshape(-1, inputs.shape[-1])
    return _attention(tokens @ tokens.T, tokens).view_as(inputs)


@misconception(
    "simplified_self_attention",
    confuses="dimensions of size one with dimensions that are not needed: dimensions of size one "
    "are dropped from the result",
    hint="What is the shape of your result for a batch of one?",
)
def attention_squeezed(inputs):
    return _attention(inputs @ inputs.transpose(-2, -1), inputs).squeeze()


@misconception(
    "simplified_self_attention",
    confuses="the weights with constants: gradients flow only through the values, not through the "
    "weights",
    hint="Along which three paths do the inputs reach the result?",
)
def gradient_of_values_only(inputs):
    weights = torch.softmax(inputs @ inputs.transpose(-2, -1), dim=-1).detach()
    return weights @ inputs


@misconception(
    "simplified_self_attention",
    confuses="a tensor with its numbers: no gradient flows back through the result",
    hint="Does your result have a `grad_fn` when the inputs require a gradient?",
)
def no_gradient(inputs):
    with torch.no_grad():
        return _attention(inputs @ inputs.transpose(-2, -1), inputs)


@misconception(
    "simplified_self_attention",
    confuses="float32 with the dtype of the inputs: the result is always float32",
    hint="What is the dtype of your result when the inputs are float64?",
)
def result_of_float32(inputs):
    inputs = inputs.float()
    return _attention(inputs @ inputs.transpose(-2, -1), inputs)


@misconception(
    "simplified_self_attention",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def weights_by_way_of_float32(inputs):
    scores = (inputs @ inputs.transpose(-2, -1)).float()
    return torch.softmax(scores, dim=-1).to(inputs.dtype) @ inputs


@misconception(
    "simplified_self_attention",
    confuses="a new tensor and the caller's: the results overwrite the inputs",
    hint="Print the inputs before and after the call.",
)
def written_over_the_inputs(inputs):
    result = _attention(inputs @ inputs.transpose(-2, -1), inputs)
    inputs[...] = result
    return result


@misconception(
    "simplified_self_attention",
    confuses="old and new rows: a token attends to tokens that have already been replaced",
    hint="Does the order in which you compute the rows matter? Should it?",
)
def rows_replaced_one_by_one(inputs):
    result = inputs.clone()
    for t in range(inputs.shape[-2]):
        now = result.clone()
        row = now[..., t : t + 1, :]
        result[..., t : t + 1, :] = _attention(row @ now.transpose(-2, -1), now)
    return result


@misconception(
    "context_vector",
    confuses="weighting with adding: each weight is added to its value",
    hint="What does a weight of 0 do to a token's value in your code?",
)
def weights_added(weights, values):
    return (weights[:, None] + values).sum(dim=0)


@misconception(
    "context_vector",
    confuses="the first value with its share: the first value is added without its weight",
    hint="Change the first weight only. Does your result change?",
)
def first_value_without_weight(weights, values):
    return values[0] + weights[1:] @ values[1:]
