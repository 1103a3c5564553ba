"""Right but unusual ways to build a decoder block."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.parts import CachedAttention, FeedForward
from autograder.suite import alternative


class _Submodules(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = CachedAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, hidden_dim)


class _NormByFormula(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return self.weight * x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() + self.bias


@alternative("DecoderBlock")
class norms_by_formula(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.attention = CachedAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, hidden_dim)
        self.norm1, self.norm2 = _NormByFormula(d_model), _NormByFormula(d_model)

    def forward(self, x, past=None):
        seen, present = self.attention(self.norm1(x), past)
        x = seen + x
        return self.feed_forward(self.norm2(x)) + x, present


@alternative("DecoderBlock")
class functional_norms(_Submodules):
    def forward(self, x, past=None):
        def norm(y, layer):
            return F.layer_norm(y, (y.size(-1),), layer.weight, layer.bias, 1e-5)

        attended, present = self.attention(norm(x, self.norm1), past)
        out = torch.add(x, attended)
        return torch.add(out, self.feed_forward(norm(out, self.norm2))), present


@alternative("DecoderBlock")
class token_by_token(_Submodules):
    """Processes one token at a time, with the cache of the earlier tokens."""

    def forward(self, x, past=None):
        results = []
        for token in x.split(1, dim=1):
            attended, past = self.attention(self.norm1(token), past)
            token = token + attended
            results.append(token + self.feed_forward(self.norm2(token)))
        return torch.cat(results, dim=1), past


@alternative("DecoderBlock")
class sequence_by_sequence(_Submodules):
    def forward(self, x, past=None):
        outputs, keys, values = [], [], []
        for index, tokens in enumerate(x.split(1)):
            own = None if past is None else (past[0][index][None], past[1][index][None])
            attended, (k, v) = self.attention(self.norm1(tokens), own)
            h = tokens + attended
            outputs.append(h + self.feed_forward(self.norm2(h)))
            keys.append(k)
            values.append(v)
        return torch.cat(outputs), (torch.cat(keys), torch.cat(values))


@alternative("DecoderBlock")
class additions_in_place_on_own_tensors(_Submodules):
    def forward(self, x, past=None):
        h, present = self.attention(self.norm1(x), past)
        h = h.clone()
        h += x
        out = self.feed_forward(self.norm2(h)).clone()
        out += h
        return out, present


@alternative("DecoderBlock")
class two_halves_as_methods(_Submodules):
    def look(self, x, past):
        attended, present = self.attention(self.norm1(x), past)
        return x + attended, present

    def think(self, x):
        return x + self.feed_forward(self.norm2(x))

    def forward(self, x, past=None):
        x, present = self.look(x, past)
        return self.think(x), present


def _turned(x, places):
    """Rotates pairs of coordinates by multiplying complex numbers."""
    half = x.shape[-1] // 2
    speeds = 10000.0 ** (-torch.arange(half, device=x.device, dtype=x.dtype) / half)
    angles = places[:, None] * speeds
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(angles.new_ones(()), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


class _OwnAttention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.W_query, self.W_key, self.W_value, self.out_proj = (
            nn.Linear(size, size) for _ in range(4)
        )

    def forward(self, x, past=None):
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        old = past[0].shape[2] if past is not None else 0
        places = torch.arange(old, old + x.shape[1], device=x.device, dtype=x.dtype)
        q, k = _turned(q, places), _turned(k, places)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(old + 1)
        context = scores.masked_fill(future, -torch.inf).softmax(-1) @ v
        return self.out_proj(context.transpose(1, 2).flatten(2)), (k, v)


class _OwnFeedForward(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(size, hidden), nn.Linear(hidden, size)

    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(min=0))


@alternative("DecoderBlock")
class own_classes_in_place_of_parts(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = _OwnAttention(d_model, num_heads)
        self.feed_forward = _OwnFeedForward(d_model, hidden_dim)

    def forward(self, x, past=None):
        attended, present = self.attention(self.norm1(x), past)
        x = x + attended
        return x + self.feed_forward(self.norm2(x)), present


@alternative("DecoderBlock")
class checkpointed_sublayers(_Submodules):
    def forward(self, x, past=None):
        def attended(tokens):
            return self.attention(self.norm1(tokens), past)

        added, present = checkpoint(attended, x, use_reentrant=False)
        x = x + added
        return x + checkpoint(self.feed_forward, self.norm2(x), use_reentrant=False), present


def _normed_first(name):
    def hook(block, args):
        return (getattr(block, name)(args[0]), *args[1:])

    return hook


@alternative("DecoderBlock")
class norms_in_hooks_while_it_runs(_Submodules):
    def forward(self, x, past=None):
        handles = [
            self.attention.register_forward_pre_hook(lambda m, a: _normed_first("norm1")(self, a)),
            self.feed_forward.register_forward_pre_hook(
                lambda m, a: _normed_first("norm2")(self, a)
            ),
        ]
        try:
            added, present = self.attention(x, past)
            x = x + added
            return x + self.feed_forward(x), present
        finally:
            for handle in handles:
                handle.remove()
