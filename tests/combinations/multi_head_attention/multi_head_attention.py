"""Wrong answers written from the questions alone, each with its intended mistake."""

import torch
from torch import nn

from autograder.suite import intended


class _Heads(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out")
        self.num_heads, self.head_dim, self.d_out = num_heads, d_out // num_heads, d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def split(self, x):
        return x.view(*x.shape[:2], self.num_heads, self.head_dim).transpose(1, 2)

    def weights(self, queries, keys, root):
        scores = queries @ keys.mT / root
        length = scores.shape[-1]
        return torch.softmax(scores.masked_fill(self.mask[:length, :length], -torch.inf), -1)

    def heads(self, x, root=None):
        q, k, v = (self.split(layer(x)) for layer in (self.W_query, self.W_key, self.W_value))
        return self.dropout(self.weights(q, k, root or self.head_dim**0.5)) @ v

    def merge(self, context):
        return context.transpose(1, 2).flatten(2)


@intended(
    "MultiHeadAttention",
    "out_proj is never applied",
    "out_proj_not_called",
    "one_step_is_left_out",
    "another_value_comes_back_than_the_one_that_the_last_step",
)
class out_proj_not_applied(_Heads):
    def forward(self, x):
        return self.merge(self.heads(x))


@intended("MultiHeadAttention", "the root of d_out", "scaled_by_d_out")
class root_of_d_out(_Heads):
    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x, self.d_out**0.5)))


@intended("MultiHeadAttention", "no scale", "not_scaled")
class no_scale(_Heads):
    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x, 1.0)))


@intended("MultiHeadAttention", "divided by the size, not its root", "scaled_by_head_size")
class by_the_size(_Heads):
    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x, float(self.head_dim))))


@intended(
    "MultiHeadAttention",
    "the root of the number of heads",
    "the_division_is_by_the_root_of_another_number_than_the_one",
)
class root_of_heads(_Heads):
    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x, self.num_heads**0.5)))


@intended("MultiHeadAttention", "merged without a transpose", "merged_without_swapping")
class merged_without_transpose(_Heads):
    def merge(self, context):
        return context.reshape(context.shape[0], -1, self.d_out)

    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x)))


@intended("MultiHeadAttention", "split without a transpose", "split_without_swapping")
class split_without_transpose(_Heads):
    def split(self, x):
        return x.reshape(x.shape[0], self.num_heads, x.shape[1], self.head_dim)

    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x)))


@intended("MultiHeadAttention", "heads attend to heads", "attention_between_heads")
class heads_attend_to_heads(_Heads):
    def split(self, x):
        return x.view(*x.shape[:2], self.num_heads, self.head_dim)

    def weights(self, queries, keys, root):
        return torch.softmax(queries @ keys.mT / root, -1)

    def forward(self, x):
        return self.out_proj(self.heads(x).flatten(2))


@intended("MultiHeadAttention", "heads interleaved", "heads_interleaved")
class heads_interleaved(_Heads):
    def split(self, x):
        return x.view(*x.shape[:2], self.head_dim, self.num_heads).permute(0, 3, 1, 2)

    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x)))


@intended(
    "MultiHeadAttention",
    "out_proj without a bias",
    "out_proj_without_bias",
    "a_layer_has_no_bias_that_should_have_one",
    "trained_parameters_are_missing_that_the_question_gives",
)
class out_proj_without_bias(_Heads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=False)

    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x)))


@intended("MultiHeadAttention", "values by W_key", "values_from_w_key")
class values_by_keys(_Heads):
    def forward(self, x):
        q, k = self.split(self.W_query(x)), self.split(self.W_key(x))
        weights = self.dropout(self.weights(q, k, self.head_dim**0.5))
        return self.out_proj(self.merge(weights @ k))


@intended("MultiHeadAttention", "dropout on the result", "dropout_on_output")
class result_dropped(_Heads):
    def forward(self, x):
        q, k, v = (self.split(layer(x)) for layer in (self.W_query, self.W_key, self.W_value))
        context = self.weights(q, k, self.head_dim**0.5) @ v
        return self.dropout(self.out_proj(self.merge(context)))


@intended("MultiHeadAttention", "no mask", "mask_without_effect")
class no_mask(_Heads):
    def weights(self, queries, keys, root):
        return torch.softmax(queries @ keys.mT / root, -1)

    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x)))


@intended("MultiHeadAttention", "the heads' mean for all", "it_is_right_with_one_head_only")
class mean_of_heads(_Heads):
    def forward(self, x):
        return self.out_proj(self.heads(x).mean(1).repeat(1, 1, self.num_heads))


@intended("MultiHeadAttention", "no ValueError", "assertion_in_place_of_error")
class no_value_error(_Heads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)

    def forward(self, x):
        return self.out_proj(self.merge(self.heads(x)))
