"""Known mistakes in attention scores."""

import torch

from autograder.suite import misconception


@misconception(
    "query_scores",
    confuses="the query of the example with the argument: the second input is always the query",
    hint="Which argument is the query? Try a query that is not one of the inputs.",
)
def second_input_as_query(inputs, query):
    return inputs @ inputs[min(1, len(inputs) - 1)]


@misconception(
    "query_scores",
    confuses="the first input with the argument: the first input is always the query",
    hint="Which argument is the query? Try a query that is not one of the inputs.",
)
def first_input_as_query(inputs, query):
    return inputs @ inputs[0]


@misconception(
    "query_scores",
    confuses="tokens with entries: a sum runs over tokens, but it should run over entries",
    hint="Which dimension is added up in a dot product: the tokens, or the entries of a vector?",
)
def columns_scored(inputs, query):
    return query @ inputs


@misconception(
    "query_scores",
    confuses="product and dot product: entries are multiplied but never added up",
    hint="How many numbers make up the score of one token?",
)
def products_not_summed(inputs, query):
    return inputs * query


@misconception(
    "query_scores",
    confuses="sum and mean: the score is divided by the number of entries",
    hint="Does a dot product get smaller when a vector gets a new entry of zero?",
)
def mean_of_products(inputs, query):
    return (inputs * query).mean(dim=-1)


@misconception(
    "query_scores",
    confuses="dot product and cosine: the lengths of the vectors are divided out",
    hint="Double the query. What happens to a dot product, and what happens to your result?",
)
def cosine(inputs, query):
    return torch.nn.functional.cosine_similarity(inputs, query[None], dim=-1)


@misconception(
    "query_scores",
    confuses="this step and a later one: the scores are already divided by the square root of d",
    hint="Scaling is a separate step and comes later. What does a plain dot product give?",
)
def scaled_already(inputs, query):
    return inputs @ query / inputs.shape[-1] ** 0.5


@misconception(
    "query_scores",
    confuses="scores and weights: a softmax is already applied",
    hint="Do your results sum to one? Do scores have to?",
)
def softmax_already(inputs, query):
    return torch.softmax(inputs @ query, dim=0)


@misconception(
    "query_scores",
    confuses="score and distance: a negative distance is computed instead of a dot product",
    hint="Compute the score of the zero vector by hand, then with your code.",
)
def negative_distance(inputs, query):
    return -((inputs - query) ** 2).sum(dim=-1)


@misconception(
    "query_scores",
    confuses="direction and size: negative scores become positive",
    hint="What is the dot product of a vector and its opposite?",
)
def sign_lost(inputs, query):
    return (inputs @ query).abs()


@misconception(
    "query_scores",
    confuses="the number of tokens with the length of a vector: only as many tokens get a score as "
    "a vector has entries",
    hint="How many scores are needed: one per row of the inputs, or one per entry of the query?",
)
def loop_over_the_vector_length(inputs, query):
    scores = torch.zeros(inputs.shape[0], dtype=inputs.dtype)
    for i in range(min(query.shape[0], inputs.shape[0])):
        scores[i] = torch.dot(inputs[i], query)
    return scores


@misconception(
    "query_scores",
    confuses="the number of tokens with one less: the last token gets no score",
    hint="Which is the last row of the inputs, and does your code reach it?",
)
def last_token_left_out(inputs, query):
    scores = torch.zeros(inputs.shape[0], dtype=inputs.dtype)
    for i in range(inputs.shape[0] - 1):
        scores[i] = torch.dot(inputs[i], query)
    return scores


@misconception(
    "query_scores",
    confuses="counting from one with counting from zero: the first token gets no score",
    hint="With one token, how many times does your loop run?",
)
def first_token_without_score(inputs, query):
    scores = [inputs.new_zeros(()), *(row @ query for row in inputs[1:])]
    return torch.stack(scores)


@misconception(
    "query_scores",
    confuses="the score of one row with a running total: each score includes the scores before it",
    hint="Should a score depend on earlier tokens? If you sum in a loop, where is the sum set to "
    "zero?",
)
def total_never_reset(inputs, query):
    return torch.cumsum(inputs @ query, dim=0)


