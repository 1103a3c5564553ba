"""Right but unusual causal attention layers."""

import dataclasses
import math

import einops
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


class _Layers(nn.Module):
    """The required submodules, and a check of the number of tokens."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def project(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError("too many tokens")
        return self.W_query(x), self.W_key(x), self.W_value(x)


@alternative("CausalAttention")
class fused_attention(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        p = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, dropout_p=p, is_causal=True)


@alternative("CausalAttention")
class fused_attention_with_a_mask(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.register_buffer("allowed", torch.ones(context_length, context_length).tril() == 1)

    def forward(self, x):
        queries, keys, values = self.project(x)
        size = x.size(1)
        return F.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=self.allowed[:size, :size],
            dropout_p=self.dropout.p * self.training,
        )


@alternative("CausalAttention")
class added_mask_that_is_not_saved(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        mask = torch.full((context_length, context_length), -torch.inf).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        queries, keys, values = self.project(x)
        size = x.shape[-2]
        scores = queries @ keys.mT / math.sqrt(keys.shape[-1])
        weights = F.softmax(scores + self.mask[-size:, -size:], dim=-1)
        return self.dropout(weights) @ values


@alternative("CausalAttention")
class mask_made_where_x_is(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        position = torch.arange(x.shape[1], device=x.device)
        future = position[None, :] > position[:, None]
        scores = torch.where(future, -1e9, queries @ keys.transpose(-2, -1))
        return self.dropout((scores / keys.shape[-1] ** 0.5).softmax(-1)).matmul(values)


@alternative("CausalAttention")
class frozen_parameter_as_mask(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.keep = nn.Parameter(torch.ones(context_length, context_length).tril(), False)

    def forward(self, x):
        queries, keys, values = self.project(x)
        keep = self.keep[: x.shape[1], : x.shape[1]]
        scores = torch.einsum("btd,bsd->bts", queries, keys) / keys.shape[-1] ** 0.5
        return torch.einsum(
            "bts,bsd->btd", self.dropout(torch.softmax(scores + keep.log(), dim=2)), values
        )


@alternative("CausalAttention")
class float_buffer_filled_in_place(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        size = (context_length, context_length)
        self.register_buffer("mask", torch.triu(torch.ones(*size), diagonal=1))

    def forward(self, x):
        batch, size, _ = x.shape
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(1, 2)
        scores.masked_fill_(self.mask.bool()[:size, :size], float("-inf"))
        return self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)) @ values


@alternative("CausalAttention")
class prefix_by_prefix(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        rows = []
        for t in range(x.shape[1]):
            scores = (queries[:, t : t + 1] * keys[:, : t + 1]).sum(-1)  # (B, t + 1)
            weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
            rows.append((weights.unsqueeze(-1) * values[:, : t + 1]).sum(dim=1))
        return torch.stack(rows, dim=1)


@alternative("CausalAttention")
class dropout_written_out(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.dropout = nn.Identity()
        self.p = dropout
        self.scale = torch.tensor(float(d_out)).sqrt()
        self.register_buffer("future", ~torch.ones(context_length, context_length).tril().bool())

    def forward(self, x):
        size = x.shape[1]
        if size > len(self.future):
            raise ValueError(f"{size} tokens")
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2) / self.scale
        weights = scores.masked_fill(self.future[:size, :size], -torch.inf).softmax(dim=-1)
        if self.training and self.p > 0:
            weights = weights * (torch.rand_like(weights) >= self.p) / (1 - self.p)
        return weights @ self.W_value(x)


@alternative("CausalAttention")
class function_in_place_of_the_layer(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        visible = torch.exp(queries @ keys.mT / keys.shape[-1] ** 0.5).tril()
        weights = visible / visible.sum(dim=-1, keepdim=True)
        return F.dropout(weights, self.dropout.p, self.training) @ values


@alternative("CausalAttention")
class one_product_for_three(_Layers):
    def forward(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        if x.shape[1] > self.context_length:
            raise ValueError("too many tokens")
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if self.W_key.bias is None else torch.cat([layer.bias for layer in layers])
        queries, keys, values = F.linear(x, weight, bias).chunk(3, dim=-1)
        scores = queries.bmm(keys.transpose(1, 2)).div(keys.shape[-1] ** 0.5)
        weights = torch.softmax(scores, dim=-1).tril()
        weights = weights / weights.sum(-1, keepdim=True)
        return self.dropout(weights).bmm(values)


@alternative("CausalAttention")
class both_scaled_in_float64(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        root = keys.shape[-1] ** -0.25
        scores = (queries.double() * root) @ (keys.double() * root).mT
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, torch.finfo(scores.dtype).min).softmax(-1)
        return self.dropout(weights.to(values.dtype)) @ values


@alternative("CausalAttention")
class mask_for_each_length(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        if not hasattr(self, "masks"):
            self.masks = {}
        key = (x.shape[1], x.device)
        if key not in self.masks:
            self.masks[key] = torch.ones(x.shape[1], x.shape[1], device=x.device).triu(1) > 0
        scores = einops.einsum(queries, keys, "b t d, b s d -> b t s") * keys.shape[-1] ** -0.5
        weights = scores.masked_fill(self.masks[key], -1e4).softmax(dim=-1)
        return einops.einsum(self.dropout(weights), values, "b t s, b s d -> b t d")


@alternative("CausalAttention")
class mask_padded_to_the_context(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.register_buffer("bias", torch.tril(torch.ones(1, context_length, context_length)))

    def forward(self, x):
        size = x.size(1)
        if size > self.bias.size(-1):
            raise ValueError
        x = F.pad(x, (0, 0, 0, self.bias.size(-1) - size))
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (queries @ keys.transpose(-2, -1)) * (1.0 / math.sqrt(keys.size(-1)))
        scores = scores.masked_fill(self.bias == 0, float("-inf"))
        return (self.dropout(torch.softmax(scores, dim=-1)) @ values)[:, :size]


@alternative("CausalAttention")
class sequence_by_sequence(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)

        def one(queries, keys):
            scores = queries @ keys.T / keys.shape[-1] ** 0.5
            future = torch.ones_like(scores).triu(1).bool()
            return torch.softmax(scores.masked_fill(future, -torch.inf), dim=1)

        return self.dropout(torch.vmap(one)(queries, keys)) @ values


@alternative("CausalAttention")
class division_after_the_values(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = (keys @ queries.transpose(1, 2)).transpose(1, 2) / keys.shape[-1] ** 0.5
        future = torch.zeros_like(scores, dtype=torch.bool)
        for t in range(x.shape[1]):
            future[:, t, t + 1 :] = True
        scores = scores.masked_fill(future, -torch.inf)
        visible = torch.exp(scores - scores.amax(dim=-1, keepdim=True).detach())
        return (self.dropout(visible) @ values) / visible.sum(dim=-1, keepdim=True)


@alternative("CausalAttention")
@dataclasses.dataclass(eq=False)
class fields_of_a_dataclass(nn.Module):
    d_in: int
    d_out: int
    context_length: int
    p: float
    qkv_bias: bool = False

    def __post_init__(self):
        super().__init__()
        for role in ("query", "key", "value"):
            setattr(self, f"W_{role}", nn.Linear(self.d_in, self.d_out, bias=self.qkv_bias))
        self.dropout = nn.Dropout(self.p)

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError("too many tokens")
        return F.scaled_dot_product_attention(
            self.W_query(x),
            self.W_key(x),
            self.W_value(x),
            is_causal=True,
            dropout_p=self.p if self.training else 0.0,
        )


@alternative("CausalAttention")
class lazy_layers_with_an_additive_mask(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.LazyLinear(d_out, bias=qkv_bias)
        self.W_key = nn.LazyLinear(d_out, bias=qkv_bias)
        self.W_value = nn.LazyLinear(d_out, bias=qkv_bias)
        for layer in (self.W_query, self.W_key, self.W_value):
            layer(torch.zeros(1, d_in))
        self.dropout = nn.Dropout(dropout)
        future = torch.full((context_length, context_length), float("-inf")).triu(1)
        self.register_buffer("bias", future, persistent=False)

    def forward(self, x):
        length = x.shape[1]
        if length > len(self.bias):
            raise ValueError("too many tokens")
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features**0.5
        weights = (scores + self.bias[:length, :length]).softmax(-1)
        return self.dropout(weights) @ self.W_value(x)


@alternative("CausalAttention")
class checkpointed_with_its_random_state(_Layers):
    def attend(self, queries, keys, values):
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return self.dropout(scores.masked_fill(future, -math.inf).softmax(-1)) @ values

    def forward(self, x):
        return checkpoint(self.attend, *self.project(x), use_reentrant=False)


def _scores_without_a_future(module, args):
    (scores,) = args
    return (scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf),)


@alternative("CausalAttention")
class mask_in_a_hook_before_softmax(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.softmax = nn.Softmax(dim=-1)
        self.softmax.register_forward_pre_hook(_scores_without_a_future)

    def forward(self, x):
        queries, keys, values = self.project(x)
        return self.dropout(self.softmax(queries @ keys.mT / keys.shape[-1] ** 0.5)) @ values


@alternative("CausalAttention")
class queries_in_chunks(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        context = []
        for start in range(0, x.shape[1], 3):
            part = queries[:, start : start + 3]
            scores = part @ keys[:, : start + 3].mT / keys.shape[-1] ** 0.5
            future = torch.ones_like(scores, dtype=torch.bool).triu(start + 1)
            weights = scores.masked_fill(future, -math.inf).softmax(-1)
            context.append(self.dropout(weights) @ values[:, : start + 3])
        return torch.cat(context, dim=1)


@alternative("CausalAttention")
class score_by_score(_Layers):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = x.new_full((len(x), x.shape[1], x.shape[1]), -torch.inf)
        for b in range(len(x)):
            for i in range(x.shape[1]):
                for j in range(i + 1):
                    scores[b, i, j] = torch.dot(queries[b, i], keys[b, j])
        weights = torch.softmax(scores / math.sqrt(keys.shape[-1]), dim=-1)
        return self.dropout(weights) @ values
