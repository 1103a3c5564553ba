"""Known mistakes in grouped-query attention."""

import math

import torch
from torch import nn

from autograder.suite import misconception

# grouped_query_attention


def _checked(queries, keys):
    """Returns the number of query heads for each key head; refuses unequal groups."""
    if queries.shape[1] % keys.shape[1] != 0:
        raise ValueError("the groups are not equal")
    return queries.shape[1] // keys.shape[1]


def _attend(queries, keys, values, scale=None, dim=-1):
    """Computes attention with as many key heads as query heads, right by default."""
    scores = queries @ keys.transpose(-2, -1) / (scale or math.sqrt(queries.shape[-1]))
    return torch.softmax(scores, dim) @ values


def _shared(queries, keys, values):
    """Repeats keys and values for every query head."""
    group = _checked(queries, keys)
    return keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)


@misconception(
    "grouped_query_attention",
    confuses="sharing in groups with taking turns: keys are shared in groups, but value heads are "
    "assigned in turn",
    hint="Which value head does query head 1 use, and which key head?",
)
def values_in_turns(queries, keys, values):
    group = _checked(queries, keys)
    keys, _ = _shared(queries, keys, values)
    return _attend(queries, keys, values.repeat(1, group, 1, 1))


@misconception(
    "grouped_query_attention",
    confuses="sharing in groups with taking turns: values are shared in groups, but key heads are "
    "assigned in turn",
    hint="Which key head does query head 1 use, and which value head?",
)
def keys_in_turns(queries, keys, values):
    group = _checked(queries, keys)
    _, values = _shared(queries, keys, values)
    return _attend(queries, keys.repeat(1, group, 1, 1), values)


@misconception(
    "grouped_query_attention",
    confuses="sharing among neighbors with taking turns: query head h uses key head h mod G",
    hint="With 4 query heads and 2 key heads, which key head does query head 1 use?",
)
def heads_in_turns(queries, keys, values):
    group = _checked(queries, keys)
    return _attend(queries, keys.repeat(1, group, 1, 1), values.repeat(1, group, 1, 1))


@misconception(
    "grouped_query_attention",
    confuses="repeating with broadcasting, which repeats only dimensions of size 1: keys or values "
    "still have fewer heads than the queries when they are multiplied",
    hint="Print the shapes of queries, keys and values right before each product. How many heads "
    "does each of them have?",
)
def heads_not_repeated(queries, keys, values):
    _checked(queries, keys)
    return _attend(queries, keys, values)


@misconception(
    "grouped_query_attention",
    confuses="repeating with broadcasting, which repeats only dimensions of size 1: keys or values "
    "still have fewer heads than the queries when they are multiplied, and numbers of heads that "
    "do not divide evenly raise no ValueError",
    hint="Print the shapes of queries, keys and values right before each product. How many heads "
    "does each of them have?",
)
def heads_neither_repeated_nor_checked(queries, keys, values):
    return _attend(queries, keys, values)


@misconception(
    "grouped_query_attention",
    confuses="repeating heads with repeating samples: a sample uses keys of other samples",
    hint="Call it with two different samples. Does the first one use keys of the second?",
)
def repeated_along_the_batch(queries, keys, values):
    group = _checked(queries, keys)
    batch, heads = queries.shape[:2]
    keys = keys.repeat(group, 1, 1, 1).reshape(batch, heads, *keys.shape[2:])
    values = values.repeat(group, 1, 1, 1).reshape(batch, heads, *values.shape[2:])
    return _attend(queries, keys, values)


@misconception(
    "grouped_query_attention",
    confuses="groups of any size with groups of one: shared key heads are rejected",
    hint="May 4 query heads share 2 key heads?",
)
def shared_heads_refused(queries, keys, values):
    if queries.shape[1] != keys.shape[1]:
        raise ValueError("as many heads of keys as query heads")
    return _attend(queries, keys, values)


@misconception(
    "grouped_query_attention",
    confuses="plain scores with scaled ones: the scores are not scaled",
    hint="What are scores divided by before softmax?",
)
def not_scaled(queries, keys, values):
    return _attend(queries, *_shared(queries, keys, values), scale=1.0)


@misconception(
    "grouped_query_attention",
    confuses="the size of one head with the size of all heads together: the scores are divided by "
    "the square root of the size of all heads together",
    hint="How many products are added for one score?",
)
def divided_by_the_root_of_all_columns(queries, keys, values):
    shared = _shared(queries, keys, values)
    return _attend(queries, *shared, scale=math.sqrt(queries.shape[1] * queries.shape[-1]))


