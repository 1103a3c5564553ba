"""Wrong answers written from the questions alone, each with its intended mistake."""

import torch
from torch import nn

from autograder.suite import intended


class _V1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))


class _V2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)


@intended("SelfAttentionV1", "values by the keys' weights", "KeysAsValues")
class values_by_keys(_V1):
    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_key
        return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ values


@intended("SelfAttentionV1", "the root of the input size", "ScaledByInputSize")
class root_of_input_size(_V1):
    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(queries @ keys.mT / x.shape[-1] ** 0.5, -1) @ values


@intended("SelfAttentionV1", "the root of the number of tokens", "ScaledByNumberOfTokens")
class root_of_tokens(_V1):
    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(queries @ keys.mT / x.shape[-2] ** 0.5, -1) @ values


@intended(
    "SelfAttentionV1",
    "softmax along dimension 0",
    "softmax_runs_along_another_dimension_than_the_one_asked_for",
)
class softmax_along_zero(_V1):
    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, 0) @ values


@intended(
    "SelfAttentionV1",
    "super().__init__() forgotten",
    "one_step_is_left_out",
    "super_init_is_missing_or_comes_too_late",
)
class super_forgotten(nn.Module):
    def __init__(self, d_in, d_out):
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        return x


@intended("SelfAttentionV1", "tensors that are not trained", "PlainTensors")
class plain_tensors(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = torch.rand(d_in, d_out)
        self.W_key = torch.rand(d_in, d_out)
        self.W_value = torch.rand(d_in, d_out)

    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ values


@intended("SelfAttentionV2", "a bias by default", "BiasByDefault")
class bias_by_default(_V2):
    def __init__(self, d_in, d_out, qkv_bias=True):
        super().__init__(d_in, d_out, qkv_bias)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ values


@intended("SelfAttentionV2", "the argument qkv_bias is not used", "BiasNever")
class bias_not_used(_V2):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ values


@intended("SelfAttentionV2", "no scale", "ScaleForgotten")
class no_scale_here(_V2):
    def forward(self, x):
        return torch.softmax(self.W_query(x) @ self.W_key(x).mT, -1) @ self.W_value(x)


@intended("SelfAttentionV2", "keys ask, queries answer", "LayersOfQueryAndKeyExchanged")
class roles_swapped(_V2):
    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(keys @ queries.mT / keys.shape[-1] ** 0.5, -1) @ values


@intended("SelfAttentionV2", "a causal mask", "LaterTokensMasked")
class with_causal_mask(_V2):
    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(future, -torch.inf), -1) @ values


@intended(
    "SelfAttentionV2",
    "the input added",
    "something_is_added_to_the_result_that_does_not_belong_there",
)
class residual(_V2):
    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        context = torch.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ values
        return context + self.W_value(x)
