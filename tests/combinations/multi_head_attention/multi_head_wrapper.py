"""Wrong answers written from the questions alone, each with its intended mistake."""

# ruff: noqa: F821 - each answer is inserted into a module that defines CausalAttention

import torch
from torch import nn

from autograder.suite import intended


class _Wrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )


@intended("MultiHeadAttentionWrapper", "heads added up", "heads_added")
class heads_added(_Wrapper):
    def forward(self, x):
        return sum(head(x) for head in self.heads)


@intended(
    "MultiHeadAttentionWrapper", "heads one after the other in time", "heads_below_each_other"
)
class heads_in_time(_Wrapper):
    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=1)


@intended(
    "MultiHeadAttentionWrapper", "heads stacked", "the_result_has_more_dimensions_than_asked_for"
)
class heads_stacked(_Wrapper):
    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=1)


@intended("MultiHeadAttentionWrapper", "heads in a chain", "first_head_called_for_all")
class heads_in_a_chain(_Wrapper):
    def forward(self, x):
        return torch.cat([self.heads[0](x) for _ in self.heads], dim=-1)


@intended("MultiHeadAttentionWrapper", "qkv_bias is not handed on", "bias_forgotten")
class bias_not_handed_on(_Wrapper):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@intended("MultiHeadAttentionWrapper", "dropout is not handed on", "dropout_forgotten")
class dropout_not_handed_on(_Wrapper):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, 0.0, num_heads, qkv_bias)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@intended(
    "MultiHeadAttentionWrapper", "d_out is the size of all heads together", "output_size_shared"
)
class d_out_for_all(_Wrapper):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out // num_heads, context_length, dropout, num_heads, qkv_bias)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@intended("MultiHeadAttentionWrapper", "one head many times", "one_head_many_times")
class one_head_many_times(_Wrapper):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, 1, qkv_bias)
        self.heads = nn.ModuleList([self.heads[0]] * num_heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
