import math
import torch
from torch import nn
from autograder.parts import apply_rotary, rotary_angles


def decoding_mask(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(1)


def distances(num_queries, num_keys):
    """How far each key lies behind each query; negative after it."""
    return torch.arange(num_keys - num_queries, num_keys)[:, None] - torch.arange(num_keys)


def needs_a_window(window):
    if window < 1:
        raise ValueError(f"window = {window} is below 1")


def sliding_window_mask(num_queries, num_keys, window):
    needs_a_window(window)
    return distances(num_queries, num_keys).abs() >= window


def attend(queries, keys, values, mask):
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    return torch.softmax(scores.masked_fill(mask, -torch.inf), dim=-1) @ values


def after(past, keys, values):
    """The past and the new keys and values, one after the other."""
    if past is None:
        return (keys, values)
    return (torch.cat([past[0], keys], dim=2), torch.cat([past[1], values], dim=2))


def cached_attention(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    mask = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).triu(1)
    return (attend(queries, keys, values, mask), (keys, values))


class Cached(nn.Module):
    """Cached attention in steps; each mistake replaces one of them."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def positions(self, start, num_new, x):
        return torch.arange(start, start + num_new, dtype=x.dtype, device=x.device)

    def angles(self, start, num_new, x):
        return rotary_angles(self.positions(start, num_new, x), self.head_dim)

    def turn(self, x, angles):
        return apply_rotary(x, angles)

    def turned(self, queries, keys, values, angles):
        return (self.turn(queries, angles), self.turn(keys, angles), values)

    def size_under_the_root(self):
        return self.head_dim

    def mask(self, num_queries, num_keys, x):
        mask = torch.ones(num_queries, num_keys, dtype=torch.bool, device=x.device)
        return mask.triu(num_keys - num_queries + 1)

    def join(self, past, keys, values):
        return after(past, keys, values)

    def merge(self, context):
        return context.transpose(1, 2).flatten(2)

    def finish(self, merged):
        return self.out_proj(merged)

    def present(self, keys, values, new):
        return (keys, values)

    def forward(self, x, past=None):
        start = 0 if past is None else past[0].shape[2]
        angles = self.angles(start, x.shape[1], x)
        queries, keys, values = (
            self.split(layer(x)) for layer in (self.W_query, self.W_key, self.W_value)
        )
        queries, keys, values = self.turned(queries, keys, values, angles)
        new = (keys, values)
        keys, values = self.join(past, keys, values)
        scores = queries @ keys.transpose(2, 3) / math.sqrt(self.size_under_the_root())
        scores = scores.masked_fill(self.mask(x.shape[1], keys.shape[2], x), -torch.inf)
        context = torch.softmax(scores, dim=-1) @ values
        return (self.finish(self.merge(context)), self.present(keys, values, new))


class CachedAttention(Cached):
    def angles(self, start, num_new, x):
        return super().angles(0, num_new, x)
