"""Known mistakes in the wrapper of several heads."""

import math

import torch
from torch import nn

from autograder.suite import misconception


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", future)

    def forward(self, x):
        num_tokens = x.shape[1]
        if num_tokens > self.mask.shape[0]:
            raise ValueError(f"{num_tokens} tokens, but context_length is {self.mask.shape[0]}")
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1])
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ values


class _Built(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="a Python list with a list of layers: torch finds no parameters in the module",
    hint="How many tensors are in `list(module.parameters())`? How many should there be for three "
    "heads?",
)
class heads_in_a_plain_list(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = [
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        ]

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="several heads with several names for one head: all heads share their weights",
    hint="How many different heads does your code build when three are required?",
)
class one_head_many_times(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        head = CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([head] * num_heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="using one head with using all: head 0 is called for every head",
    hint="Does the result change when the weights of the last head change?",
)
class first_head_called_for_all(_Built):
    def forward(self, x):
        return torch.cat([self.heads[0](x) for _ in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="putting heads side by side with averaging them: the heads are averaged instead of "
    "being put side by side",
    hint="How many columns should the result have for 3 heads of size 2?",
)
class heads_averaged(_Built):
    def forward(self, x):
        return torch.stack([head(x) for head in self.heads]).mean(dim=0)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="putting heads side by side with adding them up: the heads are added up instead of "
    "being put side by side",
    hint="How many columns should the result have for 3 heads of size 2?",
)
class heads_added(_Built):
    def forward(self, x):
        return sum(head(x) for head in self.heads)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="columns with tokens: the heads are joined along dimension 1",
    hint="Which dimension of the result should grow with the number of heads?",
)
class heads_below_each_other(_Built):
    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="joining with stacking: the heads are stacked along a new dimension",
    hint="How many dimensions should the result have?",
)
class heads_stacked(_Built):
    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=-2)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="putting heads side by side with interleaving their columns: the columns of the heads "
    "are interleaved",
    hint="Which columns of the result belong to head 0?",
)
class heads_interleaved(_Built):
    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=-1).flatten(2)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="the order of the heads: the last head comes first",
    hint="Set all weights of head 0 to zero. Which columns become zero?",
)
class heads_in_reverse(_Built):
    def forward(self, x):
        return torch.cat([head(x) for head in reversed(self.heads)], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="parallel heads with a chain of heads: each head gets the output of the head before "
    "it",
    hint="Which tensor does head 1 get: the input of the module, or the output of head 0?",
)
class heads_in_a_chain(_Built):
    def forward(self, x):
        contexts = []
        for head in self.heads:
            x = head(x)
            contexts.append(x)
        return torch.cat(contexts, dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="the size of one head with the size of all: d_out is divided among the heads",
    hint="Here, d_out is the size of ONE head's result. How wide is the whole result then?",
)
class output_size_shared(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out // num_heads, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="accepting an argument with using it: qkv_bias has no effect",
    hint="Build it with qkv_bias=True. Is there a `heads.0.W_query.bias`?",
)
class bias_forgotten(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="False with True as the default of qkv_bias: qkv_bias is True by default",
    hint="What is the default of qkv_bias in your signature?",
)
class bias_by_default(_Built):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=True):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="accepting an argument with using it: nothing is ever dropped",
    hint="In train mode with dropout 0.5, do two calls give the same result?",
)
class dropout_forgotten(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="dropout once with dropout twice: dropout is applied again to the joined contexts",
    hint="The heads already apply dropout. What is left for the wrapper to do?",
)
class dropout_on_the_result_too(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(torch.cat([head(x) for head in self.heads], dim=-1))


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="dropout on the attention weights with dropout on the contexts: dropout is applied to "
    "the contexts, not to the attention weights",
    hint="Which tensor should lose entries: the attention weights inside a head, or its result?",
)
class dropout_on_the_result_only(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias) for _ in range(num_heads)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(torch.cat([head(x) for head in self.heads], dim=-1))


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="this class with the one after it: a projection mixes the heads at the end",
    hint="Which trainable weights does the task name? Does your module have others?",
)
class projection_added(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )
        self.out_proj = nn.Linear(num_heads * d_out, num_heads * d_out)

    def forward(self, x):
        return self.out_proj(torch.cat([head(x) for head in self.heads], dim=-1))


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="heads that are built once with heads that are built in every call: the heads are "
    "built again in every call",
    hint="Call it twice in eval mode. Is the second result the same?",
)
class heads_built_in_forward(_Built):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.args = (d_in, d_out, context_length, dropout, num_heads, qkv_bias)

    def forward(self, x):
        heads = [CausalAttention(*self.args[:4], self.args[5]) for _ in range(self.args[4])]
        return torch.cat([head.to(x.dtype)(x) for head in heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="plain values with values that carry a gradient: no gradient flows through the result",
    hint="Does the result have a `grad_fn`?",
)
class heads_detached(_Built):
    def forward(self, x):
        return torch.cat([head(x).detach() for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="float32 with the dtype of the input: the result is always float32",
    hint="Call `module.double()` and print the dtype of the result.",
)
class result_allocated_in_float32(_Built):
    def forward(self, x):
        out = torch.zeros(x.shape[0], x.shape[1], len(self.heads) * self.d_out)
        for i, head in enumerate(self.heads):
            out[..., i * self.d_out : (i + 1) * self.d_out] = head(x)
        return out


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="the batch with its first sample: only the first sample of a batch is used",
    hint="Try a batch of two samples. How many are returned?",
)
class first_sample_only(_Built):
    def forward(self, x):
        return torch.cat([head(x[:1]) for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="the number of heads with the largest number of tokens: the number of heads and "
    "context_length are swapped",
    hint="Build it for 3 heads and 6 tokens. How many heads does it have?",
)
class arguments_in_wrong_order(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, num_heads, dropout, qkv_bias)
            for _ in range(context_length)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="attention with a block around it: a mean of the input is added to the result",
    hint="Set all weights to zero. What should the result be?",
)
class input_added(_Built):
    def forward(self, x):
        contexts = torch.cat([head(x) for head in self.heads], dim=-1)
        return contexts + x.mean(dim=-1, keepdim=True)


@misconception(
    "MultiHeadAttentionWrapper",
    confuses="a dimension of size 1 with no dimension: dimensions of size one are dropped from the "
    "result",
    hint="Try a batch of one. How many dimensions does the result still have?",
)
class result_squeezed(_Built):
    def forward(self, x):
        return torch.cat([head(x).squeeze() for head in self.heads], dim=-1)
