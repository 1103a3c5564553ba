"""Known mistakes in a GPT's causal self-attention."""

import math

import torch
from torch import nn

from autograder.suite import misconception


class _Layers(nn.Module):
    """The right layer in steps; each mistake below replaces one of them."""

    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.key = nn.Linear(config.n_embd, config.n_embd)
        self.query = nn.Linear(config.n_embd, config.n_embd)
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.make_mask(config.block_size)

    def make_mask(self, size):
        self.register_buffer("mask", torch.tril(torch.ones(size, size)).view(1, 1, size, size))

    def split(self, x):
        batch, tokens, size = x.shape
        return x.view(batch, tokens, self.n_head, size // self.n_head).transpose(1, 2)

    def project(self, x):
        return self.query(x), self.key(x), self.value(x)

    def scores(self, q, k):
        return (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))

    def hide(self, scores):
        tokens = scores.size(-1)
        return scores.masked_fill(self.mask[:, :, :tokens, :tokens] == 0, float("-inf"))

    def weigh(self, scores):
        return self.attn_drop(torch.softmax(scores, dim=-1))

    def merge(self, context):
        batch, _, tokens, _ = context.shape
        return context.transpose(1, 2).contiguous().view(batch, tokens, -1)

    def finish(self, merged):
        return self.resid_drop(self.proj(merged))

    def forward(self, x):
        q, k, v = map(self.split, self.project(x))
        return self.finish(self.merge(self.weigh(self.hide(self.scores(q, k))) @ v))