@misconception(
    "query_scores",
    confuses="the sizes of the example with all sizes: the code always expects six tokens",
    hint="Where does your code say how many tokens there are?",
)
def six_tokens_always(inputs, query):
    scores = torch.zeros(6, dtype=inputs.dtype)
    for i in range(6):
        scores[i] = torch.dot(inputs[i], query)
    return scores


@misconception(
    "query_scores",
    confuses="a column and a vector: the result keeps a second dimension",
    hint="Print the shape of your result. How many dimensions should it have?",
)
def column_of_scores(inputs, query):
    return inputs @ query[:, None]


@misconception(
    "query_scores",
    confuses="dimensions of size one with dimensions that are not needed: with one token, the "
    "result has no dimensions left",
    hint="What is the shape of your result when there is only one token?",
)
def squeezed(inputs, query):
    return (inputs @ query[:, None]).squeeze()


@misconception(
    "query_scores",
    confuses="a tensor with its numbers: no gradient flows back through the result",
    hint="Does your result have a `grad_fn` when the inputs require a gradient?",
)
def gradient_cut_by_item(inputs, query):
    return torch.tensor([torch.dot(row, query).item() for row in inputs], dtype=inputs.dtype)


@misconception(
    "query_scores",
    confuses="the inputs with constants: no gradient flows to the inputs",
    hint="Which of the two arguments may need a gradient: only one, or both?",
)
def inputs_detached(inputs, query):
    return inputs.detach() @ query


@misconception(
    "query_scores",
    confuses="float32 with the dtype of the inputs: the result is always float32",
    hint="What is the dtype of your result when the inputs are float64?",
)
def float32_buffer(inputs, query):
    scores = torch.empty(inputs.shape[0])
    for i, row in enumerate(inputs):
        scores[i] = torch.dot(row, query)
    return scores


@misconception(
    "query_scores",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def computed_in_float32(inputs, query):
    return (inputs.float() @ query.float()).to(inputs.dtype)


@misconception(
    "query_scores",
    confuses="a new tensor and the caller's: the inputs are overwritten with the products",
    hint="Print the inputs before and after the call.",
)
def inputs_overwritten(inputs, query):
    inputs *= query
    return inputs.sum(dim=-1)


@misconception(
    "attention_scores",
    confuses="rows and columns: the rows of the result belong to keys instead of queries",
    hint="Which of the two sets does row t of the result belong to?",
)
def transposed(queries, keys):
    return keys @ queries.transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="queries with keys: neither matrix is transposed, and the code runs only if the sizes "
    "happen to fit",
    hint="Write down the shapes of both factors. Which two sizes must be equal, and are both of "
    "them d?",
)
def no_transpose(queries, keys):
    return queries @ keys


@misconception(
    "attention_scores",
    confuses="entries with keys: the products are added up over the keys, not over the entries of "
    "a vector",
    hint="Which dimension does a dot product add up? Print the shape before and after the sum.",
)
def products_summed_over_the_keys(queries, keys):
    return (queries.unsqueeze(-2) * keys.unsqueeze(-3)).sum(dim=-2)


@misconception(
    "attention_scores",
    confuses="the whole table with its diagonal: each query is scored only with the key at its own "
    "position",
    hint="How many pairs of a query and a key are there?",
)
def only_the_diagonal(queries, keys):
    return (queries * keys).sum(dim=-1)


@misconception(
    "attention_scores",
    confuses="self-scores with all scores: half of the table is a mirror image of the other half",
    hint="Take two different sets. Is query 0 with key 1 the same as query 1 with key 0?",
)
def mirrored(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    if scores.shape[-2] != scores.shape[-1]:
        return scores
    upper = scores.triu()
    return upper + upper.triu(1).transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="queries with keys: queries are scored against queries",
    hint="Change the keys. Does your result change?",
)
def keys_ignored(queries, keys):
    return queries @ queries.transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="queries with keys: keys are scored against keys",
    hint="Change the queries. Does your result change?",
)
def queries_ignored(queries, keys):
    return keys @ keys.transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="this step and a later one: the scores are already divided by the square root of d",
    hint="Scaling is a separate step and comes later. What does a plain dot product give?",
)
def scores_scaled_already(queries, keys):
    return queries @ keys.transpose(-2, -1) / queries.shape[-1] ** 0.5