@misconception(
    "grouped_query_attention",
    confuses="the size of a query with the size of a value: the scores are divided by the square "
    "root of the size of a value",
    hint="How many products are added for one score?",
)
def divided_by_the_root_of_the_value_size(queries, keys, values):
    shared = _shared(queries, keys, values)
    return _attend(queries, *shared, scale=math.sqrt(values.shape[-1]))


@misconception(
    "grouped_query_attention",
    confuses="an exception of a given type with `assert`: `assert` raises AssertionError",
    hint="Which exception does `assert` raise, and which one does the question ask for?",
)
def assertion_error(queries, keys, values):
    assert queries.shape[1] % keys.shape[1] == 0
    return _attend(queries, *_shared(queries, keys, values))


@misconception(
    "grouped_query_attention",
    confuses="a clear error with whatever error torch happens to raise later: no ValueError is "
    "raised if H is not a multiple of G",
    hint="Try 4 query heads and 3 key heads. What raises the error, and what does its message say?",
)
def no_check_of_the_groups(queries, keys, values):
    group = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(group, 1), values.repeat_interleave(group, 1)
    return torch.softmax(queries @ keys.mT / math.sqrt(queries.shape[-1]), -1) @ values


@misconception(
    "grouped_query_attention",
    confuses="the order before merging with the order of the result: tokens come before heads",
    hint="What should the order of the four dimensions of the result be?",
)
def tokens_before_heads(queries, keys, values):
    return _attend(queries, *_shared(queries, keys, values)).transpose(1, 2)


@misconception(
    "grouped_query_attention",
    confuses="any number of keys with as many keys as queries, as in self-attention: the code "
    "works only if there are as many keys as queries",
    hint="Use more keys than queries. Does your code still work?",
)
def as_many_keys_as_queries(queries, keys, values):
    group = _checked(queries, keys)
    batch, heads, num_tokens, size = queries.shape
    keys = keys.repeat_interleave(group, 1).reshape(batch, heads, num_tokens, size)
    values = values.repeat_interleave(group, 1).reshape(batch, heads, num_tokens, -1)
    return _attend(queries, keys, values)


@misconception(
    "grouped_query_attention",
    confuses="all groups with the first one: all query heads use head 0 of keys and values",
    hint="Change the last head of keys and values. Does the result change?",
)
def all_read_the_first_head(queries, keys, values):
    _checked(queries, keys)
    return _attend(queries, keys[:, :1], values[:, :1])


@misconception(
    "grouped_query_attention",
    confuses="the values of all groups with those of the first: all query heads use value head 0",
    hint="Change the last head of the values. Does the result change?",
)
def values_of_the_first_head(queries, keys, values):
    keys, _ = _shared(queries, keys, values)
    return _attend(queries, keys, values[:, :1])


@misconception(
    "grouped_query_attention",
    confuses="sharing keys with sharing queries: the queries in a group are averaged",
    hint="Give two query heads in one group different queries. Are their results different?",
)
def queries_averaged_in_a_group(queries, keys, values):
    group = _checked(queries, keys)
    mean = queries.unflatten(1, (-1, group)).mean(2).repeat_interleave(group, 1)
    return _attend(mean, *_shared(queries, keys, values))


@misconception(
    "grouped_query_attention",
    confuses="groups of heads with a dimension of the result: the result has a separate dimension "
    "for the groups",
    hint="How many dimensions should the result have?",
)
def groups_as_a_dimension(queries, keys, values):
    group = _checked(queries, keys)
    return _attend(queries, *_shared(queries, keys, values)).unflatten(1, (-1, group))


@misconception(
    "grouped_query_attention",
    confuses="the keys with the queries: softmax runs over the queries instead of the keys",
    hint="Which weights sum to one: those in a row or those in a column?",
)
def softmax_over_queries(queries, keys, values):
    return _attend(queries, *_shared(queries, keys, values), dim=-2)


@misconception(
    "grouped_query_attention",
    confuses="the keys with the heads: softmax runs over dimension 1, the heads, instead of the "
    "keys",
    hint="In scores of shape (B, H, T, S), which dimension holds the keys?",
)
def softmax_over_heads(queries, keys, values):
    return _attend(queries, *_shared(queries, keys, values), dim=1)


