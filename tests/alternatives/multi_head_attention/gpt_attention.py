"""Right but unusual ways to compute a GPT's causal self-attention."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


class _Layers(nn.Module):
    """The required submodules, without a mask."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.heads, self.d = config.n_head, config.n_embd // config.n_head
        self.query, self.key, self.value, self.proj = (
            nn.Linear(config.n_embd, config.n_embd) for _ in range(4)
        )
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)

    def split(self, x):
        return x.unflatten(-1, (self.heads, self.d)).transpose(1, 2)

    def qkv(self, x):
        return (self.split(layer(x)) for layer in (self.query, self.key, self.value))

    def end(self, context):
        return self.resid_drop(self.proj(context.transpose(1, 2).flatten(2)))


@alternative("CausalSelfAttention")
class torchs_own_kernel(_Layers):
    def forward(self, x):
        p = self.attn_drop.p if self.training else 0
        context = F.scaled_dot_product_attention(*self.qkv(x), is_causal=True, dropout_p=p)
        return self.end(context)


@alternative("CausalSelfAttention")
class with_past_argument(_Layers):
    """Has an optional second argument, and a boolean buffer that is not saved."""

    def __init__(self, config):
        super().__init__(config)
        future = torch.ones(config.block_size, config.block_size, dtype=torch.bool).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x, layer_past=None):
        batch, tokens, size = x.size()
        queries, keys, values = self.qkv(x)
        scores = (queries @ keys.mT) * (1.0 / math.sqrt(keys.size(-1)))
        scores.masked_fill_(self.future[-tokens:, -tokens:], torch.finfo(scores.dtype).min)
        context = self.attn_drop(F.softmax(scores, dim=-1)) @ values
        return self.resid_drop(self.proj(context.permute(0, 2, 1, 3).reshape(batch, tokens, size)))


@alternative("CausalSelfAttention")
class added_mask(_Layers):
    def forward(self, x):
        tokens = x.shape[1]
        queries, keys, values = self.qkv(x)
        mask = x.new_full((tokens, tokens), -torch.inf).triu(1)
        weights = torch.softmax(queries @ keys.mT / math.sqrt(self.d) + mask, dim=-1)
        return self.end(self.attn_drop(weights) @ values)


@alternative("CausalSelfAttention")
class index_notation(_Layers):
    def forward(self, x):
        queries, keys, values = (y.transpose(1, 2) for y in self.qkv(x))
        scores = torch.einsum("bthd,bshd->bhts", queries, keys) * self.d**-0.5
        tokens = torch.arange(x.shape[1], device=x.device)
        scores = torch.where(tokens > tokens[:, None], -1e9, scores)
        weights = self.attn_drop(scores.softmax(3))
        context = torch.einsum("bhts,bshd->bthd", weights, values)
        return self.resid_drop(self.proj(context.reshape(x.shape)))


@alternative("CausalSelfAttention")
class loop_over_heads(_Layers):
    def forward(self, x):
        heads = []
        for queries, keys, values in zip(*(y.unbind(1) for y in self.qkv(x))):
            keep = torch.ones_like(queries @ keys.mT).tril()
            scores = torch.bmm(queries, keys.mT).div(self.d**0.5) + keep.log()
            heads.append(self.attn_drop(F.softmax(scores, -1)).bmm(values))
        return self.resid_drop(self.proj(torch.cat(heads, dim=2)))


@alternative("CausalSelfAttention")
class token_by_token(_Layers):
    def forward(self, x):
        queries, keys, values = self.qkv(x)
        rows = []
        for t in range(1, x.shape[1] + 1):
            scores = queries[:, :, t - 1 : t] @ keys[:, :, :t].mT / math.sqrt(self.d)
            rows.append(self.attn_drop(scores.softmax(-1)) @ values[:, :, :t])
        return self.end(torch.cat(rows, dim=2))


