"""Right but unusual ways to share keys and values between query heads."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative

# grouped_query_attention


def _group(queries, keys):
    group, left = divmod(queries.shape[1], keys.shape[1])
    if left or not group:
        raise ValueError(f"{queries.shape[1]} heads in {keys.shape[1]} groups")
    return group


@alternative("grouped_query_attention", is_usual=True)
def group_axis_in_einsum(queries, keys, values):
    queries = queries.unflatten(1, (keys.shape[1], _group(queries, keys)))  # (B, G, H/G, T, d)
    scores = torch.einsum("bghtd,bgsd->bghts", queries, keys) / queries.shape[-1] ** 0.5
    return torch.einsum("bghts,bgsv->bghtv", scores.softmax(-1), values).flatten(1, 2)


@alternative("grouped_query_attention")
def queries_folded_into_the_tokens(queries, keys, values):
    group = _group(queries, keys)
    batch, heads, num_tokens, size = queries.shape
    folded = queries.reshape(batch, heads // group, group * num_tokens, size)
    scores = folded @ keys.mT * size**-0.5
    return (scores.softmax(-1) @ values).reshape(batch, heads, num_tokens, values.shape[-1])


@alternative("grouped_query_attention", is_usual=True)
def head_by_head(queries, keys, values):
    group = _group(queries, keys)
    results = []
    for head in range(queries.shape[1]):
        q, k, v = queries[:, head], keys[:, head // group], values[:, head // group]
        results.append(F.softmax(q @ k.transpose(1, 2) / math.sqrt(q.size(-1)), -1) @ v)
    return torch.stack(results, dim=1)


@alternative("grouped_query_attention")
def expanded_and_flattened(queries, keys, values):
    group = _group(queries, keys)
    keys, values = (
        x[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2) for x in (keys, values)
    )
    return (queries / queries.size(-1) ** 0.5 @ keys.mT).softmax(3) @ values


@alternative("grouped_query_attention")
def chosen_by_an_index(queries, keys, values):
    chosen = torch.arange(queries.shape[1]) // _group(queries, keys)
    scores = (queries.double() @ keys[:, chosen].double().mT) / math.sqrt(queries.shape[-1])
    shares = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    return (shares @ values[:, chosen].double()).to(values.dtype)


@alternative("grouped_query_attention")
def repeated_in_turns_and_sorted(queries, keys, values):
    group, kv_heads = _group(queries, keys), keys.shape[1]
    order = torch.arange(group * kv_heads).view(group, kv_heads).T.flatten()
    keys = keys.repeat(1, group, 1, 1)[:, order]
    values = values.repeat(1, group, 1, 1)[:, order]
    return torch.softmax(queries @ keys.mT / math.sqrt(queries.shape[-1]), -1) @ values


# GroupedQueryAttention


class _Layers(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_kv_heads} groups do not divide {num_heads}")
        self.sizes = num_heads, num_kv_heads, d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, qkv_bias)
        self.W_key = nn.Linear(d_model, d_model * num_kv_heads // num_heads, qkv_bias)
        self.W_value = nn.Linear(d_model, d_model * num_kv_heads // num_heads, qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)


@alternative("GroupedQueryAttention")
class head_by_head_without_a_mask(_Layers):
    """Computes each token's attention to itself and to earlier tokens only."""

    def forward(self, x):
        heads, kv_heads, size = self.sizes
        queries = self.W_query(x).split(size, -1)
        keys, values = self.W_key(x).split(size, -1), self.W_value(x).split(size, -1)
        results = []
        for head in range(heads):
            shared = head * kv_heads // heads
            q, k, v = queries[head], keys[shared], values[shared]
            tokens = []
            for t in range(x.shape[1]):
                scores = q[:, t : t + 1] @ k[:, : t + 1].mT / math.sqrt(size)
                tokens.append(scores.softmax(-1) @ v[:, : t + 1])
            results.append(torch.cat(tokens, dim=1))
        return self.out_proj(torch.cat(results, dim=-1))