@misconception(
    "grouped_query_attention",
    confuses="unmasked attention with causal attention: later keys are hidden",
    hint="Does the first query see the last key here?",
)
def causal_too(queries, keys, values):
    keys, values = _shared(queries, keys, values)
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), -1) @ values


@misconception(
    "grouped_query_attention",
    confuses="the dtype of the inputs with float32: precision is lost along the way",
    hint="Call it with float64 tensors. How many digits of the result are right?",
)
def float32_softmax(queries, keys, values):
    keys, values = _shared(queries, keys, values)
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
    return torch.softmax(scores.float(), -1).to(values.dtype) @ values


@misconception(
    "grouped_query_attention",
    confuses="keys that need a gradient with constants: no gradient reaches the keys",
    hint="Do the keys get a gradient? Look at their `grad` after a backward pass.",
)
def copies_without_gradient(queries, keys, values):
    keys, values = _shared(queries, keys, values)
    return _attend(queries, keys.detach(), values)


@misconception(
    "grouped_query_attention",
    confuses="a dimension of size one with one that can be dropped: dimensions of size one are "
    "dropped from the result",
    hint="Call it with one sample or one query, and look at the shape of the result.",
)
def dimensions_of_one_dropped(queries, keys, values):
    return _attend(queries, *_shared(queries, keys, values)).squeeze()


# GroupedQueryAttention


class _Grouped(nn.Module):
    """The right module in steps; each mistake below changes one of them."""

    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__()
        self.check(d_model, num_heads, num_kv_heads)
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_model // num_heads
        width = num_kv_heads * self.head_dim
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, width, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, width, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def check(self, d_model, num_heads, num_kv_heads):
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError("heads do not divide")

    def split(self, x, num_heads):
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)

    def share(self, heads):
        return heads.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def scale(self):
        return math.sqrt(self.head_dim)

    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)

    def weights(self, scores):
        return torch.softmax(self.masked(scores), -1)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(-2)

    def heads(self, x):
        q = self.split(self.W_query(x), self.num_heads)
        k = self.share(self.split(self.W_key(x), self.num_kv_heads))
        v = self.share(self.split(self.W_value(x), self.num_kv_heads))
        return self.merge(self.weights(q @ k.mT / self.scale()) @ v)

    def forward(self, x):
        return self.out_proj(self.heads(x))


@misconception(
    "GroupedQueryAttention",
    confuses="sharing among neighbors with taking turns: query head h uses key head h mod G",
    hint="With 4 query heads and 2 key heads, which key head does query head 1 use?",
)
class layer_heads_in_turns(_Grouped):
    def share(self, heads):
        return heads.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)


@misconception(
    "GroupedQueryAttention",
    confuses="repeating with broadcasting, which repeats only dimensions of size 1: keys or values "
    "still have fewer heads than the queries when they are multiplied",
    hint="Print the shapes of queries, keys and values right before each product. How many heads "
    "does each of them have?",
)
class layer_heads_not_repeated(_Grouped):
    def share(self, heads):
        return heads


@misconception(
    "GroupedQueryAttention",
    confuses="repeating with broadcasting, which repeats only dimensions of size 1: keys or values "
    "still have fewer heads than the queries when they are multiplied, and the constructor accepts "
    "numbers of heads that do not divide evenly",
    hint="Print the shapes of queries, keys and values right before each product. How many heads "
    "does each of them have?",
)
class layer_heads_neither_repeated_nor_checked(_Grouped):
    def check(self, d_model, num_heads, num_kv_heads):
        pass

    def share(self, heads):
        return heads


@misconception(
    "GroupedQueryAttention",
    confuses="the causal layer with the function, which has no mask: nothing is masked",
    hint="Change the last token. Which rows of the result may change?",
)
class no_causal_mask(_Grouped):
    def masked(self, scores):
        return scores


@misconception(
    "GroupedQueryAttention",
    confuses="the future with the past: earlier tokens are forbidden",
    hint="Change the last token. Which rows of the result may change?",
)
class past_forbidden(_Grouped):
    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).tril(-1), -torch.inf)


@misconception(
    "GroupedQueryAttention",
    confuses="the next token with the current one: the next token is still visible",
    hint="Change token 1. Does the result for token 0 change?",
)
class one_token_ahead(_Grouped):
    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(2), -torch.inf)


@misconception(
    "GroupedQueryAttention",
    confuses="a low score with minus infinity: future scores become a number that is not low "
    "enough",
    hint="What if the allowed scores are all near -20? Is your fill value far below them?",
)
class future_not_low_enough(_Grouped):
    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -10.0)