@misconception(
    "attention_scores",
    confuses="scores and weights: a softmax is already applied",
    hint="Do the rows of your result sum to one? Do scores have to?",
)
def weights_instead(queries, keys):
    return torch.softmax(queries @ keys.transpose(-2, -1), dim=-1)


@misconception(
    "attention_scores",
    confuses="this step and a later one: later keys are already hidden",
    hint="May a token be scored against a token that comes after it? Nothing here forbids it.",
)
def future_hidden_already(queries, keys):
    return (queries @ keys.transpose(-2, -1)).tril()


@misconception(
    "attention_scores",
    confuses="this step and a later one: the scores on the diagonal are minus infinity",
    hint="May a token be scored against itself? Print the diagonal of your result.",
)
def diagonal_hidden_already(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    own = torch.eye(*scores.shape[-2:], dtype=torch.bool)
    return scores.masked_fill(own, -torch.inf)


@misconception(
    "attention_scores",
    confuses="dot product and cosine: the lengths of the vectors are divided out",
    hint="Double one query. What happens to its row, and what should happen?",
)
def cosines(queries, keys):
    queries = torch.nn.functional.normalize(queries, dim=-1)
    keys = torch.nn.functional.normalize(keys, dim=-1)
    return queries @ keys.transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="score and distance: a negative distance is computed instead of a dot product",
    hint="Compute the score of a query with the zero vector by hand, then with your code.",
)
def negative_distances(queries, keys):
    return -torch.cdist(queries, keys)


@misconception(
    "attention_scores",
    confuses="counting dimensions from the front with counting from the end: dimensions 0 and 1 "
    "are swapped, which is right only for a matrix",
    hint="In a batch, which dimensions are tokens and entries? Count them from the end.",
)
def first_two_dimensions_swapped(queries, keys):
    return queries @ keys.transpose(0, 1)


@misconception(
    "attention_scores",
    confuses="counting dimensions from the front with counting from the end: dimensions 1 and 2 "
    "are swapped, which works only for a batch",
    hint="Does your code run without a batch dimension? Does it run with a head dimension?",
)
def middle_dimensions_swapped(queries, keys):
    return queries @ keys.transpose(1, 2)


@misconception(
    "attention_scores",
    confuses="counting dimensions from the front with counting from the end: dimensions 2 and 3 "
    "are swapped, which works only with four dimensions",
    hint="Does your code run for a plain matrix of queries?",
)
def last_of_four_dimensions_swapped(queries, keys):
    return queries @ keys.transpose(2, 3)


@misconception(
    "attention_scores",
    confuses="the last two dimensions with all of them: in a batch, the first dimension is swapped "
    "as well",
    hint="For a batch of keys, print the shape of the tensor that the queries are multiplied by.",
)
def all_dimensions_reversed(queries, keys):
    return queries @ keys.permute(*range(keys.dim() - 1, -1, -1))


@misconception(
    "attention_scores",
    confuses="one item with the whole batch: every item is scored against the first item's keys",
    hint="Which keys does the second item of the batch use in your code?",
)
def keys_of_the_first_item(queries, keys):
    if keys.dim() > 2:
        keys = keys[:1]
    return queries @ keys.transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="one item with the whole batch: only the first item is returned",
    hint="How many batch items go in, and how many come out?",
)
def first_item_only(queries, keys):
    while queries.dim() > 2:
        queries, keys = queries[0], keys[0]
    return queries @ keys.T


@misconception(
    "attention_scores",
    confuses="batch items and tokens: all tokens of a batch are scored against each other",
    hint="May a token of one sentence be scored against a token of another?",
)
def batch_flattened(queries, keys):
    return queries.flatten(0, -2) @ keys.flatten(0, -2).T


