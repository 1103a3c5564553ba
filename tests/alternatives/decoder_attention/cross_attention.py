"""Right but unusual ways to mask padding, to attend with a mask, and to attend across sequences."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative

# padding_mask


@alternative("padding_mask")
def negated_comparison(lengths, num_keys):
    return ~(torch.arange(num_keys).expand(len(lengths), -1) < lengths.view(-1, 1))


@alternative("padding_mask")
def tensor_of_python_bools(lengths, num_keys):
    return torch.tensor([[s >= length for s in range(num_keys)] for length in lengths.tolist()])


@alternative("padding_mask")
def slices_of_every_row(lengths, num_keys):
    mask = torch.zeros(lengths.shape[0], num_keys, dtype=torch.bool)
    for row, length in enumerate(lengths):
        mask[row, length:] = True
    return mask


@alternative("padding_mask")
def counting_ones(lengths, num_keys):
    ones = lengths.new_ones(len(lengths), num_keys)
    return ones.cumsum(1).gt(lengths[:, None])


@alternative("padding_mask")
def rows_of_a_triangle(lengths, num_keys):
    return torch.ones(num_keys + 1, num_keys, dtype=torch.bool).triu()[lengths]


# masked_attention


@alternative("masked_attention")
def where_and_scaled_queries(queries, keys, values, mask):
    scores = (queries / queries.shape[-1] ** 0.5) @ keys.mT
    low = torch.tensor(-torch.inf, dtype=scores.dtype)
    return torch.where(mask, low, scores).softmax(dim=-1) @ values


@alternative("masked_attention")
def minimum_of_the_dtype(queries, keys, values, mask):
    scores = torch.einsum("...td,...sd->...ts", queries, keys) * queries.shape[-1] ** -0.5
    scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    return torch.einsum("...ts,...sv->...tv", F.softmax(scores, dim=-1), values)


@alternative("masked_attention")
def float64_inside_and_scaling_last(queries, keys, values, mask):
    scores = (queries.double() @ keys.double().transpose(-1, -2)) / math.sqrt(keys.shape[-1])
    scores[mask.expand(scores.shape)] = -torch.inf
    return (scores.softmax(-1) @ values.double()).to(values.dtype)


@alternative("masked_attention")
def additive_mask(queries, keys, values, mask):
    added = torch.zeros(mask.shape, dtype=queries.dtype).masked_fill(mask, -1e9)
    return torch.softmax(queries @ keys.mT / math.sqrt(queries.size(-1)) + added, -1) @ values


@alternative("masked_attention")
def logarithm_of_what_is_kept(queries, keys, values, mask):
    kept = (~mask).to(queries.dtype).log()  # the logarithm of 0 is minus infinity
    return torch.softmax(queries @ keys.mT / math.sqrt(queries.size(-1)) + kept, -1) @ values


@alternative("masked_attention")
def zeroed_and_divided_again(queries, keys, values, mask):
    scores = queries @ keys.mT / math.sqrt(queries.size(-1))
    top = scores.masked_fill(mask, -torch.inf).amax(-1, keepdim=True).detach()
    shares = torch.exp((scores - top).clamp(max=50.0)) * ~mask
    return (shares @ values) / shares.sum(-1, keepdim=True)


@alternative("masked_attention")
def query_by_query(queries, keys, values, mask):
    mask = mask.expand(*queries.shape[:-1], keys.shape[-2])
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (queries, keys, values, mask)]
    samples = []
    for q, k, v, m in zip(*flat):
        rows = []
        for query, forbidden in zip(q, m):
            scores = k[~forbidden] @ query / query.numel() ** 0.5
            rows.append(torch.softmax(scores, 0) @ v[~forbidden])
        samples.append(torch.stack(rows))
    return torch.stack(samples).reshape(*queries.shape[:-1], values.shape[-1])


@alternative("masked_attention")
def logsumexp_of_the_scores(queries, keys, values, mask):
    scores = (queries @ keys.mT).div(math.sqrt(keys.size(-1))).masked_fill(mask, -torch.inf)
    return torch.exp(scores - scores.logsumexp(-1, keepdim=True)).matmul(values)


# CrossAttention


class _Layers(nn.Module):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model is not a multiple of num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_context, d_model)
        self.W_value = nn.Linear(d_context, d_model)
        self.out_proj = nn.Linear(d_model, d_model)


@alternative("CrossAttention")
class additive_minimum_and_einsum(_Layers):
    def forward(self, x, context, key_padding_mask=None):
        q, k, v = (
            layer(source).unflatten(-1, (self.num_heads, -1))
            for layer, source in (
                (self.W_query, x),
                (self.W_key, context),
                (self.W_value, context),
            )
        )  # (B, T, H, d)
        scores = torch.einsum("bthd,bshd->bhts", q, k) / q.shape[-1] ** 0.5
        if key_padding_mask is not None:
            lowest = torch.finfo(scores.dtype).min
            added = scores.new_zeros(key_padding_mask.shape).masked_fill(key_padding_mask, lowest)
            scores = scores + added[:, None, None]
        return self.out_proj(torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v).flatten(2))


@alternative("CrossAttention", is_usual=True)
class torch_function(_Layers):
    def forward(self, x, context, key_padding_mask=None):
        q, k, v = (
            part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for part in (self.W_query(x), self.W_key(context), self.W_value(context))
        )
        allowed = None if key_padding_mask is None else ~key_padding_mask[:, None, None, :]
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return self.out_proj(heads.transpose(1, 2).flatten(2))


@alternative("CrossAttention")
class head_by_head(_Layers):
    def forward(self, x, context, key_padding_mask=None):
        size = self.W_query.out_features // self.num_heads
        heads = []
        for q, k, v in zip(
            self.W_query(x).split(size, -1),
            self.W_key(context).split(size, -1),
            self.W_value(context).split(size, -1),
        ):
            scores = q @ k.mT / math.sqrt(size)
            if key_padding_mask is not None:
                scores = scores.masked_fill(key_padding_mask.unsqueeze(1), -torch.inf)
            heads.append(scores.softmax(-1) @ v)
        return self.out_proj(torch.cat(heads, dim=-1))


@alternative("CrossAttention")
class heads_in_the_batch(_Layers):
    def forward(self, x, context, key_padding_mask=None):
        batch, num_tokens, d_model = x.shape
        size = d_model // self.num_heads

        def split(projected):
            heads = projected.view(batch, -1, self.num_heads, size).permute(0, 2, 1, 3)
            return heads.reshape(batch * self.num_heads, -1, size)

        scores = split(self.W_query(x)).bmm(split(self.W_key(context)).mT) / size**0.5
        if key_padding_mask is not None:
            mask = key_padding_mask.repeat_interleave(self.num_heads, dim=0)
            scores = scores.masked_fill(mask[:, None], -1e9)
        heads = scores.softmax(-1).bmm(split(self.W_value(context)))
        heads = heads.view(batch, self.num_heads, num_tokens, size).transpose(1, 2)
        return self.out_proj(heads.reshape(batch, num_tokens, d_model))


@alternative("CrossAttention")
class torch_layer_with_our_weights(_Layers):
    def forward(self, x, context, key_padding_mask=None):
        q, k, v, o = self.W_query, self.W_key, self.W_value, self.out_proj
        size = q.in_features
        result, _ = F.multi_head_attention_forward(
            x.transpose(0, 1),
            context.transpose(0, 1),
            context.transpose(0, 1),
            size,
            self.num_heads,
            None,
            torch.cat([q.bias, k.bias, v.bias]),
            None,
            None,
            False,
            0.0,
            o.weight,
            o.bias,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            use_separate_proj_weight=True,
            q_proj_weight=q.weight,
            k_proj_weight=k.weight,
            v_proj_weight=v.weight,
        )
        return result.transpose(0, 1)


@alternative("padding_mask")
def mapped_over_samples(lengths, num_keys):
    return torch.vmap(lambda length: torch.arange(num_keys) >= length)(lengths)


@alternative("masked_attention")
def checkpointed_by_queries(queries, keys, values, mask):
    mask = mask.expand(*queries.shape[:-1], keys.shape[-2])

    def attend(part, forbidden):
        scores = part @ keys.mT / part.shape[-1] ** 0.5
        return scores.masked_fill(forbidden, -torch.inf).softmax(-1) @ values

    parts = zip(queries.split(3, dim=-2), mask.split(3, dim=-2), strict=True)
    return torch.cat([checkpoint(attend, *part, use_reentrant=False) for part in parts], dim=-2)


@alternative("CrossAttention")
class padding_taken_out_sample_by_sample(nn.Module):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("heads of different sizes")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key, self.W_value = (nn.Linear(d_context, d_model) for _ in range(2))
        self.out_proj = nn.Linear(d_model, d_model)

    def _heads(self, x):
        return torch.stack(x.chunk(self.num_heads, dim=-1))  # (H, T, d)

    def forward(self, x, context, key_padding_mask=None):
        found = []
        for index, (tokens, others) in enumerate(zip(x, context, strict=True)):
            if key_padding_mask is not None:
                others = others[~key_padding_mask[index]]
            q, k, v = self.W_query(tokens), self.W_key(others), self.W_value(others)
            q, k, v = map(self._heads, (q, k, v))
            mixed = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
            found.append(self.out_proj(torch.cat(mixed.unbind(), dim=-1)))
        return torch.stack(found)


@alternative("masked_attention")
def scale_is_a_float32_tensor(queries, keys, values, mask):
    scores = queries @ keys.mT / torch.sqrt(torch.tensor(queries.shape[-1], dtype=torch.float32))
    return torch.softmax(scores.masked_fill(mask, -torch.inf), dim=-1) @ values


@alternative("masked_attention")
def allowed_keys_one_by_one(queries, keys, values, mask):
    mask = mask.expand(*queries.shape[:-1], keys.shape[-2])
    if queries.dim() > 2:
        parts = zip(queries, keys, values, mask, strict=True)
        return torch.stack([allowed_keys_one_by_one(*part) for part in parts])
    rows = []
    for i in range(queries.shape[0]):
        allowed, scores = [], []
        for j in range(keys.shape[0]):
            if mask[i, j]:
                continue
            score = 0
            for k in range(queries.shape[1]):
                score = score + queries[i, k] * keys[j, k]
            allowed.append(j)
            scores.append(score / math.sqrt(queries.shape[1]))
        weights = torch.softmax(torch.stack(scores), dim=0)
        row = []
        for k in range(values.shape[1]):
            entry = 0
            for weight, j in zip(weights, allowed, strict=True):
                entry = entry + weight * values[j, k]
            row.append(entry)
        rows.append(torch.stack(row))
    return torch.stack(rows)