@misconception(
    "GroupedQueryAttention",
    confuses="masking scores before softmax with masking weights after it: future weights are set "
    "to 0 after softmax instead of masking the scores before it",
    hint="Add up the weights of the first token. Do they sum to one?",
)
class future_zeroed_after_softmax(_Grouped):
    def weights(self, scores):
        return torch.softmax(scores, -1).tril()


@misconception(
    "GroupedQueryAttention",
    confuses="the size of one head with the size of all key heads together: the scores are divided "
    "by the square root of the size of all key heads together, not of one head",
    hint="How many products are added for one score of one head?",
)
class divided_by_the_root_of_the_key_width(_Grouped):
    def scale(self):
        return math.sqrt(self.W_key.out_features)


@misconception(
    "GroupedQueryAttention",
    confuses="the size of one head with the size of a token: the scores are divided by the square "
    "root of d_model, not of the head size",
    hint="How many products are added for one score of one head?",
)
class divided_by_the_root_of_d_model(_Grouped):
    def scale(self):
        return math.sqrt(self.W_query.in_features)


@misconception(
    "GroupedQueryAttention",
    confuses="plain scores with scaled ones: the scores are not scaled",
    hint="What are scores divided by before softmax?",
)
class scores_not_scaled(_Grouped):
    def scale(self):
        return 1.0


@misconception(
    "GroupedQueryAttention",
    confuses="two conditions with one: a number of heads that does not divide d_model is accepted "
    "by the constructor",
    hint="Build it with a d_model of 10 and 4 heads. What should happen?",
)
class columns_not_checked(_Grouped):
    def check(self, d_model, num_heads, num_kv_heads):
        if num_heads % num_kv_heads:
            raise ValueError("heads do not divide")


@misconception(
    "GroupedQueryAttention",
    confuses="two conditions with one: a num_kv_heads that does not divide num_heads is accepted "
    "by the constructor",
    hint="Build it with 4 query heads and 3 key heads. What should happen?",
)
class groups_not_checked(_Grouped):
    def check(self, d_model, num_heads, num_kv_heads):
        if d_model % num_heads:
            raise ValueError("heads do not divide")


@misconception(
    "GroupedQueryAttention",
    confuses="an exception of a given type with `assert`: `assert` raises AssertionError",
    hint="Which exception does `assert` raise, and which one does the question ask for?",
)
class layer_assertion_error(_Grouped):
    def check(self, d_model, num_heads, num_kv_heads):
        assert d_model % num_heads == 0
        assert num_heads % num_kv_heads == 0