@alternative("GroupedQueryAttention", is_usual=True)
class torch_function_with_repeated_heads(_Layers):
    def forward(self, x):
        heads, kv_heads, size = self.sizes
        q = self.W_query(x).unflatten(-1, (heads, size)).transpose(1, 2)
        k, v = (
            layer(x)
            .unflatten(-1, (kv_heads, size))
            .transpose(1, 2)
            .repeat_interleave(heads // kv_heads, dim=1)
            for layer in (self.W_key, self.W_value)
        )
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(context.transpose(1, 2).flatten(2))


@alternative("GroupedQueryAttention", is_usual=True)
class einsum_over_groups(_Layers):
    def forward(self, x):
        heads, kv_heads, size = self.sizes
        q = self.W_query(x).unflatten(-1, (kv_heads, heads // kv_heads, size))
        k = self.W_key(x).unflatten(-1, (kv_heads, size))
        v = self.W_value(x).unflatten(-1, (kv_heads, size))
        scores = torch.einsum("btghd,bsgd->bghts", q, k) * size**-0.5
        place = torch.arange(x.shape[1], device=x.device)
        scores = scores.masked_fill(place > place[:, None], torch.finfo(scores.dtype).min)
        return self.out_proj(torch.einsum("bghts,bsgd->btghd", scores.softmax(-1), v).flatten(2))


@alternative("GroupedQueryAttention")
class wide_weights_of_all_heads(_Layers):
    """Repeats the weights of shared heads, and then computes plain multi-head attention."""

    def wide(self, layer, x):
        heads, kv_heads, size = self.sizes
        weight = layer.weight.view(kv_heads, size, -1).repeat_interleave(heads // kv_heads, 0)
        bias = layer.bias
        if bias is not None:
            bias = bias.view(kv_heads, size).repeat_interleave(heads // kv_heads, 0).flatten()
        return F.linear(x, weight.flatten(0, 1), bias)

    def forward(self, x):
        heads, _, size = self.sizes
        q, k, v = (
            part.unflatten(-1, (heads, size)).movedim(2, 1)
            for part in (self.W_query(x), self.wide(self.W_key, x), self.wide(self.W_value, x))
        )
        kept = torch.ones(x.shape[1], x.shape[1], dtype=q.dtype, device=q.device).tril().log()
        weights = torch.softmax(q @ k.mT / size**0.5 + kept, dim=-1)
        return self.out_proj((weights @ v).movedim(1, 2).reshape(x.shape))


@alternative("grouped_query_attention")
def head_after_head(queries, keys, values):
    group, rest = divmod(queries.shape[1], keys.shape[1])
    if rest:
        raise ValueError("groups of one size only")
    heads = [
        torch.softmax(q @ keys[:, h // group].mT / math.sqrt(q.shape[-1]), -1)
        @ values[:, h // group]
        for h, q in enumerate(queries.unbind(1))
    ]
    return torch.stack(heads, 1)


@alternative("grouped_query_attention")
def mapped_over_groups(queries, keys, values):
    if queries.shape[1] % keys.shape[1]:
        raise ValueError("groups of different sizes")

    def head(q, k, v):
        return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v

    group = torch.vmap(head, in_dims=(1, None, None), out_dims=1)
    grouped = queries.unflatten(1, (keys.shape[1], -1))
    return torch.vmap(group, in_dims=(1, 1, 1), out_dims=1)(grouped, keys, values).flatten(1, 2)


@alternative("GroupedQueryAttention")
class groups_checkpointed_one_by_one(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError("does not divide")
        self.size, self.groups = d_model // num_heads, num_kv_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.size, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.size, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def _group(self, queries, keys, values):
        queries = queries.unflatten(-1, (-1, self.size)).movedim(-2, 1)
        scores = torch.einsum("bhtd,bsd->bhts", queries, keys) / self.size**0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        return torch.einsum("bhts,bsd->bthd", weights, values).flatten(2)

    def forward(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        parts = zip(*(layer(x).chunk(self.groups, dim=-1) for layer in layers), strict=True)
        mixed = [checkpoint(self._group, *part, use_reentrant=False) for part in parts]
        return self.out_proj(torch.cat(mixed, dim=-1))