@alternative("CausalSelfAttention")
class projections_in_one_product(_Layers):
    def forward(self, x):
        layers = (self.query, self.key, self.value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        queries, keys, values = map(self.split, F.linear(x, weight, bias).split(x.shape[-1], -1))
        powers = (queries @ keys.mT / self.d**0.5).exp().tril()
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.end(self.attn_drop(weights) @ values)


@alternative("CausalSelfAttention")
class functional_dropout(_Layers):
    """Uses `F.dropout` for the weights, and its own dropout for the result."""

    def forward(self, x):
        queries, keys, values = self.qkv(x)
        scores = (queries / self.d**0.25) @ (keys / self.d**0.25).mT
        future = ~torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).tril()
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        weights = F.dropout(weights, self.config.attn_pdrop, self.training)
        out = self.proj((weights @ values).transpose(1, 2).flatten(2))
        p = self.config.resid_pdrop
        if not self.training or p == 0:
            return out
        return out * (torch.rand_like(out) >= p) / (1 - p)


@alternative("CausalSelfAttention")
class folded_into_the_batch(_Layers):
    def __init__(self, config):
        super().__init__(config)
        keep = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("bias", keep)
        self.scale = torch.tensor(float(self.d)).sqrt()

    def forward(self, x):
        batch, tokens, _ = x.shape
        queries, keys, values = (y.reshape(-1, tokens, self.d) for y in self.qkv(x))
        scores = torch.bmm(queries, keys.transpose(1, 2)) / self.scale
        scores = scores - 1e4 * (1 - self.bias[:tokens, :tokens])
        context = torch.bmm(self.attn_drop(scores.softmax(dim=2)), values)
        return self.end(context.view(batch, self.heads, tokens, self.d))


@alternative("CausalSelfAttention")
class rearranged(_Layers):
    def forward(self, x):
        from einops import rearrange

        layers = (self.query, self.key, self.value)
        q, k, v = (rearrange(layer(x), "b t (h d) -> b h t d", h=self.heads) for layer in layers)
        scores = q @ rearrange(k, "b h s d -> b h d s") / math.sqrt(self.d)
        future = scores.new_ones(scores.shape[-2:]).triu(1).bool()
        weights = self.attn_drop(scores.masked_fill(future, -torch.inf).softmax(-1))
        return self.resid_drop(self.proj(rearrange(weights @ v, "b h t d -> b t (h d)")))


@alternative("CausalSelfAttention")
class attention_written_as_a_method_and_checkpointed(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.n_head
        for name in ("key", "query", "value", "proj"):
            setattr(self, name, nn.Linear(config.n_embd, config.n_embd))
        self.attn_drop, self.resid_drop = (
            nn.Dropout(config.attn_pdrop),
            nn.Dropout(config.resid_pdrop),
        )

    def _attend(self, x):
        q, k, v = (
            layer(x).unflatten(2, (self.heads, -1)).movedim(2, 1)
            for layer in (self.query, self.key, self.value)
        )
        places = torch.arange(x.shape[1], device=x.device)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        scores = torch.where(places[:, None] >= places, scores, -torch.inf)
        return (self.attn_drop(scores.softmax(-1)) @ v).movedim(1, 2).flatten(2)

    def forward(self, x):
        return self.resid_drop(self.proj(checkpoint(self._attend, x, use_reentrant=False)))


@alternative("CausalSelfAttention")
class dropout_in_hooks(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.key, self.query, self.value, self.proj = (
            nn.Linear(config.n_embd, config.n_embd) for _ in range(4)
        )
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.softmax = nn.Softmax(-1)

    def forward(self, x):
        handles = [
            self.softmax.register_forward_hook(lambda module, args, out: self.attn_drop(out)),
            self.proj.register_forward_hook(lambda module, args, out: self.resid_drop(out)),
        ]
        try:
            return self._computed(x)
        finally:
            for handle in handles:
                handle.remove()

    def _computed(self, x):
        shape = (*x.shape[:2], self.n_head, -1)
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores + torch.full_like(scores, -torch.inf).triu(1)
        return self.proj((self.softmax(scores) @ v).transpose(1, 2).flatten(2))
