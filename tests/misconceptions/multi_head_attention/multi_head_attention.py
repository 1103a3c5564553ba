"""Known mistakes in multi-head attention with weight split."""

import math

import torch
from torch import nn

from autograder.suite import misconception


class _Layers(nn.Module):
    """The right layer in steps; each mistake below replaces one of them."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=self.has_bias(qkv_bias))
        self.dropout = nn.Dropout(dropout)
        self.make_mask(context_length)

    def has_bias(self, qkv_bias):
        return True

    def make_mask(self, context_length):
        future = torch.ones(context_length, context_length).triu(1)
        self.register_buffer("mask", future)

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)

    def split(self, x):
        batch, tokens, _ = x.shape
        return x.view(batch, tokens, self.num_heads, self.head_dim).transpose(1, 2)

    def scores(self, queries, keys):
        return queries @ keys.transpose(2, 3) / math.sqrt(self.head_dim)

    def hide(self, scores):
        tokens = scores.shape[-1]
        return scores.masked_fill(self.mask.bool()[:tokens, :tokens], -torch.inf)

    def weigh(self, scores):
        return self.dropout(torch.softmax(scores, dim=-1))

    def merge(self, context):
        batch, _, tokens, _ = context.shape
        return context.transpose(1, 2).reshape(batch, tokens, -1)

    def forward(self, x):
        queries, keys, values = map(self.split, self.project(x))
        weights = self.weigh(self.hide(self.scores(queries, keys)))
        return self.out_proj(self.merge(weights @ values))


@misconception(
    "MultiHeadAttention",
    confuses="the order of head and column when a dimension is divided: each head gets every H-th "
    "column instead of neighboring ones",
    hint="Head 0 should get the first columns of the projection. Which columns does it get in your "
    "code?",
)
class heads_interleaved(_Layers):
    def split(self, x):
        batch, tokens, _ = x.shape
        return x.view(batch, tokens, self.head_dim, self.num_heads).permute(0, 3, 1, 2)


@misconception(
    "MultiHeadAttention",
    confuses="changing a shape with swapping dimensions: the split mixes tokens and heads",
    hint="The shapes are right. Which token does each row of head 0 come from?",
)
class split_without_swapping(_Layers):
    def split(self, x):
        batch, tokens, _ = x.shape
        return x.reshape(batch, self.num_heads, tokens, self.head_dim)


@misconception(
    "MultiHeadAttention",
    confuses="changing a shape with swapping dimensions: the merge mixes tokens and heads",
    hint="The shapes are right. Which heads and tokens do the numbers of row 0 come from, just "
    "before out_proj?",
)
class merged_without_swapping(_Layers):
    def merge(self, context):
        return context.reshape(context.shape[0], context.shape[2], -1)


@misconception(
    "MultiHeadAttention",
    confuses="putting heads side by side with interleaving their columns: the columns of the heads "
    "are interleaved when merged",
    hint="Which columns of the input of out_proj belong to head 0?",
)
class merged_in_turn(_Layers):
    def merge(self, context):
        return context.permute(0, 2, 3, 1).flatten(2)


@misconception(
    "MultiHeadAttention",
    confuses="a swap of dimensions with a new memory layout: `view` is used after two dimensions "
    "have been swapped",
    hint="Read torch's error message to the end: what does it suggest?",
)
class view_of_swapped_heads(_Layers):
    def merge(self, context):
        batch, _, tokens, _ = context.shape
        return context.transpose(1, 2).view(batch, tokens, self.num_heads * self.head_dim)


@misconception(
    "MultiHeadAttention",
    confuses="the position of the heads: attention runs over heads instead of tokens",
    hint="What is the shape of your scores? It should end in tokens x tokens.",
)
class attention_between_heads(_Layers):
    def forward(self, x):
        batch, tokens, _ = x.shape
        queries, keys, values = (
            y.view(batch, tokens, self.num_heads, self.head_dim) for y in self.project(x)
        )
        weights = self.weigh(self.scores(queries, keys))
        return self.out_proj((weights @ values).reshape(batch, tokens, -1))


@misconception(
    "MultiHeadAttention",
    confuses="multi-head attention with one wide head: the columns are not split into heads",
    hint="What does `num_heads` change in your forward?",
)
class one_wide_head(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[-1])
        return self.out_proj(self.weigh(self.hide(scores)) @ values)


@misconception(
    "MultiHeadAttention",
    confuses="the size of one head with the size of all heads: the scores are divided by the "
    "square root of the total size of all heads",
    hint="How many products are added up in one score of one head?",
)
class scaled_by_d_out(_Layers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(2, 3) / math.sqrt(self.num_heads * self.head_dim)


@misconception(
    "MultiHeadAttention",
    confuses="the size d of a head with its square root: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
class scaled_by_head_size(_Layers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(2, 3) / self.head_dim


@misconception(
    "MultiHeadAttention",
    confuses="scores with scaled scores: the scores are not scaled",
    hint="Which step comes between softmax and the product of queries and keys?",
)
class not_scaled(_Layers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(2, 3)


@misconception(
    "MultiHeadAttention",
    confuses="the size of a head with the size of an input: the scores are divided by the square "
    "root of the size of an input vector",
    hint="From which two vectors is a score computed? How long are they?",
)
class scaled_by_d_in(_Layers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(2, 3) / math.sqrt(self.W_query.in_features)


@misconception(
    "MultiHeadAttention",
    confuses="a square root with its integer part: the square root is truncated to a whole number",
    hint="The result is right for heads of size 4 and 9. Try size 3.",
)
class root_rounded_down(_Layers):
    def scores(self, queries, keys):
        return queries @ keys.transpose(2, 3) / int(math.sqrt(self.head_dim))


@misconception(
    "MultiHeadAttention",
    confuses="queries with keys: the rows of the scores belong to keys instead of queries",
    hint="Row t of the scores should belong to query t. In your code, is it made by W_query or by "
    "W_key?",
)
class keys_score_queries(_Layers):
    def scores(self, queries, keys):
        return keys @ queries.transpose(2, 3) / math.sqrt(self.head_dim)


@misconception(
    "MultiHeadAttention",
    confuses="causal attention with attention: every token sees the whole sentence",
    hint="Print the attention weights of the first token. How many of them may be above zero?",
)
class mask_without_effect(_Layers):
    def hide(self, scores):
        tokens = scores.shape[-1]
        scores.masked_fill(self.mask.bool()[:tokens, :tokens], -torch.inf)
        return scores


@misconception(
    "MultiHeadAttention",
    confuses="past and future: earlier tokens are hidden",
    hint="Rows are queries, columns are keys. On which side of the diagonal is the future?",
)
class past_hidden(_Layers):
    def make_mask(self, context_length):
        self.register_buffer("mask", torch.ones(context_length, context_length).tril(-1))


@misconception(
    "MultiHeadAttention",
    confuses="the future with the present: a token cannot attend to itself",
    hint="What is left for the first token to attend to?",
)
class present_hidden(_Layers):
    def make_mask(self, context_length):
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(0))


@misconception(
    "MultiHeadAttention",
    confuses="the first hidden diagonal with the one above it: the next token is still visible",
    hint="Print your mask for 3 tokens. What may the first token see?",
)
class next_token_seen(_Layers):
    def make_mask(self, context_length):
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(2))


@misconception(
    "MultiHeadAttention",
    confuses="a score of 0 with a weight of 0: masked scores are 0 or close to 0 before softmax",
    hint="What weight does softmax give to a score of 0?",
)
class scores_times_zero(_Layers):
    def hide(self, scores):
        tokens = scores.shape[-1]
        return scores * (1 - self.mask[:tokens, :tokens])


@misconception(
    "MultiHeadAttention",
    confuses="a low score with an impossible one: masked scores are set to -10",
    hint="What happens to your mask when every real score is -20?",
)
class mask_not_low_enough(_Layers):
    def hide(self, scores):
        tokens = scores.shape[-1]
        return scores.masked_fill(self.mask.bool()[:tokens, :tokens], -10.0)


@misconception(
    "MultiHeadAttention",
    confuses="masking before softmax with masking after it: rows no longer sum to one",
    hint="Add up the attention weights of the first token. What should the sum be?",
)
class future_zeroed_after_softmax(_Layers):
    def hide(self, scores):
        return scores

    def weigh(self, scores):
        return self.dropout(torch.softmax(scores, dim=-1).tril())


@misconception(
    "MultiHeadAttention",
    confuses="the largest length with the length of the input: only inputs of context_length "
    "tokens work",
    hint="Try fewer tokens. Which sizes in your code come from context_length, and which ones from "
    "x?",
)
class mask_not_cut(_Layers):
    def hide(self, scores):
        return scores.masked_fill(self.mask.bool(), -torch.inf)


@misconception(
    "MultiHeadAttention",
    confuses="the CPU with every device: a tensor, such as the mask, is on the CPU even after the "
    "module is moved",
    hint="Which tensors does `module.to(device)` move? On which device are the tensors that your "
    "code makes?",
)
class mask_is_a_plain_tensor(_Layers):
    def make_mask(self, context_length):
        self.mask = torch.ones(context_length, context_length).triu(1)


@misconception(
    "MultiHeadAttention",
    confuses="a parameter with a buffer: the mask is one of the trained weights",
    hint="Count the trainable parameters. Which of them should not be trained?",
)
class mask_is_a_parameter(_Layers):
    def make_mask(self, context_length):
        self.mask = nn.Parameter(torch.ones(context_length, context_length).triu(1))


@misconception(
    "MultiHeadAttention",
    confuses="one length with all lengths: something that was created in the first call is used "
    "again in later calls",
    hint="Call it twice, first with a short input, then with a longer one.",
)
class mask_of_the_first_call(_Layers):
    kept = None

    def hide(self, scores):
        if self.kept is None:
            self.kept = torch.ones_like(scores[0, 0]).triu(1).bool()
        return scores.masked_fill(self.kept, -torch.inf)


@misconception(
    "MultiHeadAttention",
    confuses="the last dimension with dimension 1: softmax runs over the heads",
    hint="Counted from the end, which dimension of the scores holds the keys?",
)
class softmax_over_heads(_Layers):
    def hide(self, scores):
        return super().hide(scores).clamp(min=-1e9)

    def weigh(self, scores):
        return self.dropout(torch.softmax(scores, dim=1))


@misconception(
    "MultiHeadAttention",
    confuses="rows and columns: softmax runs over the queries",
    hint="Which weights should add up to one: those of one query, or those of one key?",
)
class softmax_over_queries(_Layers):
    def weigh(self, scores):
        return self.dropout(torch.softmax(scores, dim=-2))


@misconception(
    "MultiHeadAttention",
    confuses="accepting an argument with using it: nothing is ever dropped",
    hint="In train mode with dropout 0.5, do two calls give the same result?",
)
class dropout_forgotten(_Layers):
    def weigh(self, scores):
        return torch.softmax(scores, dim=-1)


@misconception(
    "MultiHeadAttention",
    confuses="scores with weights: dropout comes before softmax",
    hint="What weight does softmax give to a score that dropout has set to 0?",
)
class dropout_on_scores(_Layers):
    def weigh(self, scores):
        return torch.softmax(self.dropout(scores), dim=-1)


@misconception(
    "MultiHeadAttention",
    confuses="attention weights with contexts: dropout comes after the product with the values",
    hint="Which tensor should lose entries: the weights (tokens x tokens), or the contexts (tokens "
    "x columns)?",
)
class dropout_on_contexts(_Layers):
    def weigh(self, scores):
        return torch.softmax(scores, dim=-1)

    def merge(self, context):
        return super().merge(self.dropout(context))


@misconception(
    "MultiHeadAttention",
    confuses="dropout on the weights with dropout on the output: dropout is applied to the output, "
    "not to the weights",
    hint="Which tensor should lose entries: the attention weights, or what out_proj returns?",
)
class dropout_on_output(_Layers):
    def weigh(self, scores):
        return torch.softmax(scores, dim=-1)

    def forward(self, x):
        return self.dropout(super().forward(x))


@misconception(
    "MultiHeadAttention",
    confuses="dropped weights with masked weights: the rows are rescaled to sum to one after "
    "dropout",
    hint="Add up a row of weights after dropout. Should the sum be one in every call?",
)
class renormalized_after_dropout(_Layers):
    def weigh(self, scores):
        weights = super().weigh(scores)
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@misconception(
    "MultiHeadAttention",
    confuses="one dropout pattern for each head with one for all heads: all heads lose the same "
    "entries",
    hint="Which weights are zero in head 0, and which in head 1? Should they be the same ones?",
)
class same_dropout_in_all_heads(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        return weights * self.dropout(torch.ones_like(weights[:, :1]))


@misconception(
    "MultiHeadAttention",
    confuses="one dropout pattern for each sample with one for all samples: all samples of a batch "
    "lose the same entries",
    hint="Which weights are zero in sample 0, and which in sample 1? Should they be the same ones?",
)
class same_dropout_in_all_samples(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        return weights * self.dropout(torch.ones_like(weights[:1]))


@misconception(
    "MultiHeadAttention",
    confuses="single entries with whole columns: whole columns of weights are dropped",
    hint="Does every query lose the same tokens in your module?",
)
class dropout_of_whole_columns(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        return weights * self.dropout(torch.ones_like(weights[:, :, :1]))


@misconception(
    "MultiHeadAttention",
    confuses="single entries with whole rows: whole rows of weights are dropped",
    hint="Does a query lose all of its tokens at once in your module?",
)
class dropout_of_whole_rows(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        return weights * self.dropout(torch.ones_like(weights[..., :1]))


@misconception(
    "MultiHeadAttention",
    confuses="single entries with whole heads: whole heads are dropped",
    hint="Does a head lose all of its weights at once in your module?",
)
class dropout_of_whole_heads(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        return weights * self.dropout(torch.ones_like(weights[:, :, :1, :1]))


@misconception(
    "MultiHeadAttention",
    confuses="a new random pattern in each call with one that is kept: every call drops the same "
    "entries",
    hint="Call it twice in train mode with the same input. Should the results be equal?",
)
class dropout_of_the_first_call(_Layers):
    kept = None

    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        if self.training:
            if self.kept is None or self.kept.shape != weights.shape:
                self.kept = self.dropout(torch.ones_like(weights))
            weights = weights * self.kept
        return weights


@misconception(
    "MultiHeadAttention",
    confuses="training with evaluation: entries are dropped in eval mode, too",
    hint="Call it twice in eval mode with dropout 0.5. Should the results differ?",
)
class dropout_in_eval_mode(_Layers):
    def weigh(self, scores):
        return torch.dropout(torch.softmax(scores, dim=-1), self.dropout.p, True)


@misconception(
    "MultiHeadAttention",
    confuses="dropping with dropping and scaling: the kept entries are not divided by 1 - p",
    hint="What is the mean of a weight over many calls? Should dropout change it?",
)
class dropout_without_scaling(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        if self.training:
            weights = weights * (torch.rand_like(weights) >= self.dropout.p)
        return weights


@misconception(
    "MultiHeadAttention",
    confuses="the probability of dropping with that of keeping: the dropout probability is used as "
    "the probability of keeping",
    hint="With dropout 0.1, how many of a hundred weights should become zero?",
)
class keep_probability(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.dropout = nn.Dropout(1 - dropout if dropout else 0.0)


@misconception(
    "MultiHeadAttention",
    confuses="the merged heads with the result: the last projection has no effect",
    hint="Set the weights of out_proj to zero. Does your output change?",
)
class out_proj_not_called(_Layers):
    def forward(self, x):
        queries, keys, values = map(self.split, self.project(x))
        weights = self.weigh(self.hide(self.scores(queries, keys)))
        return self.merge(weights @ values) + 0.0 * self.out_proj.bias


@misconception(
    "MultiHeadAttention",
    confuses="the projections before attention with the one after it: out_proj has a bias only "
    "with qkv_bias",
    hint="Does qkv_bias apply to out_proj, too?",
)
class out_proj_without_bias(_Layers):
    def has_bias(self, qkv_bias):  # replacing the layer afterwards would draw random numbers again
        return qkv_bias


@misconception(
    "MultiHeadAttention",
    confuses="an argument with a constant: the three projections always have biases",
    hint="Build it without qkv_bias and list its parameters.",
)
class bias_always(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, True)


@misconception(
    "MultiHeadAttention",
    confuses="False with True as the default of qkv_bias: qkv_bias is True by default",
    hint="What is the default of qkv_bias in your signature?",
)
class bias_by_default(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=True):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttention",
    confuses="accepting an argument with using it: the three projections never have biases",
    hint="Build it with qkv_bias=True and list its parameters.",
)
class bias_never(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads)


@misconception(
    "MultiHeadAttention",
    confuses="two names with two layers: queries and keys share one layer",
    hint="How many different weights should the module have? Is `W_key` a separate layer?",
)
class one_layer_for_queries_and_keys(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.W_key = self.W_query


@misconception(
    "MultiHeadAttention",
    confuses="keys with queries: W_query makes the keys as well as the queries",
    hint="Change the weights of W_key. Does the output change?",
)
class keys_from_w_query(_Layers):
    def project(self, x):
        return self.W_query(x), self.W_query(x), self.W_value(x)


@misconception(
    "MultiHeadAttention",
    confuses="values with keys: the weights mix the keys instead of the values",
    hint="Change the weights of W_value. Does the output change?",
)
class values_from_w_key(_Layers):
    def project(self, x):
        keys = self.W_key(x)
        return self.W_query(x), keys, keys


@misconception(
    "MultiHeadAttention",
    confuses="one head with all: every head uses the keys of head 0",
    hint="Change the last columns of the keys. Does the last head change?",
)
class keys_of_head_0(_Layers):
    def scores(self, queries, keys):
        return super().scores(queries, keys[:, :1])


@misconception(
    "MultiHeadAttention",
    confuses="one sample with the batch: every sample uses the keys of sample 0",
    hint="Change sample 0 of a batch. Does the output of sample 1 change?",
)
class keys_of_sample_0(_Layers):
    def scores(self, queries, keys):
        return super().scores(queries, keys[:1])


@misconception(
    "MultiHeadAttention",
    confuses="an assertion with an error for the caller: `assert` raises AssertionError",
    hint="Which error does the docstring promise? Raise exactly that one.",
)
class assertion_in_place_of_error(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttention",
    confuses="rounding down with dividing: a layer is built although columns are left over",
    hint="What should happen when 3 heads have to share 10 columns?",
)
class leftover_columns_dropped(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        size = max(d_out // num_heads, 1) * num_heads
        super().__init__(d_in, size, context_length, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttention",
    confuses="the size of the input with the size of the output: num_heads must divide d_in as "
    "well as d_out",
    hint="Which size is divided among the heads: d_in or d_out?",
)
class d_in_must_divide(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        if d_in % num_heads != 0:
            raise ValueError("d_in must be divisible by num_heads")
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttention",
    confuses="plain numbers with numbers that carry a gradient: the attention weights are detached",
    hint="Call backward on the sum of the output. Do W_query and W_key get a gradient?",
)
class weights_detached(_Layers):
    def weigh(self, scores):
        return super().weigh(scores).detach()


@misconception(
    "MultiHeadAttention",
    confuses="a new tensor with the caller's: the input is changed in place",
    hint="Print the input before and after the call.",
)
class input_changed_in_place(_Layers):
    def forward(self, x):
        out = super().forward(x)
        x.mul_(1 / math.sqrt(self.head_dim))
        return out


@misconception(
    "MultiHeadAttention",
    confuses="attention with a block around it: a mean of the input is added to the output",
    hint="Set all weights and biases to zero. What should the output be?",
)
class input_added(_Layers):
    def forward(self, x):
        return super().forward(x) + x.mean(dim=-1, keepdim=True)


@misconception(
    "MultiHeadAttention",
    confuses="float32 with the dtype of the input: the attention weights are computed in float32",
    hint="After `module.double()`, in which dtype does your code compute softmax?",
)
class softmax_in_float32(_Layers):
    def weigh(self, scores):
        return super().weigh(scores.float()).to(scores.dtype)


@misconception(
    "MultiHeadAttention",
    confuses="a dimension of size 1 with no dimension: dimensions of size one are dropped from the "
    "result",
    hint="Try a batch of one. How many dimensions does the output still have?",
)
class output_squeezed(_Layers):
    def forward(self, x):
        return super().forward(x).squeeze()


@misconception(
    "MultiHeadAttention",
    confuses="layers that are built once with layers that are built in every call: out_proj is "
    "built again in every call",
    hint="Call it twice in eval mode. Is the second output the same?",
)
class out_proj_built_in_forward(_Layers):
    def forward(self, x):
        size = self.num_heads * self.head_dim
        self.out_proj = nn.Linear(size, size).to(x.dtype)
        return super().forward(x)


@misconception(
    "MultiHeadAttention",
    confuses="registered layers with layers that the module does not find: the module does not "
    "find its layers",
    hint="List the module's parameters. Which layers are missing?",
)
class layers_in_a_list(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        queries, keys, values = (layer(x) for layer in self.layers)
        weights = torch.softmax(queries @ keys.mT / math.sqrt(queries.shape[-1]), dim=-1)
        return self.out_proj(weights @ values)


@misconception(
    "MultiHeadAttention",
    confuses="the device of a new tensor with that of the weights: the dropout pattern is made on "
    "the CPU, wherever the module is",
    hint="Move the module to another device, in train mode: on which device is "
    "`torch.rand(shape)`?",
)
class pattern_on_the_cpu(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        if self.training and self.dropout.p > 0:
            kept = torch.rand(weights.shape) >= self.dropout.p
            weights = weights * kept / (1 - self.dropout.p)
        return weights


@misconception(
    "MultiHeadAttention",
    confuses="an attribute of one module with one of the class: all modules have as many heads as "
    "the one that was built last",
    hint="Build two modules with different numbers of heads, then call the first: how many heads "
    "does it use?",
)
class heads_of_the_class(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        type(self).num_heads, type(self).head_dim = num_heads, d_out // num_heads
        del self.num_heads, self.head_dim


@misconception(
    "MultiHeadAttention",
    confuses="one frozen weight with a frozen module: if one weight is frozen, none of them learns",
    hint="Freeze out_proj and call `backward()`. Which weights should still get a gradient?",
)
class no_gradients_where_one_weight_is_frozen(_Layers):
    def forward(self, x):
        learns = all(weight.requires_grad for weight in self.parameters())
        with torch.set_grad_enabled(learns and torch.is_grad_enabled()):
            return super().forward(x)


@misconception(
    "MultiHeadAttention",
    confuses="reshaping with moving an axis: the values are reshaped into heads without the "
    "transpose that queries and keys get",
    hint="Fill the values of one sentence with 0, 1, 2, ... Which numbers does head 0 hold?",
)
class values_reshaped(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        weights = self.weigh(self.hide(self.scores(self.split(queries), self.split(keys))))
        batch, tokens, _ = x.shape
        values = values.reshape(batch, self.num_heads, tokens, self.head_dim)
        return self.out_proj(self.merge(weights @ values))


@misconception(
    "MultiHeadAttention",
    confuses="reshaping with moving an axis: the keys are reshaped into heads without the "
    "transpose that queries and values get",
    hint="Fill the keys of one sentence with 0, 1, 2, ... Which numbers does head 0 hold?",
)
class keys_reshaped(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        batch, tokens, _ = x.shape
        keys = keys.reshape(batch, self.num_heads, tokens, self.head_dim)
        weights = self.weigh(self.hide(self.scores(self.split(queries), keys)))
        return self.out_proj(self.merge(weights @ self.split(values)))


@misconception(
    "MultiHeadAttention",
    confuses="neighboring columns with every H-th column: each head gets every H-th column instead "
    "of neighboring ones, in both the split and the merge",
    hint="The split and the merge undo each other here, but does each head hold the right columns?",
)
class heads_interleaved_both_ways(_Layers):
    def split(self, x):
        batch, tokens, _ = x.shape
        return x.view(batch, tokens, self.head_dim, self.num_heads).permute(0, 3, 1, 2)

    def merge(self, context):
        return context.permute(0, 2, 3, 1).flatten(2)


@misconception(
    "MultiHeadAttention",
    confuses="the first rows of the mask with its last ones: the last rows of the stored mask are "
    "used with its first columns",
    hint="Give it fewer tokens than context_length and print the part of the mask that you use. "
    "How many keys does its first row allow?",
)
class last_rows_of_the_mask(_Layers):
    def hide(self, scores):
        tokens = scores.shape[-1]
        return scores.masked_fill(self.mask.bool()[-tokens:, :tokens], -torch.inf)


@misconception(
    "MultiHeadAttention",
    confuses="dropout on the weights with dropout in more places: dropout is applied to the output "
    "as well",
    hint="In train mode with dropout 0.5, how many outputs are exactly zero?",
)
class dropout_on_output_as_well(_Layers):
    def forward(self, x):
        return self.dropout(super().forward(x))


@misconception(
    "MultiHeadAttention",
    confuses="tokens with samples: at each position, the samples of a batch attend to each other",
    hint="Change the first sample only. Does the result of the second one change?",
)
class attention_over_the_batch(_Layers):
    def hide(self, scores):
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return scores.masked_fill(future, -torch.inf)

    def forward(self, x):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


@misconception(
    "MultiHeadAttention",
    confuses="attention with a block around it: the input is added to the output if it has the "
    "same size",
    hint="Set all weights and biases to zero. What should the output be?",
)
class input_added_where_it_fits(_Layers):
    def forward(self, x):
        output = super().forward(x)
        return output + x if output.shape == x.shape else output


@misconception(
    "MultiHeadAttention",
    confuses="one dropout pattern for each head and sample with one for all: all heads and samples "
    "lose the same weights",
    hint="How many random numbers do B samples with H heads and T tokens need?",
)
class same_dropout_in_all_heads_and_samples(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        return weights * self.dropout(torch.ones_like(weights[0, 0]))


@misconception(
    "MultiHeadAttention",
    confuses="one dropout with two: dropout is applied to the weights twice",
    hint="With a dropout of 0.5, how many weights of a row are left on average?",
)
class weights_dropped_twice(_Layers):
    def weigh(self, scores):
        return self.dropout(super().weigh(scores))


@misconception(
    "MultiHeadAttention",
    confuses="the future with the present: a token cannot attend to itself, and all weights of the "
    "first token are zero",
    hint="Add up the attention weights of the first token. What is left for it to attend to?",
)
class first_token_gets_zeros(_Layers):
    def make_mask(self, context_length):
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(0))

    def weigh(self, scores):
        return self.dropout(torch.softmax(scores, dim=-1).nan_to_num())


@misconception(
    "MultiHeadAttention",
    confuses="a dimension for heads with a dimension between rows and columns: the queries of the "
    "mask line up with the heads",
    hint="Align the shape of your mask with that of the scores, (B, H, T, T), from the right. "
    "Which dimension of the mask lines up with the heads?",
)
class mask_lines_up_with_the_heads(_Layers):
    def hide(self, scores):
        tokens = scores.shape[-1]
        return scores.masked_fill(self.mask.bool()[:tokens, :tokens].unsqueeze(1), -torch.inf)


@misconception(
    "MultiHeadAttention",
    confuses="a low score with minus infinity: masked scores become -50, and visible scores may be "
    "almost as low",
    hint="What weight does a masked score get if all visible scores are -49?",
)
class masked_with_minus_fifty(_Layers):
    def hide(self, scores):
        tokens = scores.shape[-1]
        return scores.masked_fill(self.mask.bool()[:tokens, :tokens], -50.0)
