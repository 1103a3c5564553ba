"""Right but unusual ways to compute multi-head attention with weight splits."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


class _Layers(nn.Module):
    """The required submodules, without a mask."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} is not a multiple of {num_heads}")
        self.heads, self.d = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        return x.unflatten(-1, (self.heads, self.d)).transpose(1, 2)

    def qkv(self, x):
        return (self.split(layer(x)) for layer in (self.W_query, self.W_key, self.W_value))


@alternative("MultiHeadAttention")
class torchs_own_kernel(_Layers):
    def forward(self, x):
        p = self.dropout.p if self.training else 0.0
        context = F.scaled_dot_product_attention(*self.qkv(x), is_causal=True, dropout_p=p)
        return self.out_proj(context.transpose(1, 2).flatten(2))


@alternative("MultiHeadAttention")
class torchs_kernel_with_mask(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        past = torch.ones(context_length, context_length).tril().bool()
        self.register_buffer("past", past, persistent=False)

    def forward(self, x):
        tokens = x.size(1)
        context = F.scaled_dot_product_attention(
            *self.qkv(x),
            attn_mask=self.past[-tokens:, -tokens:],
            dropout_p=self.dropout.p * self.training,
        )
        return self.out_proj(context.permute(0, 2, 1, 3).reshape(x.size(0), tokens, -1))


@alternative("MultiHeadAttention")
class added_mask(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        mask = torch.full((context_length, context_length), -torch.inf).triu(1)
        self.register_buffer("mask", mask)

    def forward(self, x):
        batch, tokens, _ = x.shape
        queries, keys, values = self.qkv(x)
        scores = queries @ keys.mT * self.d**-0.5 + self.mask[:tokens, :tokens]
        context = self.dropout(scores.softmax(-1)) @ values
        out = x.new_empty(batch, tokens, self.heads * self.d)
        for head in range(self.heads):
            out[..., head * self.d : (head + 1) * self.d] = context[:, head]
        return self.out_proj(out)


@alternative("MultiHeadAttention")
class index_notation(_Layers):
    """Leaves the heads behind the tokens, and names the dimensions in `einsum`."""

    def forward(self, x):
        queries, keys, values = (y.transpose(1, 2) for y in self.qkv(x))  # (B, T, H, d)
        tokens = torch.arange(x.shape[1], device=x.device)
        scores = torch.einsum("bthd,bshd->bhts", queries, keys) / math.sqrt(self.d)
        scores = torch.where(tokens[:, None] >= tokens, scores, -1e9)
        weights = self.dropout(F.softmax(scores, dim=3))
        return self.out_proj(torch.einsum("bhts,bshd->bthd", weights, values).flatten(2))


@alternative("MultiHeadAttention")
class heads_first(_Layers):
    """Puts the heads in front of the batch until they are merged."""

    def forward(self, x):
        queries, keys, values = (y.transpose(0, 1) for y in self.qkv(x))  # (H, B, T, d)
        tokens = x.shape[1]
        keep = torch.ones(tokens, tokens, dtype=x.dtype, device=x.device).tril()
        scores = queries @ keys.transpose(-2, -1) / self.d**0.5 + keep.log()
        context = self.dropout(torch.softmax(scores, -1)) @ values
        return self.out_proj(torch.cat(context.unbind(0), dim=-1))


@alternative("MultiHeadAttention")
class pair_by_pair(_Layers):
    """Computes each score, and each share of a context, in a loop."""

    def forward(self, x):
        queries, keys, values = self.qkv(x)
        contexts = torch.zeros_like(values)
        for sample in range(x.shape[0]):
            for head in range(self.heads):
                for t in range(x.shape[1]):
                    query = queries[sample, head, t]
                    scores = [query @ keys[sample, head, s] / self.d**0.5 for s in range(t + 1)]
                    weights = self.dropout(torch.softmax(torch.stack(scores), dim=0))
                    for s in range(t + 1):
                        contexts[sample, head, t] += weights[s] * values[sample, head, s]
        return self.out_proj(torch.cat(contexts.unbind(1), dim=-1))


@alternative("MultiHeadAttention")
class loop_over_heads(_Layers):
    """Computes each head from its own rows of the weights, and adds its part of `out_proj`."""

    def forward(self, x):
        tokens = x.shape[1]
        future = torch.ones(tokens, tokens, device=x.device).triu(1) == 1
        out = self.out_proj.bias
        for head in range(self.heads):
            own = slice(head * self.d, (head + 1) * self.d)
            queries, keys, values = (
                F.linear(x, layer.weight[own], None if layer.bias is None else layer.bias[own])
                for layer in (self.W_query, self.W_key, self.W_value)
            )
            scores = torch.bmm(queries, keys.transpose(1, 2)).div(math.sqrt(self.d))
            scores[:, future] = -torch.inf
            weights = self.dropout(torch.softmax(scores, dim=2))
            out = out + weights @ values @ self.out_proj.weight[:, own].T
        return out


@alternative("MultiHeadAttention")
class token_by_token(_Layers):
    """Uses a growing prefix of the keys and values, as in generation, and needs no mask."""

    def forward(self, x):
        queries, keys, values = self.qkv(x)
        outputs = []
        for t in range(x.shape[1]):
            past_keys, past_values = keys[:, :, : t + 1], values[:, :, : t + 1]
            scores = (queries[:, :, t : t + 1] * past_keys).sum(-1) / math.sqrt(self.d)
            weights = self.dropout(scores.softmax(-1))  # (B, H, t + 1)
            outputs.append((weights.unsqueeze(-1) * past_values).sum(dim=2).flatten(1))
        return self.out_proj(torch.stack(outputs, dim=1))


@alternative("MultiHeadAttention")
class folded_into_the_batch(_Layers):
    def forward(self, x):
        batch, tokens, _ = x.shape
        queries, keys, values = (y.flatten(0, 1) for y in self.qkv(x))  # (B * H, T, d)
        root = self.d**0.25
        scores = torch.bmm(queries / root, (keys / root).mT)
        lowest = torch.finfo(scores.dtype).min
        scores = scores.masked_fill_(scores.new_ones(tokens, tokens).triu(1).bool(), lowest)
        context = torch.bmm(self.dropout(scores.softmax(dim=-1)), values)
        merged = context.view(batch, self.heads, tokens, self.d).swapaxes(1, 2).contiguous()
        return self.out_proj(merged.view(batch, tokens, -1))


@alternative("MultiHeadAttention")
class one_product_for_all_projections(_Layers):
    def forward(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
        parts = F.linear(x, weight, bias).chunk(3, dim=-1)
        queries, keys, values = (self.split(part.contiguous()) for part in parts)
        powers = torch.exp(queries @ keys.mT / math.sqrt(self.d)).tril()
        weights = self.dropout(powers / powers.sum(-1, keepdim=True))
        return self.out_proj((weights @ values).transpose(1, 2).flatten(-2))


@alternative("MultiHeadAttention")
class dropout_by_hand(_Layers):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.p = dropout
        self.dropout = nn.Identity()

    def forward(self, x):
        queries, keys, values = self.qkv(x)
        scores = queries @ keys.mT / math.sqrt(self.d)
        future = torch.ones(scores.shape[-2:], device=x.device).triu(1) > 0
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        if self.training and self.p > 0:
            weights = torch.where(torch.rand_like(weights) < self.p, 0.0, weights / (1 - self.p))
        return self.out_proj((weights @ values).movedim(1, 2).flatten(2))


@alternative("MultiHeadAttention")
class scale_kept_in_a_tensor(_Layers):
    """Stores the scale as a tensor attribute, and adds -1e4 to masked scores."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.scale = torch.tensor(float(self.d)).sqrt()
        keep = torch.tril(torch.ones(context_length, context_length))
        self.register_buffer("bias", keep.view(1, 1, context_length, context_length))

    def forward(self, x):
        tokens = x.size(1)
        queries, keys, values = self.qkv(x)
        scores = torch.matmul(queries, keys.transpose(2, 3)) / self.scale
        scores = scores + (1.0 - self.bias[:, :, :tokens, :tokens]) * -10000.0
        context = self.dropout(nn.Softmax(dim=-1)(scores)).matmul(values)
        return self.out_proj(context.transpose(1, 2).contiguous().view(x.size(0), tokens, -1))


@alternative("MultiHeadAttention")
class mask_kept_for_each_length(_Layers):
    """Stores the mask's indices for each length and device."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.kept = {}

    def forward(self, x):
        key = (x.shape[1], x.device)
        if key not in self.kept:
            self.kept[key] = torch.triu_indices(x.shape[1], x.shape[1], 1, device=x.device)
        rows, columns = self.kept[key]
        queries, keys, values = self.qkv(x)
        scores = queries @ keys.mT / math.sqrt(self.d)
        if rows.numel() and (rows < columns).all():
            scores[:, :, rows, columns] = -torch.inf
        context = self.dropout(scores.log_softmax(-1).exp()) @ values
        return self.out_proj(context.transpose(1, 2).flatten(2))


@alternative("MultiHeadAttention")
class functions_kept_by_the_layer(_Layers):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.project = lambda x: tuple(self.qkv(x))
        self.merged = lambda x: self.out_proj(x.transpose(1, 2).flatten(2))

    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.mT / self.d**0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        return self.merged(weights @ values)


@alternative("MultiHeadAttention")
class mask_that_grows_with_the_calls(_Layers):
    def forward(self, x):
        tokens = x.size(1)
        if getattr(self, "future", x.new_zeros(0)).size(0) < tokens:
            future = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
            self.register_buffer("future", future)
        queries, keys, values = self.qkv(x)
        scores = queries @ keys.mT / self.d**0.5
        weights = scores.masked_fill(self.future[:tokens, :tokens].to(x.device), -torch.inf)
        context = self.dropout(weights.softmax(-1)) @ values
        return self.out_proj(context.transpose(1, 2).flatten(2))


@alternative("MultiHeadAttention")
class mapped_over_samples_and_heads(_Layers):
    def forward(self, x):
        def weights_of(queries, keys):
            scores = queries @ keys.T / math.sqrt(self.d)
            future = torch.ones_like(scores).triu(1).bool()
            return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)

        queries, keys, values = self.qkv(x)
        weights = torch.vmap(torch.vmap(weights_of))(queries, keys)
        return self.out_proj((self.dropout(weights) @ values).transpose(1, 2).flatten(2))


@alternative("MultiHeadAttention")
class torchs_own_function(_Layers):
    def forward(self, x):
        tokens = x.shape[1]
        size = self.heads * self.d
        mask = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
        eye = torch.eye(size, dtype=x.dtype, device=x.device)
        projected = [layer(x).transpose(0, 1) for layer in (self.W_query, self.W_key, self.W_value)]
        out, _ = F.multi_head_attention_forward(
            *projected,
            size,
            self.heads,
            eye.repeat(3, 1),
            None,
            None,
            None,
            False,
            self.dropout.p,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            need_weights=False,
            attn_mask=mask,
        )
        return out.transpose(0, 1)


@alternative("MultiHeadAttention")
class rearranged(_Layers):
    def forward(self, x):
        from einops import einsum, rearrange

        layers = (self.W_query, self.W_key, self.W_value)
        q, k, v = (rearrange(layer(x), "b t (h d) -> b h t d", h=self.heads) for layer in layers)
        scores = einsum(q, k, "b h t d, b h s d -> b h t s") / self.d**0.5
        future = torch.ones_like(scores[0, 0]).triu(1).bool()
        weights = self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1))
        context = einsum(weights, v, "b h t s, b h s d -> b h t d")
        return self.out_proj(rearrange(context, "b h t d -> b t (h d)"))


