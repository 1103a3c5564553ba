"""Known mistakes in causal attention layers.

`_Right` is the right layer in steps; each mistake changes the step that it gets wrong.
"""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import misconception


class _Right(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.make_mask(context_length)

    def make_mask(self, size):
        self.register_buffer("mask", torch.ones(size, size, dtype=torch.bool).triu(1))

    def forward(self, x):
        self.check(x)
        return self.attend(self.W_query(x), self.W_key(x), self.W_value(x))

    def check(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError("too many tokens")

    def attend(self, queries, keys, values):
        return self.dropout(self.weights(queries, keys)) @ values

    def weights(self, queries, keys):
        scores = self.masked(queries @ keys.transpose(1, 2))
        return torch.softmax(self.scaled(scores, keys), dim=-1)

    def masked(self, scores):
        size = scores.shape[-1]
        return scores.masked_fill(self.mask[:size, :size], -torch.inf)

    def scaled(self, scores, keys):
        return scores / keys.shape[-1] ** 0.5


# the mask


@misconception(
    "CausalAttention",
    confuses="causal attention with unmasked attention: nothing is masked",
    hint="Change the last token of x. Which rows of the result change?",
)
class no_mask(_Right):
    def masked(self, scores):
        return scores


@misconception(
    "CausalAttention",
    confuses="the entries above the diagonal with the entries on and above it: the first token "
    "sees nothing",
    hint="Softmax turns a row of minus infinities into nan. In which row does that happen here?",
)
class own_token_masked(_Right):
    def make_mask(self, size):
        self.register_buffer("mask", torch.ones(size, size, dtype=torch.bool).triu())


@misconception(
    "CausalAttention",
    confuses="the next token with the current one: the next token is still visible",
    hint="Change token 1 of x. Does row 0 of the result change?",
)
class next_token_seen(_Right):
    def make_mask(self, size):
        self.register_buffer("mask", torch.ones(size, size, dtype=torch.bool).triu(2))


@misconception(
    "CausalAttention",
    confuses="the future with the past: the lower triangle is masked",
    hint="Change the first token of x. Which rows of the result change?",
)
class past_masked(_Right):
    def make_mask(self, size):
        self.register_buffer("mask", torch.ones(size, size, dtype=torch.bool).tril(-1))


@misconception(
    "CausalAttention",
    confuses="the tokens to see with the tokens to mask: a token sees only later ones",
    hint="Does your code mask what a token may see, or what it may not see?",
)
class allowed_masked(_Right):
    def make_mask(self, size):
        self.register_buffer("mask", torch.ones(size, size, dtype=torch.bool).tril())


@misconception(
    "CausalAttention",
    confuses="a score of zero with a weight of zero: masked scores are 0, or close to 0, before "
    "softmax",
    hint="What weight does softmax give to a score of 0?",
)
class scores_of_zero(_Right):
    def masked(self, scores):
        return scores.tril()


@misconception(
    "CausalAttention",
    confuses="a low score with minus infinity: masked scores become -10, which an ordinary score "
    "may reach",
    hint="Compare the weight that a score of -10 gets with the weight for a score of -5.",
)
class minus_ten(_Right):
    def masked(self, scores):
        size = scores.shape[-1]
        return scores.masked_fill(self.mask[:size, :size], -10.0)


@misconception(
    "CausalAttention",
    confuses="a score's position with its value: scores of zero are masked as well",
    hint="What if a token is a vector of zeros?",
)
class zeros_masked(_Right):
    def masked(self, scores):
        visible = scores.tril()
        return visible.masked_fill(visible == 0, -torch.inf)


@misconception(
    "CausalAttention",
    confuses="masking scores before softmax with zeroing weights after it: rows no longer sum to "
    "one",
    hint="Add up each row of the attention weights. Is each sum one?",
)
class zeroed_after_softmax(_Right):
    def weights(self, queries, keys):
        return torch.softmax(self.scaled(queries @ keys.transpose(1, 2), keys), dim=-1).tril()


@misconception(
    "CausalAttention",
    confuses="weights with values: the values are masked",
    hint="Which tensor has one number for each pair of a query and a key?",
)
class values_masked(_Right):
    def attend(self, queries, keys, values):
        weights = torch.softmax(self.scaled(queries @ keys.transpose(1, 2), keys), dim=-1)
        return self.dropout(weights) @ values.tril()


@misconception(
    "CausalAttention",
    confuses="attention with a running mean: every visible token has the same weight",
    hint="Change W_query. Does the result change?",
)
class running_mean(_Right):
    def weights(self, queries, keys):
        visible = torch.ones_like(queries @ keys.transpose(1, 2)).tril()
        return visible / visible.sum(dim=-1, keepdim=True)


@misconception(
    "CausalAttention",
    confuses="any sequence with the longest one: only sequences of context_length tokens work",
    hint="Try fewer tokens. Which sizes in your code come from context_length, and which come from "
    "x?",
)
class mask_not_cut(_Right):
    def masked(self, scores):
        return scores.masked_fill(self.mask, -torch.inf)


@misconception(
    "CausalAttention",
    confuses="this call's length with the first call's: the mask from the first call is kept for "
    "later ones",
    hint="Call the layer with 3 tokens and then with 5. Which mask does the second call use?",
)
class mask_of_the_first_call(_Right):
    def make_mask(self, size):
        self.mask = None

    def masked(self, scores):
        if self.mask is None:
            self.mask = torch.ones_like(scores[0], dtype=torch.bool).triu(1)
        return scores.masked_fill(self.mask, -torch.inf)


@misconception(
    "CausalAttention",
    confuses="the upper left corner of the mask with the upper right one: for a shorter input, the "
    "upper right corner of the mask is used instead of the upper left one",
    hint="Print the part of the mask that you use for 3 of 6 tokens. Which entries should be True?",
)
class wrong_corner_of_the_mask(_Right):
    def masked(self, scores):
        size = scores.shape[-1]
        return scores.masked_fill(self.mask[:size, -size:], -torch.inf)


@misconception(
    "CausalAttention",
    confuses="a fixed tensor with a trained one: the mask is a parameter",
    hint="Print the names in `named_parameters()`. What would an optimizer do to the mask?",
)
class mask_is_trained(_Right):
    def make_mask(self, size):
        self.mask = nn.Parameter(torch.full((size, size), -torch.inf).triu(1))

    def masked(self, scores):
        size = scores.shape[-1]
        return scores + self.mask[:size, :size]


@misconception(
    "CausalAttention",
    confuses="any device with the CPU: a tensor that the code makes, such as the mask, is on the "
    "CPU when the module is elsewhere",
    hint="Which tensors does `module.to(device)` move? On which device is a tensor that you "
    "create?",
)
class mask_is_plain_attribute(_Right):
    def make_mask(self, size):
        self.mask = torch.ones(size, size, dtype=torch.bool).triu(1)


@misconception(
    "CausalAttention",
    confuses="any length with the six words of the example sentence: the mask is always created "
    "for six tokens",
    hint="Build it with a context_length of 8, and call it with 8 tokens. What is the shape of the "
    "mask?",
)
class always_six_tokens(_Right):
    def make_mask(self, size):
        super().make_mask(6)


# the length of the input


@misconception(
    "CausalAttention",
    confuses="an error that names the problem with an error that happens to be raised later: too "
    "many tokens do not raise ValueError",
    hint="Which error is raised if x is too long, and which error does the docstring promise?",
)
class length_not_checked(_Right):
    def check(self, x):
        pass


@misconception(
    "CausalAttention",
    confuses="rejecting with truncating: tokens beyond the limit are silently left out",
    hint="Call it with more tokens than context_length. How many rows does the result have?",
)
class too_long_is_cut(_Right):
    def forward(self, x):
        return super().forward(x[:, : self.context_length])


@misconception(
    "CausalAttention",
    confuses="a limited length with any length: any length is accepted",
    hint="Call it with more tokens than context_length. What should happen?",
)
class any_length(_Right):
    def check(self, x):
        pass

    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)


@misconception(
    "CausalAttention",
    confuses="an error for users with an assertion for programmers: `assert` raises AssertionError",
    hint="Which error does the docstring name?",
)
class length_asserted(_Right):
    def check(self, x):
        assert x.shape[1] <= self.context_length


@misconception(
    "CausalAttention",
    confuses="an inclusive limit with an exclusive one: a sequence of exactly context_length "
    "tokens is rejected",
    hint="Call it with exactly context_length tokens. What should happen?",
)
class full_context_refused(_Right):
    def check(self, x):
        if x.shape[1] >= self.context_length:
            raise ValueError("too many tokens")


@misconception(
    "CausalAttention",
    confuses="a maximum with an exact number: fewer tokens than context_length are rejected",
    hint="Call it with fewer tokens than context_length. What should happen?",
)
class fewer_tokens_refused(_Right):
    def check(self, x):
        if x.shape[1] != self.context_length:
            raise ValueError("another number of tokens")


@misconception(
    "CausalAttention",
    confuses="tokens with items: the batch size is used as the number of tokens",
    hint="Which dimension of x counts the tokens? Try a batch of 2 sequences with 5 tokens.",
)
class batch_size_as_number_of_tokens(_Right):
    def check(self, x):
        self.number = x.shape[0]
        if self.number > self.context_length:
            raise ValueError("too many tokens")

    def masked(self, scores):
        return scores.masked_fill(self.mask[: self.number, : self.number], -torch.inf)


@misconception(
    "CausalAttention",
    confuses="tokens with items: the batch size is compared with context_length",
    hint="Which dimension of x counts the tokens?",
)
class batch_checked(_Right):
    def check(self, x):
        if x.shape[0] > self.context_length:
            raise ValueError("too many tokens")


# scores, scale, softmax


@misconception(
    "CausalAttention",
    confuses="plain scores with scaled ones: the scores are not scaled",
    hint="What are the scores divided by before softmax?",
)
class not_scaled(_Right):
    def scaled(self, scores, keys):
        return scores


@misconception(
    "CausalAttention",
    confuses="the square root of d with d: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
class divided_by_d(_Right):
    def scaled(self, scores, keys):
        return scores / keys.shape[-1]


@misconception(
    "CausalAttention",
    confuses="a real number with an integer: the square root is truncated to an integer",
    hint="What is the square root of 5? Which value does your code use?",
)
class whole_number_root(_Right):
    def scaled(self, scores, keys):
        return scores / int(keys.shape[-1] ** 0.5)


@misconception(
    "CausalAttention",
    confuses="the size of a key with the size of an input vector: the scores are divided by the "
    "square root of the size of an input vector",
    hint="Between which vectors is the dot product computed?",
)
class root_of_input_size(_Right):
    def scaled(self, scores, keys):
        return scores / self.W_key.weight.shape[1] ** 0.5


@misconception(
    "CausalAttention",
    confuses="the size of a key with the number of tokens: the scores are divided by the square "
    "root of the number of tokens",
    hint="Which dimension does the dot product sum over?",
)
class root_of_length(_Right):
    def scaled(self, scores, keys):
        return scores / keys.shape[1] ** 0.5


@misconception(
    "CausalAttention",
    confuses="keys with queries: columns sum to one instead of rows",
    hint="Add up a row and then a column of the attention weights. Which of these sums should be "
    "one?",
)
class softmax_over_queries(_Right):
    def weights(self, queries, keys):
        scores = self.masked(queries @ keys.transpose(1, 2))
        return torch.softmax(self.scaled(scores, keys), dim=1)


@misconception(
    "CausalAttention",
    confuses="keys with items: softmax runs over the batch",
    hint="Add up a row of the attention weights. Is the sum one?",
)
class softmax_over_batch(_Right):
    def weights(self, queries, keys):
        scores = self.scaled(queries @ keys.transpose(1, 2), keys)
        return torch.softmax(scores, dim=0).tril()


@misconception(
    "CausalAttention",
    confuses="queries with keys: row t of the weights belongs to key t, not to query t",
    hint="Does row t of the scores belong to query t or to key t?",
)
class roles_swapped(_Right):
    def weights(self, queries, keys):
        return super().weights(keys, queries)


@misconception(
    "CausalAttention",
    confuses="keys with values: the weights mix the keys instead of the values",
    hint="Which line computes the values, and which tensor do the weights mix?",
)
class keys_as_values(_Right):
    def attend(self, queries, keys, values):
        return super().attend(queries, keys, keys)


@misconception(
    "CausalAttention",
    confuses="inputs with their projections: x itself is mixed instead of the values",
    hint="What is the size of a row of the result, d_in or d_out?",
)
class values_not_projected(_Right):
    def forward(self, x):
        self.check(x)
        return self.attend(self.W_query(x), self.W_key(x), x)


@misconception(
    "CausalAttention",
    confuses="context vectors with attention weights: the attention weights are returned instead "
    "of the context vectors",
    hint="Compare the shape of your result with the one in the docstring.",
)
class weights_returned(_Right):
    def attend(self, queries, keys, values):
        return self.dropout(self.weights(queries, keys))


@misconception(
    "CausalAttention",
    confuses="tokens with items of a batch: the first two dimensions are swapped",
    hint="Change only the second sequence of x. Does the result for the first one change?",
)
class first_dimensions_swapped(_Right):
    def weights(self, queries, keys):
        scores = queries.transpose(0, 1) @ keys.transpose(0, 1).transpose(1, 2)
        scores = self.masked(scores)
        return torch.softmax(self.scaled(scores, keys), dim=-1)

    def attend(self, queries, keys, values):
        weights = self.dropout(self.weights(queries, keys))
        return (weights @ values.transpose(0, 1)).transpose(0, 1)


@misconception(
    "CausalAttention",
    confuses="each item of a batch with the first: all queries are compared with the keys of the "
    "first item",
    hint="Change only the first sequence of x. Does the result for the second one change?",
)
class keys_of_the_first_item(_Right):
    def weights(self, queries, keys):
        return super().weights(queries, keys[:1])


@misconception(
    "CausalAttention",
    confuses="any batch with a batch of two: the code works only for a batch of two",
    hint="Call it with one sequence and with three. Does it work?",
)
class always_two_items(_Right):
    def attend(self, queries, keys, values):
        return super().attend(queries, keys, values).reshape(2, -1, values.shape[-1])


@misconception(
    "CausalAttention",
    confuses="a dimension of size one with no dimension: dimensions of size one are dropped from "
    "the result",
    hint="Call it with one sequence of one token. What is the shape of the result?",
)
class ones_squeezed(_Right):
    def forward(self, x):
        return super().forward(x).squeeze()


@misconception(
    "CausalAttention",
    confuses="one call with all calls: the keys of earlier calls are kept",
    hint="Call it twice with the same x in eval mode. Are the results equal?",
)
class remembers_earlier_keys(_Right):
    earlier = None

    def attend(self, queries, keys, values):
        size = keys.shape[1]
        if self.earlier is not None and self.earlier.shape == keys.shape:
            keys = (keys + self.earlier) / 2
        self.earlier = keys.detach()
        return super().attend(queries, keys[:, :size], values)


# the layers


@misconception(
    "CausalAttention",
    confuses="an option with a fixed choice: the projections always have a bias",
    hint="Build it with qkv_bias=False. Does W_query have a bias?",
)
class always_biased(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, True)


@misconception(
    "CausalAttention",
    confuses="False with True as the default of qkv_bias: the default of qkv_bias is True",
    hint="What is the default of qkv_bias in your signature?",
)
class biased_by_default(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=True):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)


@misconception(
    "CausalAttention",
    confuses="an option with a fixed choice: the projections never have a bias",
    hint="Build it with qkv_bias=True. Does W_query have a bias?",
)
class never_biased(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, False)


@misconception(
    "CausalAttention",
    confuses="all projections with some of them: the layer for the values has no bias",
    hint="How many biases should there be with qkv_bias=True?",
)
class values_without_bias(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=False)


@misconception(
    "CausalAttention",
    confuses="one head with several: an output projection is added",
    hint="Which trained weights does the docstring name?",
)
class with_output_projection(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        return self.out_proj(super().forward(x))


@misconception(
    "CausalAttention",
    confuses="three layers with one that has three names: W_query, W_key and W_value are the same "
    "layer",
    hint="How many parameters does the module have? Is W_key the same object as W_query?",
)
class one_layer_for_all(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.W_key = self.W_value = self.W_query


@misconception(
    "CausalAttention",
    confuses="registered layers with unregistered ones: the module does not know its layers",
    hint="Print `list(module.named_parameters())`. Which names are missing?",
)
class layers_in_a_list(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError("too many tokens")
        queries, keys, values = (layer(x) for layer in self.layers)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        return self.dropout(weights) @ values


@misconception(
    "CausalAttention",
    confuses="building once with building in every call: forward creates new layers",
    hint="Call it twice with the same x in eval mode. Are the results equal?",
)
class layers_made_in_forward(_Right):
    def forward(self, x):
        d_out, d_in = self.W_query.weight.shape
        query, key, value = (nn.Linear(d_in, d_out, bias=False).to(x) for _ in range(3))
        return self.attend(query(x), key(x), value(x))


@misconception(
    "CausalAttention",
    confuses="the required names with other names: the layers do not have the names that the "
    "docstring gives",
    hint="Compare the names of your attributes with those in the docstring, letter by letter.",
)
class short_names(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_q = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_k = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_v = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        queries, keys, values = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        return self.dropout(weights) @ values


# training


@misconception(
    "CausalAttention",
    confuses="storing dropout with applying it: nothing is dropped in training",
    hint="In train mode with a dropout of 0.5, do two calls give the same result?",
)
class dropout_not_used(_Right):
    def attend(self, queries, keys, values):
        return self.weights(queries, keys) @ values


@misconception(
    "CausalAttention",
    confuses="training with both modes: weights are dropped in evaluation, too",
    hint="Switch the module to eval mode and call it twice. Do you get the same result?",
)
class drops_in_evaluation(_Right):
    def attend(self, queries, keys, values):
        return F.dropout(self.weights(queries, keys), self.dropout.p) @ values


@misconception(
    "CausalAttention",
    confuses="weights with scores: dropout is applied before softmax",
    hint="Does a dropped score of 0 become a weight of 0 after softmax?",
)
class scores_dropped(_Right):
    def attend(self, queries, keys, values):
        return self.weights(queries, keys) @ values

    def scaled(self, scores, keys):
        return self.dropout(super().scaled(scores, keys)).masked_fill(
            scores == -torch.inf, -torch.inf
        )


@misconception(
    "CausalAttention",
    confuses="dropped weights with masked ones: after dropout, the rest of each row is rescaled to "
    "sum to one",
    hint="May a remaining weight depend on how many weights in its row were dropped?",
)
class rows_renormalized(_Right):
    def attend(self, queries, keys, values):
        kept = self.dropout(self.weights(queries, keys))
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-6) @ values


@misconception(
    "CausalAttention",
    confuses="weights with context vectors: dropout is applied to the output",
    hint="Is dropout applied before or after the product with the values?",
)
class context_dropped(_Right):
    def attend(self, queries, keys, values):
        return self.dropout(self.weights(queries, keys) @ values)


@misconception(
    "CausalAttention",
    confuses="one dropout with two: weights and context vectors are dropped",
    hint="Count the random decisions behind one context vector.",
)
class weights_and_context_dropped(_Right):
    def attend(self, queries, keys, values):
        return self.dropout(self.dropout(self.weights(queries, keys)) @ values)


@misconception(
    "CausalAttention",
    confuses="weights with values: entries of the values are dropped",
    hint="Which tensor has one number for each pair of a query and a key?",
)
class values_dropped(_Right):
    def attend(self, queries, keys, values):
        return self.weights(queries, keys) @ self.dropout(values)


@misconception(
    "CausalAttention",
    confuses="weights with inputs: entries of x are dropped",
    hint="Is dropout applied before or after softmax?",
)
class inputs_dropped(_Right):
    def forward(self, x):
        self.check(x)
        x = self.dropout(x)
        return self.weights(self.W_query(x), self.W_key(x)) @ self.W_value(x)


@misconception(
    "CausalAttention",
    confuses="weights with tokens: if a token is dropped, it is dropped for all queries",
    hint="How many random decisions do T queries and T keys need?",
)
class tokens_dropped(_Right):
    def attend(self, queries, keys, values):
        weights = self.weights(queries, keys)
        return weights * self.dropout(torch.ones_like(weights[:, :1])) @ values


@misconception(
    "CausalAttention",
    confuses="each item of a batch with the first: all items of a batch get the same dropout "
    "pattern",
    hint="In train mode, put the same sequence into a batch twice. Are the results equal?",
)
class batch_shares_a_pattern(_Right):
    def attend(self, queries, keys, values):
        weights = self.weights(queries, keys)
        return weights * self.dropout(torch.ones_like(weights[0])) @ values


@misconception(
    "CausalAttention",
    confuses="a new pattern for each call with one pattern for all calls: every call gets the same "
    "pattern of dropout",
    hint="In train mode, do two calls give the same result?",
)
class same_pattern_in_every_call(_Right):
    pattern = None

    def attend(self, queries, keys, values):
        weights = self.weights(queries, keys)
        if not self.training:
            return weights @ values
        if self.pattern is None or self.pattern.shape != weights.shape:
            self.pattern = self.dropout(torch.ones_like(weights))
        return weights * self.pattern @ values


@misconception(
    "CausalAttention",
    confuses="dropping and scaling with dropping alone: the kept weights are not scaled up",
    hint="What happens to the mean over many calls?",
)
class kept_not_scaled(_Right):
    def attend(self, queries, keys, values):
        weights = self.weights(queries, keys)
        if self.training:
            weights = weights * (torch.rand_like(weights) >= self.dropout.p)
        return weights @ values


@misconception(
    "CausalAttention",
    confuses="the layer's device with the CPU: the dropout pattern is created on the CPU, wherever "
    "the layer is",
    hint="Move the layer to another device and call it in train mode. On which device is "
    "`torch.rand(shape)`?",
)
class pattern_on_the_cpu(_Right):
    def attend(self, queries, keys, values):
        weights = self.weights(queries, keys)
        if self.training and self.dropout.p > 0:
            kept = torch.rand(weights.shape) >= self.dropout.p
            weights = weights * kept / (1 - self.dropout.p)
        return weights @ values


@misconception(
    "CausalAttention",
    confuses="plain values with values that have a gradient: dropout is written into `.data`, "
    "where the backward pass does not see it",
    hint="In train mode, what is the gradient of a dropped weight?",
)
class dropout_behind_the_graph(_Right):
    def attend(self, queries, keys, values):
        weights = self.weights(queries, keys) * 1.0
        weights.data = self.dropout(weights.data)
        return weights @ values


@misconception(
    "CausalAttention",
    confuses="several tokens with a single one: the weight of a single token is never dropped",
    hint="In train mode, call the layer several times with a single token. Are the results equal?",
)
class a_lone_token_is_never_dropped(_Right):
    def attend(self, queries, keys, values):
        return super().attend(queries, keys, values) if values.shape[1] > 1 else values


@misconception(
    "CausalAttention",
    confuses="the probability of dropping with the probability of keeping: the dropout probability "
    "is used as the probability of keeping",
    hint="With a dropout of 0.1, how many of 1000 weights are left?",
)
class p_keeps(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.dropout = nn.Dropout(1 - dropout if dropout else 0.0)


@misconception(
    "CausalAttention",
    confuses="the probability of dropping with the probability of keeping: the layer drops with "
    "probability 1 - dropout",
    hint="In train mode with a dropout of 0, is anything dropped?",
)
class drops_what_should_stay(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.dropout = nn.Dropout(1 - dropout)


@misconception(
    "CausalAttention",
    confuses="any probability with one half: any dropout above 0 becomes 0.5",
    hint="With a dropout of 0.1, how many of 1000 weights are left?",
)
class always_one_half(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.dropout = nn.Dropout(0.5 if dropout else 0.0)


@misconception(
    "CausalAttention",
    confuses="plain values with values that have a gradient: nothing can be trained",
    hint="Does the result have a `grad_fn`?",
)
class nothing_trained(_Right):
    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)


@misconception(
    "CausalAttention",
    confuses="fixed weights with trained ones: no gradient flows through the attention weights, so "
    "only W_value learns",
    hint="Which of the three projections get a gradient?",
)
class weights_cut_off(_Right):
    def weights(self, queries, keys):
        return super().weights(queries, keys).detach()


@misconception(
    "CausalAttention",
    confuses="the dtype of the module with float32: a tensor is float32 even if the module is "
    "float64",
    hint="Convert the module to float64. Which of your steps still uses float32?",
)
class softmax_in_float32(_Right):
    def weights(self, queries, keys):
        return super().weights(queries.float(), keys.float())


@misconception(
    "CausalAttention",
    confuses="a new tensor with the caller's: x is changed in place",
    hint="Print x before and after the call.",
)
class input_changed(_Right):
    def forward(self, x):
        result = super().forward(x)
        with torch.no_grad():
            x -= x.mean()
        return result


class _SeededDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p, self.numbers = p, torch.Generator().manual_seed(0)

    def forward(self, x):
        if not self.training or not self.p:
            return x
        drawn = torch.rand(x.shape, generator=self.numbers, dtype=x.dtype).to(x.device)
        return x * (drawn >= self.p) / (1 - self.p)


@misconception(
    "CausalAttention",
    confuses="a seed for a test with a part of the layer: all layers draw the same random numbers",
    hint="Build two layers and call each of them in train mode. Do they drop the same weights?",
)
class seed_in_the_constructor(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.dropout = _SeededDropout(dropout)


@misconception(
    "CausalAttention",
    confuses="a probability with a whole percentage: the dropout probability is rounded to two "
    "decimal places",
    hint="Build it with a dropout of 0.996. Is any attention weight left in train mode?",
)
class rate_in_whole_per_cents(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, round(dropout, 2), qkv_bias)


@misconception(
    "CausalAttention",
    confuses="training mode with computing gradients: in train mode, nothing is dropped if no "
    "gradients are computed",
    hint="Training mode and computing gradients are two switches: `.train()` and "
    "`torch.is_grad_enabled()`. Which one controls dropout?",
)
class nothing_dropped_without_gradients(_Right):
    def attend(self, queries, keys, values):
        weights = self.weights(queries, keys)
        return (self.dropout(weights) if torch.is_grad_enabled() else weights) @ values


@misconception(
    "CausalAttention",
    confuses="building a layer with calling it: a parameter is created in the first call",
    hint="Print the names of the parameters before and after the first call. Does an optimizer "
    "that was created in between know all of them?",
)
class temperature_made_in_the_first_call(_Right):
    def scaled(self, scores, keys):
        if not hasattr(self, "temperature"):
            self.temperature = nn.Parameter(scores.new_ones(()))
        return scores * self.temperature / keys.shape[-1] ** 0.5


@misconception(
    "CausalAttention",
    confuses="weights with scores: masked scores are dropped before softmax, and 0 times minus "
    "infinity is nan",
    hint="Is dropout applied before or after softmax? Compute 0.0 * float('-inf').",
)
class masked_scores_dropped(_Right):
    def attend(self, queries, keys, values):
        return self.weights(queries, keys) @ values

    def scaled(self, scores, keys):
        return self.dropout(super().scaled(scores, keys))


@misconception(
    "CausalAttention",
    confuses="the size of a key with context_length: the scores are divided by the square root of "
    "context_length",
    hint="Which dimension does the dot product sum over? How large is it for context_length = 100?",
)
class root_of_the_context_length(_Right):
    def scaled(self, scores, keys):
        return scores / self.context_length**0.5


@misconception(
    "CausalAttention",
    confuses="keys with queries: W_query computes the keys as well as the queries",
    hint="Change W_key. Does the result change?",
)
class keys_from_w_query(_Right):
    def forward(self, x):
        self.check(x)
        queries = self.W_query(x)
        return self.attend(queries, queries, self.W_value(x))


@misconception(
    "CausalAttention",
    confuses="an argument with a constant: the dropout probability is always 0.5, whatever is "
    "given",
    hint="Build it with a dropout of 0.1. In train mode, how many weights of 1000 are left?",
)
class rate_of_one_half(_Right):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, 0.5, qkv_bias)


@misconception(
    "CausalAttention",
    confuses="weights with queries: entries of the queries are dropped",
    hint="Which tensor do you apply dropout to, and at which step of the formula?",
)
class queries_dropped(_Right):
    def attend(self, queries, keys, values):
        return self.weights(self.dropout(queries), keys) @ values


@misconception(
    "CausalAttention",
    confuses="one dropout with two: dropout is applied to the weights twice",
    hint="With a dropout of 0.5, how many weights in a row are left on average?",
)
class weights_dropped_twice(_Right):
    def weights(self, queries, keys):
        return self.dropout(super().weights(queries, keys))


@misconception(
    "CausalAttention",
    confuses="the entries above the diagonal with the entries on and above it: a token does not "
    "see itself, and all weights of the first token are zero",
    hint="Add up each row of the attention weights. Which token should the first token see?",
)
class first_row_is_zero(_Right):
    def make_mask(self, size):
        self.register_buffer("mask", torch.ones(size, size, dtype=torch.bool).triu())

    def weights(self, queries, keys):
        return super().weights(queries, keys).nan_to_num()


@misconception(
    "CausalAttention",
    confuses="a low score with minus infinity: masked scores become -30 and are then divided by "
    "the square root of d_out",
    hint="What does -30 become if d_out is 100? How far is it below the other scores?",
)
class minus_thirty(_Right):
    def masked(self, scores):
        size = scores.shape[-1]
        return scores.masked_fill(self.mask[:size, :size], -30.0)


@misconception(
    "CausalAttention",
    confuses="a low score with minus infinity: masked scores become -50 and are then divided by "
    "the square root of d_out",
    hint="What does -50 become if d_out is 100? How far is it below the other scores?",
)
class minus_fifty(_Right):
    def masked(self, scores):
        size = scores.shape[-1]
        return scores.masked_fill(self.mask[:size, :size], -50.0)


@misconception(
    "CausalAttention",
    confuses="a low score with minus infinity: masked scores become -100 and are then divided by "
    "the square root of d_out",
    hint="What does -100 become if d_out is 100? How far is it below the other scores?",
)
class minus_a_hundred(_Right):
    def masked(self, scores):
        size = scores.shape[-1]
        return scores.masked_fill(self.mask[:size, :size], -100.0)


@misconception(
    "CausalAttention",
    confuses="a lower score with a hidden one: future scores are lowered by 30 and then divided by "
    "the square root of d_out",
    hint="What if a future score is 28 above the visible ones, or if d_out is 4096?",
)
class lowered_by_thirty(_Right):
    def masked(self, scores):
        size = scores.shape[-1]
        return scores - 30 * self.mask[:size, :size]


@misconception(
    "CausalAttention",
    confuses="a lower score with a hidden one: future scores are lowered by 50 and then divided by "
    "the square root of d_out",
    hint="What if a future score is 48 above the visible ones, or if d_out is 4096?",
)
class lowered_by_fifty(_Right):
    def masked(self, scores):
        size = scores.shape[-1]
        return scores - 50 * self.mask[:size, :size]


@misconception(
    "CausalAttention",
    confuses="a lower score with a hidden one: future scores are lowered by 100 and then divided "
    "by the square root of d_out",
    hint="What if a future score is 98 above the visible ones, or if d_out is 4096?",
)
class lowered_by_a_hundred(_Right):
    def masked(self, scores):
        size = scores.shape[-1]
        return scores - 100 * self.mask[:size, :size]