@misconception(
    "GroupedQueryAttention",
    confuses="this output projection with Llama's, which has no bias: out_proj has no bias",
    hint="qkv_bias applies to queries, keys and values. What about out_proj?",
)
class out_proj_without_bias(_Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__(d_model, num_heads, num_kv_heads, qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)


@misconception(
    "GroupedQueryAttention",
    confuses="accepting an argument with using it: W_query, W_key and W_value never have a bias",
    hint="Build it with qkv_bias=True. Where does your code use qkv_bias?",
)
class qkv_bias_ignored(_Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__(d_model, num_heads, num_kv_heads)


@misconception(
    "GroupedQueryAttention",
    confuses="an argument with a constant: the projections always have a bias",
    hint="Build it without qkv_bias. Which layers have a bias?",
)
class always_a_bias(_Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__(d_model, num_heads, num_kv_heads, True)


@misconception(
    "GroupedQueryAttention",
    confuses="False with True as the default of qkv_bias: the default of qkv_bias is True",
    hint="What is the default of qkv_bias in your signature?",
)
class a_bias_by_default(_Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=True):
        super().__init__(d_model, num_heads, num_kv_heads, qkv_bias)


@misconception(
    "GroupedQueryAttention",
    confuses="fewer key and value heads with as many as query heads: W_key and W_value are as wide "
    "as W_query",
    hint="How many columns do num_kv_heads heads have in total?",
)
class keys_as_wide_as_queries(_Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__(d_model, num_heads, num_kv_heads, qkv_bias)
        self.W_key = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, d_model, bias=qkv_bias)

    def share(self, heads):
        return heads

    def split(self, x, num_heads):
        return super().split(x, self.num_heads)


@misconception(
    "GroupedQueryAttention",
    confuses="one length with all lengths: something from the first call is used in later ones",
    hint="Call it with 4 tokens and then with 7. What is kept from the first call?",
)
class mask_of_the_first_call(_Grouped):
    kept = None

    def masked(self, scores):
        if self.kept is None:
            self.kept = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return scores.masked_fill(self.kept, -torch.inf)


@misconception(
    "GroupedQueryAttention",
    confuses="transposing and reshaping with reshaping alone: heads are merged without a transpose",
    hint="Before merging, all columns of one token must be next to each other. Print the shapes.",
)
class merged_without_transpose(_Grouped):
    def merge(self, heads):
        batch, _, num_tokens, _ = heads.shape
        return heads.reshape(batch, num_tokens, -1)


@misconception(
    "GroupedQueryAttention",
    confuses="reshaping and transposing with reshaping alone: heads are split without a transpose",
    hint="Print one head. Does it contain the same columns of every token?",
)
class split_without_transpose(_Grouped):
    def split(self, x, num_heads):
        return x.reshape(len(x), num_heads, -1, self.head_dim)


@misconception(
    "GroupedQueryAttention",
    confuses="neighboring columns with every H-th column: each head gets every H-th column instead "
    "of neighboring ones",
    hint="Which columns belong to head 0: the first d columns or every H-th column?",
)
class heads_interleaved(_Grouped):
    def split(self, x, num_heads):
        return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)

    def merge(self, heads):
        return heads.permute(0, 2, 3, 1).flatten(-2)


@misconception(
    "GroupedQueryAttention",
    confuses="building a layer with using it: out_proj has no effect",
    hint="What happens after the heads are merged?",
)
class out_proj_never_called(_Grouped):
    def forward(self, x):
        return self.heads(x)


@misconception(
    "GroupedQueryAttention",
    confuses="attention with the block around it: x is added to the result",
    hint="Does the question ask for the sum of input and output?",
)
class residual_inside(_Grouped):
    def forward(self, x):
        return x + super().forward(x)


@misconception(
    "GroupedQueryAttention",
    confuses="the keys with the heads: softmax runs over dimension 1, the heads, instead of the "
    "keys",
    hint="In scores of shape (B, H, T, T), which dimension holds the keys?",
)
class layer_softmax_over_heads(_Grouped):
    def weights(self, scores):
        return torch.softmax(self.masked(scores), 1).nan_to_num()


@misconception(
    "GroupedQueryAttention",
    confuses="a fixed mask with a trained one: the mask is a parameter",
    hint="Count the trainable parameters. Which of them should not change during training?",
)
class mask_as_a_parameter(_Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__(d_model, num_heads, num_kv_heads, qkv_bias)
        self.mask = nn.Parameter(torch.full((256, 256), -1e9).triu(1))

    def masked(self, scores):
        num_tokens = scores.shape[-1]
        return scores + self.mask[:num_tokens, :num_tokens]


@misconception(
    "GroupedQueryAttention",
    confuses="any device with the CPU: forward uses a tensor, such as the mask, that is on the CPU "
    "even after the module is moved",
    hint="Which tensors does `module.to(device)` move? On which device is a tensor that you "
    "create?",
)
class mask_left_behind(_Grouped):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__(d_model, num_heads, num_kv_heads, qkv_bias)
        self.mask = torch.ones(256, 256).triu(1).bool()

    def masked(self, scores):
        num_tokens = scores.shape[-1]
        return scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)


@misconception(
    "GroupedQueryAttention",
    confuses="a batch of one with a dimension that can be dropped: a batch of one loses its "
    "dimension",
    hint="Call it with a batch of one, and look at the shape of the result.",
)
class batch_of_one_dropped(_Grouped):
    def forward(self, x):
        return super().forward(x).squeeze(0)


@misconception(
    "GroupedQueryAttention",
    confuses="attention weights with constants: queries and keys are not trained",
    hint="Look at the gradient of W_query after a backward pass. Is there one?",
)
class weights_detached(_Grouped):
    def weights(self, scores):
        return super().weights(scores).detach()


@misconception(
    "grouped_query_attention",
    confuses="a single key with a case that needs no check: with a single key, the code accepts a "
    "number of key heads that does not divide the number of query heads",
    hint="Try a single key position, three query heads and two key heads. What does your code "
    "check first?",
)
def one_key_unchecked(queries, keys, values):
    if keys.shape[2] == 1:
        times = -(-queries.shape[1] // values.shape[1])
        spread = values.repeat_interleave(times, 1)[:, : queries.shape[1]]
        return spread.expand(-1, -1, queries.shape[2], -1).clone()
    if queries.shape[1] % keys.shape[1]:
        raise ValueError("G does not divide H")
    times = queries.shape[1] // keys.shape[1]
    keys, values = (t.repeat_interleave(times, 1) for t in (keys, values))
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    return torch.softmax(scores, -1) @ values


@misconception(
    "GroupedQueryAttention",
    confuses="keys with values: W_value computes the keys as well as the values",
    hint="Change W_key. Does the result change?",
)
class KeysFromWValue(_Grouped):
    def heads(self, x):
        q = self.split(self.W_query(x), self.num_heads)
        v = self.share(self.split(self.W_value(x), self.num_kv_heads))
        return self.merge(self.weights(q @ v.mT / self.scale()) @ v)


@misconception(
    "GroupedQueryAttention",
    confuses="values with keys: W_key computes the values as well as the keys",
    hint="Change W_value. Does the result change?",
)
class ValuesFromWKey(_Grouped):
    def heads(self, x):
        q = self.split(self.W_query(x), self.num_heads)
        k = self.share(self.split(self.W_key(x), self.num_kv_heads))
        return self.merge(self.weights(q @ k.mT / self.scale()) @ k)


@misconception(
    "GroupedQueryAttention",
    confuses="shared keys with shared queries: the queries in a group are averaged",
    hint="Two query heads share keys. Do they share queries, too?",
)
class queries_averaged(_Grouped):
    def split(self, x, num_heads):
        heads = super().split(x, num_heads)
        if num_heads != self.num_heads:
            return heads
        means = heads.unflatten(1, (self.num_kv_heads, -1)).mean(2)
        return self.share(means)

    def heads(self, x):
        q = self.split(self.W_query(x), self.num_heads)
        k, v = (_Grouped.split(self, w(x), self.num_kv_heads) for w in (self.W_key, self.W_value))
        weights = self.weights(q @ self.share(k).mT / self.scale())
        return self.merge(weights @ self.share(v))


@misconception(
    "grouped_query_attention",
    confuses="the keys with the heads of a group: softmax runs over the query heads that share a "
    "key head",
    hint="With as many key heads as query heads, are all your weights 1?",
)
def softmax_within_a_group(queries, keys, values):
    heads = queries.unflatten(1, (keys.shape[1], _checked(queries, keys)))
    scores = heads @ keys.unsqueeze(2).mT / math.sqrt(queries.shape[-1])
    return (torch.softmax(scores, 2) @ values.unsqueeze(2)).flatten(1, 2)


@misconception(
    "GroupedQueryAttention",
    confuses="sharing in groups with taking turns: values are shared in groups, but key heads are "
    "assigned in turn",
    hint="Which key head does query head 1 use, and which value head?",
)
class layer_keys_in_turns(_Grouped):
    def heads(self, x):
        q = self.split(self.W_query(x), self.num_heads)
        k = self.split(self.W_key(x), self.num_kv_heads)
        k = k.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)
        v = self.share(self.split(self.W_value(x), self.num_kv_heads))
        return self.merge(self.weights(q @ k.mT / self.scale()) @ v)


@misconception(
    "GroupedQueryAttention",
    confuses="sharing in groups with taking turns: keys are shared in groups, but value heads are "
    "assigned in turn",
    hint="Which value head does query head 1 use, and which key head?",
)
class layer_values_in_turns(_Grouped):
    def heads(self, x):
        q = self.split(self.W_query(x), self.num_heads)
        k = self.share(self.split(self.W_key(x), self.num_kv_heads))
        v = self.split(self.W_value(x), self.num_kv_heads)
        v = v.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)
        return self.merge(self.weights(q @ k.mT / self.scale()) @ v)


@misconception(
    "GroupedQueryAttention",
    confuses="the future with the present: a token cannot attend to itself, and all weights of the "
    "first token are zero",
    hint="Add up the attention weights of the first token. What is left for it to attend to?",
)
class first_token_gets_zeros(_Grouped):
    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(0), -torch.inf)

    def weights(self, scores):
        return super().weights(scores).nan_to_num()


@misconception(
    "GroupedQueryAttention",
    confuses="a low score with minus infinity: masked scores become -50, and visible scores may be "
    "almost as low",
    hint="What weight does a masked score get if all visible scores are -49?",
)
class future_of_minus_fifty(_Grouped):
    def masked(self, scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -50.0)