@misconception(
    "CausalSelfAttention",
    confuses="the order of head and column: each head gets every H-th column instead of "
    "neighboring ones",
    hint="Head 0 should get the first columns of the projection. Which columns does it get in your "
    "code?",
)
class heads_interleaved(_Layers):
    def split(self, x):
        batch, tokens, size = x.shape
        return x.view(batch, tokens, size // self.n_head, self.n_head).permute(0, 3, 1, 2)


@misconception(
    "CausalSelfAttention",
    confuses="changing a shape with swapping dimensions: the split mixes tokens and heads",
    hint="The shapes are right. Which token does each row of head 0 come from?",
)
class split_without_swapping(_Layers):
    def split(self, x):
        batch, tokens, size = x.shape
        return x.view(batch, self.n_head, tokens, size // self.n_head)


@misconception(
    "CausalSelfAttention",
    confuses="changing a shape with swapping dimensions: the merge mixes tokens and heads",
    hint="The shapes are right. Which heads and tokens does row 0 come from, just before proj?",
)
class merged_without_swapping(_Layers):
    def merge(self, context):
        return context.reshape(context.shape[0], context.shape[2], -1)


@misconception(
    "CausalSelfAttention",
    confuses="multi-head attention with one wide head: the columns are not split into heads",
    hint="What does `n_head` change in your forward?",
)
class one_wide_head(_Layers):
    def split(self, x):
        return x.unsqueeze(1)


@misconception(
    "CausalSelfAttention",
    confuses="the number of heads with the size of a head: the number of heads and the size of a "
    "head are swapped",
    hint="With n_embd = 12 and n_head = 4, how many heads come out, and how wide is each?",
)
class number_of_heads_as_head_size(_Layers):
    def split(self, x):
        batch, tokens, size = x.shape
        return x.view(batch, tokens, size // self.n_head, self.n_head).transpose(1, 2)


@misconception(
    "CausalSelfAttention",
    confuses="the size of one head with n_embd: the scores are divided by the square root of "
    "n_embd, not by that of the head size",
    hint="How many products are added up in one score of one head?",
)
class scaled_by_n_embd(_Layers):
    def scores(self, q, k):
        return (q @ k.transpose(-2, -1)) / math.sqrt(self.n_head * k.size(-1))


@misconception(
    "CausalSelfAttention",
    confuses="the size of a head with its square root: in total, the scores are divided by the "
    "head size, not by its square root",
    hint="How fast does a sum of d products of random numbers grow with d?",
)
class scaled_by_head_size(_Layers):
    def scores(self, q, k):
        return (q @ k.transpose(-2, -1)) / k.size(-1)


@misconception(
    "CausalSelfAttention",
    confuses="scores with scaled scores: the scores are not scaled",
    hint="Which step comes between softmax and the product of queries and keys?",
)
class not_scaled(_Layers):
    def scores(self, q, k):
        return q @ k.transpose(-2, -1)


@misconception(
    "CausalSelfAttention",
    confuses="the head size with the number of tokens: the scores are divided by the square root "
    "of the number of tokens",
    hint="Should the scale change when the sentence gets longer?",
)
class scaled_by_length(_Layers):
    def scores(self, q, k):
        return (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-2))


@misconception(
    "CausalSelfAttention",
    confuses="a square root with its integer part: the square root is truncated to a whole number",
    hint="The result is right for heads of size 4 and 9. Try size 3.",
)
class root_rounded_down(_Layers):
    def scores(self, q, k):
        return (q @ k.transpose(-2, -1)) / int(k.size(-1) ** 0.5)


@misconception(
    "CausalSelfAttention",
    confuses="self-attention with causal self-attention: nothing is masked",
    hint="Print the attention weights of the first token. How many of them may be above zero?",
)
class no_mask(_Layers):
    def hide(self, scores):
        return scores


@misconception(
    "CausalSelfAttention",
    confuses="visible keys with hidden ones: the past and the token itself are hidden",
    hint="Does your code hide what a token may see, or what it may not see?",
)
class mask_upside_down(_Layers):
    def hide(self, scores):
        tokens = scores.size(-1)
        return scores.masked_fill(self.mask[:, :, :tokens, :tokens] == 1, -1e9)


@misconception(
    "CausalSelfAttention",
    confuses="past and future: earlier tokens are hidden",
    hint="Rows are queries, columns are keys. On which side of the diagonal is the future?",
)
class past_hidden(_Layers):
    def make_mask(self, size):
        self.register_buffer("mask", torch.triu(torch.ones(size, size)).view(1, 1, size, size))


@misconception(
    "CausalSelfAttention",
    confuses="the first hidden diagonal with the one above it: the next token is still visible",
    hint="Print your mask for 3 tokens. What may the first token see?",
)
class next_token_seen(_Layers):
    def make_mask(self, size):
        past = torch.tril(torch.ones(size, size), diagonal=1)
        self.register_buffer("mask", past.view(1, 1, size, size))


@misconception(
    "CausalSelfAttention",
    confuses="the future with the present: a token cannot attend to itself",
    hint="What is left for the first token to attend to?",
)
class present_hidden(_Layers):
    def make_mask(self, size):
        past = torch.tril(torch.ones(size, size), diagonal=-1)
        self.register_buffer("mask", past.view(1, 1, size, size))


@misconception(
    "CausalSelfAttention",
    confuses="a score of 0 with a weight of 0: masked scores are 0 or close to 0 before softmax",
    hint="What weight does softmax give to a score of 0?",
)
class scores_times_zero(_Layers):
    def hide(self, scores):
        tokens = scores.size(-1)
        return scores * self.mask[:, :, :tokens, :tokens]


@misconception(
    "CausalSelfAttention",
    confuses="a low score with an impossible one: masked scores are set to -10",
    hint="What is left of the mask when every real score is -20?",
)
class mask_not_low_enough(_Layers):
    def hide(self, scores):
        tokens = scores.size(-1)
        return scores.masked_fill(self.mask[:, :, :tokens, :tokens] == 0, -10.0)


@misconception(
    "CausalSelfAttention",
    confuses="masking before softmax with masking after it: rows no longer sum to one",
    hint="Add up the attention weights of the first token. What should the sum be?",
)
class future_zeroed_after_softmax(_Layers):
    def hide(self, scores):
        return scores

    def weigh(self, scores):
        return self.attn_drop(torch.softmax(scores, dim=-1).tril())


@misconception(
    "CausalSelfAttention",
    confuses="block_size with the length of the input: only inputs of block_size tokens work",
    hint="Try fewer tokens. Which sizes in your code come from block_size, and which ones from x?",
)
class mask_not_cut(_Layers):
    def hide(self, scores):
        return scores.masked_fill(self.mask == 0, float("-inf"))


@misconception(
    "CausalSelfAttention",
    confuses="the CPU with every device: a tensor, such as the mask, is on the CPU even after the "
    "module is moved",
    hint="Which tensors does `module.to(device)` move? On which device are the tensors that your "
    "code makes?",
)
class mask_is_a_plain_tensor(_Layers):
    def make_mask(self, size):
        self.mask = torch.tril(torch.ones(size, size)).view(1, 1, size, size)


@misconception(
    "CausalSelfAttention",
    confuses="a parameter with a buffer: the mask is one of the trained weights",
    hint="Count the trainable parameters. Which of them should not be trained?",
)
class mask_is_a_parameter(_Layers):
    def make_mask(self, size):
        self.mask = nn.Parameter(torch.tril(torch.ones(size, size)).view(1, 1, size, size))


@misconception(
    "CausalSelfAttention",
    confuses="the last dimension with dimension 1: softmax runs over the heads",
    hint="Which dimension of the scores holds the keys?",
)
class softmax_over_heads(_Layers):
    def hide(self, scores):
        return super().hide(scores).clamp(min=-1e9)

    def weigh(self, scores):
        return self.attn_drop(torch.softmax(scores, dim=1))


@misconception(
    "CausalSelfAttention",
    confuses="tokens with heads: the heads of one token attend to each other",
    hint="Change the first token. Do later tokens of your result change?",
)
class attention_between_heads(_Layers):
    def hide(self, scores):
        heads = scores.size(-1)
        return scores.masked_fill(self.mask[:, :, :heads, :heads] == 0, float("-inf"))

    def forward(self, x):
        q, k, v = (self.split(one).transpose(1, 2) for one in self.project(x))
        context = self.weigh(self.hide(self.scores(q, k))) @ v
        return self.finish(context.flatten(2))


@misconception(
    "CausalSelfAttention",
    confuses="rows and columns: softmax runs over the queries",
    hint="Which weights should add up to one: those of one query, or those of one key?",
)
class softmax_over_queries(_Layers):
    def weigh(self, scores):
        return self.attn_drop(torch.softmax(scores, dim=-2))


@misconception(
    "CausalSelfAttention",
    confuses="accepting an argument with using it: attention weights are never dropped",
    hint="In train mode with attn_pdrop 0.5 and resid_pdrop 0, do two calls give the same result?",
)
class attention_dropout_forgotten(_Layers):
    def weigh(self, scores):
        return torch.softmax(scores, dim=-1)


@misconception(
    "CausalSelfAttention",
    confuses="accepting an argument with using it: outputs are never dropped",
    hint="In train mode with attn_pdrop 0 and resid_pdrop 0.5, do two calls give the same result?",
)
class residual_dropout_forgotten(_Layers):
    def finish(self, merged):
        return self.proj(merged)


@misconception(
    "CausalSelfAttention",
    confuses="the two dropout probabilities: attn_pdrop and resid_pdrop are swapped",
    hint="Which of the two belongs to the attention weights, and which one to the output?",
)
class dropouts_exchanged(_Layers):
    def __init__(self, config):
        super().__init__(config)
        self.attn_drop = nn.Dropout(config.resid_pdrop)
        self.resid_drop = nn.Dropout(config.attn_pdrop)


@misconception(
    "CausalSelfAttention",
    confuses="the two dropout probabilities: attn_pdrop is used for both dropouts",
    hint="In train mode with attn_pdrop 0 and resid_pdrop 0.5, do two calls give the same result?",
)
class attn_pdrop_used_twice(_Layers):
    def __init__(self, config):
        super().__init__(config)
        self.resid_drop = nn.Dropout(config.attn_pdrop)


@misconception(
    "CausalSelfAttention",
    confuses="before and after the projection: resid_drop comes before proj",
    hint="How many outputs are exactly zero in train mode with resid_pdrop 0.5?",
)
class residual_dropout_before_proj(_Layers):
    def finish(self, merged):
        return self.proj(self.resid_drop(merged))


@misconception(
    "CausalSelfAttention",
    confuses="scores with weights: attn_drop comes before softmax",
    hint="What weight does softmax give to a score that dropout has set to 0?",
)
class attention_dropout_on_scores(_Layers):
    def weigh(self, scores):
        return torch.softmax(self.attn_drop(scores), dim=-1)


@misconception(
    "CausalSelfAttention",
    confuses="attention weights with contexts: attn_drop comes after the product with the values",
    hint="Which tensor should lose entries: the weights (tokens x tokens), or the contexts (tokens "
    "x columns)?",
)
class attention_dropout_on_contexts(_Layers):
    def weigh(self, scores):
        return torch.softmax(scores, dim=-1)

    def merge(self, context):
        return super().merge(self.attn_drop(context))


@misconception(
    "CausalSelfAttention",
    confuses="dropped weights with masked weights: the rows are rescaled to sum to one after "
    "dropout",
    hint="Add up a row of weights after dropout. Should the sum be one in every call?",
)
class renormalized_after_dropout(_Layers):
    def weigh(self, scores):
        weights = super().weigh(scores)
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@misconception(
    "CausalSelfAttention",
    confuses="one dropout pattern for each head with one for all heads: all heads lose the same "
    "attention weights",
    hint="Which weights are zero in head 0, and which in head 1? Should they be the same ones?",
)
class same_dropout_in_all_heads(_Layers):
    def weigh(self, scores):
        weights = torch.softmax(scores, dim=-1)
        return weights * self.attn_drop(torch.ones_like(weights[:, :1]))


@misconception(
    "CausalSelfAttention",
    confuses="single numbers with whole tokens: the outputs of whole tokens are dropped",
    hint="Does a token lose its whole output at once in your module?",
)
class residual_dropout_of_whole_tokens(_Layers):
    def finish(self, merged):
        out = self.proj(merged)
        return out * self.resid_drop(torch.ones_like(out[..., :1]))


@misconception(
    "CausalSelfAttention",
    confuses="one dropout pattern for each sample with one for all samples: all samples lose the "
    "same outputs",
    hint="Which outputs are zero in sample 0, and which in sample 1? Should they be the same ones?",
)
class residual_dropout_shared_by_samples(_Layers):
    def finish(self, merged):
        out = self.proj(merged)
        return out * self.resid_drop(torch.ones_like(out[:1]))


@misconception(
    "CausalSelfAttention",
    confuses="training with evaluation: attention weights are dropped in eval mode, too",
    hint="Call it twice in eval mode with attn_pdrop 0.5. Should the results differ?",
)
class attention_dropout_in_eval_mode(_Layers):
    def weigh(self, scores):
        return torch.dropout(torch.softmax(scores, dim=-1), self.attn_drop.p, True)


@misconception(
    "CausalSelfAttention",
    confuses="training with evaluation: outputs are dropped in eval mode, too",
    hint="Call it twice in eval mode with resid_pdrop 0.5. Should the results differ?",
)
class residual_dropout_in_eval_mode(_Layers):
    def finish(self, merged):
        return torch.dropout(self.proj(merged), self.resid_drop.p, True)


@misconception(
    "CausalSelfAttention",
    confuses="the merged heads with the result: proj has no effect",
    hint="Set the weights of proj to zero. Does your output change?",
)
class proj_not_called(_Layers):
    def finish(self, merged):
        return self.resid_drop(merged + 0.0 * self.proj.bias)


@misconception(
    "CausalSelfAttention",
    confuses="this class with the one before it: queries, keys and values have no bias",
    hint="List the module's parameters. Which layers should have a bias here?",
)
class no_biases(_Layers):
    def __init__(self, config):
        super().__init__(config)
        size = config.n_embd
        self.key, self.query, self.value = (nn.Linear(size, size, bias=False) for _ in range(3))


@misconception(
    "CausalSelfAttention",
    confuses="three layers with a fused one: queries, keys and values come from one `c_attn`",
    hint="Which names must the weights have so that they can be copied into your module?",
)
class one_fused_layer(_Layers):
    def __init__(self, config):
        super().__init__(config)
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        del self.key, self.query, self.value

    def project(self, x):
        return self.c_attn(x).chunk(3, dim=-1)


@misconception(
    "CausalSelfAttention",
    confuses="queries and keys: the rows of the scores belong to keys instead of queries",
    hint="Row t of the scores should belong to query t. In your code, is it made by `query` or by "
    "`key`?",
)
class queries_and_keys_exchanged(_Layers):
    def project(self, x):
        return self.key(x), self.query(x), self.value(x)


@misconception(
    "CausalSelfAttention",
    confuses="the order of three projections: keys, queries and values swap roles",
    hint="In your code, which layer makes the queries, which one the keys, and which one the "
    "values?",
)
class roles_shifted(_Layers):
    def project(self, x):
        return self.value(x), self.query(x), self.key(x)


@misconception(
    "CausalSelfAttention",
    confuses="keys with values: the weights mix the keys instead of the values",
    hint="Change the weights of `value`. Does the output change?",
)
class values_from_key(_Layers):
    def project(self, x):
        keys = self.key(x)
        return self.query(x), keys, keys


@misconception(
    "CausalSelfAttention",
    confuses="attention with the block around it: the input is added to the output",
    hint="Set all weights and biases to zero. What should the output be?",
)
class input_added(_Layers):
    def forward(self, x):
        return x + super().forward(x)


@misconception(
    "CausalSelfAttention",
    confuses="one sample with the batch: every sample uses the keys of sample 0",
    hint="Change sample 0 of a batch. Does the output of sample 1 change?",
)
class keys_of_sample_0(_Layers):
    def scores(self, q, k):
        return super().scores(q, k[:1])


@misconception(
    "CausalSelfAttention",
    confuses="one length with all lengths: something that was created in the first call is used "
    "again in later calls",
    hint="Call it twice, first with a short input, then with a longer one.",
)
class mask_of_the_first_call(_Layers):
    kept = None

    def hide(self, scores):
        if self.kept is None:
            self.kept = torch.ones_like(scores[0, 0]).tril()
        return scores.masked_fill(self.kept == 0, float("-inf"))


@misconception(
    "CausalSelfAttention",
    confuses="plain numbers with numbers that carry a gradient: the attention weights are detached",
    hint="Call backward on the sum of the output. Do `query` and `key` get a gradient?",
)
class weights_detached(_Layers):
    def weigh(self, scores):
        return super().weigh(scores).detach()


@misconception(
    "CausalSelfAttention",
    confuses="float32 with the dtype of the input: softmax is computed in float32",
    hint="After `module.double()`, in which dtype does your code compute softmax?",
)
class softmax_in_float32(_Layers):
    def weigh(self, scores):
        return super().weigh(scores.float()).to(scores.dtype)


@misconception(
    "CausalSelfAttention",
    confuses="a dimension of size 1 with no dimension: dimensions of size one are dropped from the "
    "result",
    hint="Try a batch of one. How many dimensions does the output still have?",
)
class output_squeezed(_Layers):
    def forward(self, x):
        return super().forward(x).squeeze()


@misconception(
    "CausalSelfAttention",
    confuses="attributes with the entries of a dictionary: building the layer from `config` ends "
    "with a TypeError",
    hint="Read the error message: which line fails, and why? An attribute is read with a dot.",
)
class config_as_a_dictionary(_Layers):
    def __init__(self, config):
        super().__init__(config)
        self.n_head = config["n_head"]


@misconception(
    "CausalSelfAttention",
    confuses="the given rate with a rate of at most one half: a resid_pdrop above one half counts "
    "as one half",
    hint="Build it with resid_pdrop = 0.9. What share of the outputs is 0 in train mode?",
)
class resid_rate_cut_at_a_half(_Layers):
    def __init__(self, config):
        super().__init__(config)
        self.resid_drop = nn.Dropout(min(config.resid_pdrop, 0.5))


@misconception(
    "CausalSelfAttention",
    confuses="a frozen last layer with a frozen model: the input of a frozen proj is detached",
    hint="Freeze proj and call `backward()`. Do query, key and value still get gradients?",
)
class detached_before_a_frozen_proj(_Layers):
    def finish(self, merged):
        return super().finish(merged if self.proj.weight.requires_grad else merged.detach())


@misconception(
    "CausalSelfAttention",
    confuses="neighboring columns with every H-th column: each head gets every H-th column instead "
    "of neighboring ones, in both the split and the merge",
    hint="The split and the merge undo each other here, but does each head hold the right columns?",
)
class heads_interleaved_both_ways(_Layers):
    def split(self, x):
        batch, tokens, size = x.shape
        return x.view(batch, tokens, size // self.n_head, self.n_head).permute(0, 3, 1, 2)

    def merge(self, context):
        return context.permute(0, 2, 3, 1).flatten(2)


@misconception(
    "CausalSelfAttention",
    confuses="the first rows of the mask with its last ones: the last rows of the stored mask are "
    "used with its first columns",
    hint="Give it fewer tokens than block_size and print the part of the mask that you use. How "
    "many keys does its first row allow?",
)
class last_rows_of_the_mask(_Layers):
    def hide(self, scores):
        tokens = scores.size(-1)
        return scores.masked_fill(self.mask[:, :, -tokens:, :tokens] == 0, float("-inf"))


@misconception(
    "CausalSelfAttention",
    confuses="the two dropout probabilities: resid_pdrop is used for both dropouts",
    hint="In train mode with attn_pdrop 0.5 and resid_pdrop 0, do two calls give the same result?",
)
class resid_pdrop_used_twice(_Layers):
    def __init__(self, config):
        super().__init__(config)
        self.attn_drop = nn.Dropout(config.resid_pdrop)


@misconception(
    "CausalSelfAttention",
    confuses="tokens with samples: at each position, the samples of a batch attend to each other",
    hint="Change the first sample only. Does the result of the second one change?",
)
class attention_over_the_batch(_Layers):
    def hide(self, scores):
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return scores.masked_fill(future, float("-inf"))

    def forward(self, x):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


@misconception(
    "CausalSelfAttention",
    confuses="one dropout with two: attn_drop is applied to the weights twice",
    hint="With attn_pdrop = 0.5, how many weights of a row are left on average?",
)
class weights_dropped_twice(_Layers):
    def weigh(self, scores):
        return self.attn_drop(super().weigh(scores))


@misconception(
    "CausalSelfAttention",
    confuses="the future with the present: a token cannot attend to itself, and all weights of the "
    "first token are zero",
    hint="Add up the attention weights of the first token. What is left for it to attend to?",
)
class first_token_gets_zeros(_Layers):
    def make_mask(self, size):
        past = torch.tril(torch.ones(size, size), diagonal=-1)
        self.register_buffer("mask", past.view(1, 1, size, size))

    def weigh(self, scores):
        return self.attn_drop(torch.softmax(scores, dim=-1).nan_to_num())


@misconception(
    "CausalSelfAttention",
    confuses="a low score with minus infinity: masked scores become -50, and visible scores may be "
    "almost as low",
    hint="What weight does a masked score get if all visible scores are -49?",
)
class masked_with_minus_fifty(_Layers):
    def hide(self, scores):
        tokens = scores.size(-1)
        return scores.masked_fill(self.mask[:, :, :tokens, :tokens] == 0, -50.0)