@alternative("MultiHeadAttention")
class mask_in_a_frozen_parameter(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        if d_out % num_heads:
            raise ValueError("d_out does not divide")
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length).triu(1)
        self.mask = nn.Parameter(future, requires_grad=False)

    def forward(self, x):
        length = x.shape[1]
        if length > len(self.mask):
            raise ValueError("too many tokens")
        layers = (self.W_query, self.W_key, self.W_value)
        heads = []
        for q, k, v in zip(*(layer(x).chunk(self.num_heads, -1) for layer in layers), strict=True):
            scores = q.bmm(k.mT).masked_fill(self.mask[:length, :length] > 0, -1e30)
            heads.append(self.dropout((scores / k.shape[-1] ** 0.5).softmax(2)).bmm(v))
        return self.out_proj(torch.cat(heads, 2))


class _Head(nn.Module):
    """Computes the attention of one head, and has no weights."""

    def __init__(self, dropout):
        super().__init__()
        self.dropout = dropout

    def forward(self, queries, keys, values):
        scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return self.dropout(scores.masked_fill(future, -torch.inf).softmax(-1)) @ values


@alternative("MultiHeadAttention")
class own_class_for_a_head_checkpointed(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out does not divide")
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.head = _Head(self.dropout)
        self.num_heads = num_heads

    def forward(self, x):
        projected = (layer(x).chunk(self.num_heads, -1) for layer in self._layers())
        parts = [checkpoint(self.head, *qkv, use_reentrant=False) for qkv in zip(*projected)]
        return self.out_proj(torch.cat(parts, -1))

    def _layers(self):
        return self.W_query, self.W_key, self.W_value


@alternative("MultiHeadAttention")
class heads_summed_through_parts_of_the_projection(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out does not divide")
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)
        )
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("seen", torch.ones(context_length, context_length).tril().log())

    def forward(self, x):
        total = self.out_proj.bias
        size = x.shape[1]
        parts = (
            layer(x).chunk(self.num_heads, 2) for layer in (self.W_query, self.W_key, self.W_value)
        )
        columns = self.out_proj.weight.chunk(self.num_heads, 1)
        for q, k, v, back in zip(*parts, columns):
            weights = (q @ k.mT * q.shape[-1] ** -0.5 + self.seen[:size, :size]).softmax(-1)
            total = total + self.dropout(weights) @ v @ back.T
        return total