@misconception(
    "attention_scores",
    confuses="one head with all heads: every head of an item gets the scores of its first head",
    hint="Set all entries of one head to zero. Which scores become zero?",
)
def scores_of_the_first_head(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    if scores.dim() == 4:
        scores = scores[:, :1].expand_as(scores)
    return scores


@misconception(
    "attention_scores",
    confuses="batches with inputs of any number of dimensions: only inputs with three dimensions "
    "work",
    hint="Try a plain matrix, and then a batch with heads.",
)
def batches_only(queries, keys):
    return torch.einsum("btd,bsd->bts", queries, keys)


@misconception(
    "attention_scores",
    confuses="a matrix and a batch of matrices: only inputs with two dimensions work",
    hint="Try a batch of two sentences.",
)
def loops_for_one_sequence(queries, keys):
    scores = torch.empty(len(queries), len(keys), dtype=queries.dtype)
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            scores[i, j] = torch.dot(query, key)
    return scores


@misconception(
    "attention_scores",
    confuses="swapping dimensions with reshaping: the keys are reshaped where they should be "
    "transposed",
    hint="Take keys of shape (2, 3), and print the matrix that you multiply the queries by. Is "
    "each key still in one piece?",
)
def reshaped_not_transposed(queries, keys):
    return queries @ keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])


@misconception(
    "attention_scores",
    confuses="dimensions of size one with dimensions that are not needed: dimensions of size one "
    "are dropped from the result",
    hint="What is the shape of your result for a batch of one?",
)
def squeezed_result(queries, keys):
    return (queries @ keys.transpose(-2, -1)).squeeze()


@misconception(
    "attention_scores",
    confuses="a matrix with a batch of one: the result for plain matrices has one dimension too "
    "many",
    hint="How many dimensions should the result have for two plain matrices?",
)
def batch_dimension_added(queries, keys):
    if queries.dim() == 2:
        queries, keys = queries[None], keys[None]
    return queries @ keys.transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="the number of queries with the number of keys: only as many keys are scored as there "
    "are queries",
    hint="How many columns does your result have when there are more keys than queries?",
)
def as_many_keys_as_queries(queries, keys):
    return queries @ keys[..., : queries.shape[-2], :].transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="a tensor with its numbers: no gradient flows back through the result",
    hint="Does your result have a `grad_fn` when the queries require a gradient?",
)
def gradient_cut(queries, keys):
    return torch.tensor((queries @ keys.transpose(-2, -1)).tolist(), dtype=queries.dtype)


@misconception(
    "attention_scores",
    confuses="the keys with constants: no gradient flows to the keys",
    hint="Which of the two arguments comes from weights that are learned later?",
)
def keys_detached(queries, keys):
    return queries @ keys.detach().transpose(-2, -1)


@misconception(
    "attention_scores",
    confuses="float32 with the dtype of the inputs: the result is always float32",
    hint="What is the dtype of your result when the inputs are float64?",
)
def float32_table(queries, keys):
    scores = torch.empty(*queries.shape[:-1], keys.shape[-2])
    for s in range(keys.shape[-2]):
        scores[..., s] = (queries * keys[..., s : s + 1, :]).sum(dim=-1)
    return scores


@misconception(
    "attention_scores",
    confuses="the dtype of a result with the precision of its computation: part of the computation "
    "runs in float32, so digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
def table_computed_in_float32(queries, keys):
    return (queries.float() @ keys.float().transpose(-2, -1)).to(queries.dtype)


@misconception(
    "attention_scores",
    confuses="a new tensor and the caller's: the caller's keys are transposed in place",
    hint="Print the keys before and after the call.",
)
def keys_turned_in_place(queries, keys):
    return queries @ keys.transpose_(-2, -1)


@misconception(
    "attention_scores",
    confuses="sum and mean: each score is divided by d, the number of entries of a vector",
    hint="Does a dot product get smaller when both vectors get a new entry of zero?",
)
def mean_of_all_products(queries, keys):
    return (queries.unsqueeze(-2) * keys.unsqueeze(-3)).mean(dim=-1)


@misconception(
    "query_scores",
    confuses="this step with a later one: the largest score is subtracted from all scores",
    hint="Is your largest score always 0? Should it be?",
)
def largest_score_taken_off(inputs, query):
    scores = inputs @ query
    return scores - scores.max()
