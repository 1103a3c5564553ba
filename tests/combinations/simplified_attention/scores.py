"""Wrong answers written from the questions alone, each with its intended mistake."""

import torch

from autograder.suite import intended


@intended("query_scores", "scores without their sign", "sign_lost")
def absolute(inputs, query):
    return (inputs @ query).abs()


@intended("query_scores", "products that are not summed", "products_not_summed")
def products(inputs, query):
    return inputs * query


@intended("query_scores", "squared distances with a minus", "negative_distance")
def distances(inputs, query):
    return -((inputs - query) ** 2).sum(-1)


@intended(
    "query_scores",
    "sums over the tokens",
    "both_sides_of_a_product_are_multiplied_entry_by_entry_then",
)
def sums_over_tokens(inputs, query):
    return (inputs * query).sum(0)


@intended("query_scores", "the mean of the products", "mean_of_products")
def mean_of_products(inputs, query):
    return (inputs * query).mean(-1)


@intended("query_scores", "two decimals", "numbers_are_rounded_on_the_way")
def two_decimals(inputs, query):
    return torch.round(inputs @ query, decimals=2)


@intended("query_scores", "a column, not a row of numbers", "column_of_scores")
def column(inputs, query):
    return inputs @ query.unsqueeze(-1)


@intended("query_scores", "a loop that leaves out the last token", "last_token_left_out")
def last_token_left_out(inputs, query):
    scores = torch.zeros(inputs.shape[0], dtype=inputs.dtype)
    for i in range(inputs.shape[0] - 1):
        scores[i] = inputs[i] @ query
    return scores


@intended(
    "query_scores",
    "a return inside the loop",
    "it_is_right_with_one_token_only",
    "loop_over_the_vector_length",
)
def returned_too_early(inputs, query):
    scores = torch.zeros(inputs.shape[0], dtype=inputs.dtype)
    for i, token in enumerate(inputs):
        scores[i] = token @ query
        return scores


@intended("attention_scores", "keys times queries", "transposed")
def keys_times_queries(queries, keys):
    return torch.einsum("...sd,...td->...st", keys, queries)


@intended("attention_scores", "scores that are scaled", "scores_scaled_already")
def scaled(queries, keys):
    return queries @ keys.mT / queries.shape[-1] ** 0.5


@intended("attention_scores", "distances", "distances_take_the_place_of_products")
def distances_of_all(queries, keys):
    return ((queries.unsqueeze(-2) - keys.unsqueeze(-3)) ** 2).sum(-1).sqrt()


@intended("attention_scores", "queries with queries", "keys_ignored")
def queries_with_queries(queries, keys):
    return queries @ queries.mT


@intended("attention_scores", "softmax of the scores", "weights_instead")
def softmax_of_scores(queries, keys):
    return torch.softmax(queries @ keys.mT, dim=-1)


@intended("attention_scores", "numpy in between: no gradient", "gradient_cut")
def through_numpy(queries, keys):
    return torch.from_numpy(queries.detach().numpy() @ keys.detach().mT.numpy())


@intended("attention_scores", "the mean of the products", "mean_of_all_products")
def mean_of_products_of_all(queries, keys):
    return queries @ keys.mT / keys.shape[-1]
