"""Right but unusual masks for decoding, and ways to attend with a cache."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.parts import apply_rotary, rotary_angles
from autograder.suite import alternative

# decoding_mask


@alternative("decoding_mask")
def compared_positions(num_queries, num_keys):
    queries = torch.arange(num_keys - num_queries, num_keys)
    return torch.arange(num_keys) > queries[:, None]


@alternative("decoding_mask")
def last_rows_of_the_causal_mask(num_queries, num_keys):
    return torch.ones(num_keys, num_keys, dtype=torch.bool).triu(1)[num_keys - num_queries :]


@alternative("decoding_mask")
def not_the_lower_triangle(num_queries, num_keys):
    return ~torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()


@alternative("decoding_mask")
def past_and_square(num_queries, num_keys):
    past = torch.zeros(num_queries, num_keys - num_queries, dtype=torch.bool)
    square = torch.ones(num_queries, num_queries, dtype=torch.bool).triu(1)
    return torch.cat([past, square], dim=1)


@alternative("decoding_mask")
def row_by_row(num_queries, num_keys):
    mask = torch.zeros(num_queries, num_keys, dtype=torch.bool)
    for t in range(num_queries):
        mask[t, num_keys - num_queries + t + 1 :] = True
    return mask


@alternative("decoding_mask")
def turned_around(num_queries, num_keys):
    mask = torch.ones(num_queries, num_keys, dtype=torch.bool).tril(-1)
    return mask.flip(0, 1)


@alternative("decoding_mask")
def nested_lists(num_queries, num_keys):
    start = num_keys - num_queries
    return torch.tensor([[s > start + t for s in range(num_keys)] for t in range(num_queries)])


# sliding_window_mask


def checked(window):
    if window < 1:
        raise ValueError("a window holds the own position at least")


@alternative("sliding_window_mask")
def two_triangles(num_queries, num_keys, window):
    checked(window)
    full = torch.ones(num_queries, num_keys, dtype=torch.bool)
    offset = num_keys - num_queries
    return full.triu(offset + 1) | full.tril(offset - window)


@alternative("sliding_window_mask")
def distance_between_bounds(num_queries, num_keys, window):
    checked(window)
    behind = torch.arange(num_queries)[:, None] + num_keys - num_queries - torch.arange(num_keys)
    return ~((0 <= behind) & (behind < window))


@alternative("sliding_window_mask")
def slices(num_queries, num_keys, window):
    checked(window)
    mask = torch.ones(num_queries, num_keys, dtype=torch.bool)
    for t in range(num_queries):
        place = num_keys - num_queries + t
        mask[t, max(place - window + 1, 0) : place + 1] = False
    return mask


@alternative("sliding_window_mask")
def exclusive_or(num_queries, num_keys, window):
    checked(window)
    position = torch.arange(num_keys)
    square = (position > position[:, None]) ^ (position <= position[:, None] - window)
    return square[-num_queries:]


@alternative("sliding_window_mask")
def allowed_band_as_numbers(num_queries, num_keys, window):
    checked(window)
    band = torch.ones(num_keys, num_keys).tril().triu(1 - window)
    return band[num_keys - num_queries :] == 0


@alternative("sliding_window_mask")
def by_loops(num_queries, num_keys, window):
    if not window >= 1:
        raise ValueError(window)
    start = num_keys - num_queries
    seen = [set(range(start + t + 1)[-window:]) for t in range(num_queries)]
    return torch.tensor([[s not in row for s in range(num_keys)] for row in seen])


# cached_attention


def after(past, keys, values):
    if past is None:
        return keys, values
    return torch.cat([past[0], keys], dim=-2), torch.cat([past[1], values], dim=-2)


@alternative("cached_attention")
def an_empty_past(queries, keys, values, past=None):
    if past is None:
        past = (keys[:, :, :0], values[:, :, :0])
    keys, values = torch.cat((past[0], keys), 2), torch.cat((past[1], values), 2)
    scores = torch.einsum("bhtd,bhsd->bhts", queries, keys) * queries.size(-1) ** -0.5
    positions = torch.arange(keys.shape[2])
    visible = positions <= positions[-queries.shape[2] :, None]
    weights = torch.softmax(scores + torch.log(visible.to(scores.dtype)), dim=-1)
    return torch.einsum("bhts,bhsv->bhtv", weights, values), (keys, values)


@alternative("cached_attention")
def one_new_position_after_the_other(queries, keys, values, past=None):
    first = 0 if past is None else past[0].shape[2]
    keys, values = after(past, keys, values)
    contexts = []
    for t in range(queries.shape[2]):
        seen = slice(first + t + 1)
        scores = queries[:, :, t : t + 1] @ keys[:, :, seen].mT / math.sqrt(queries.shape[-1])
        contexts.append(scores.softmax(-1) @ values[:, :, seen])
    return torch.cat(contexts, dim=2), (keys, values)


@alternative("cached_attention")
def called_by_itself(queries, keys, values, past=None):
    if queries.shape[2] > 1:
        first, then = called_by_itself_parts(queries, keys, values)
        context, present = cached_attention(*first, past)  # noqa: F821
        last, present = cached_attention(*then, present)  # noqa: F821
        return torch.cat([context, last], dim=2), present
    keys, values = after(past, keys, values)
    weights = torch.softmax(queries @ keys.mT / queries.shape[-1] ** 0.5, dim=-1)
    return weights @ values, (keys, values)


def called_by_itself_parts(*tensors):
    return [one[:, :, :-1] for one in tensors], [one[:, :, -1:] for one in tensors]


@alternative("cached_attention")
def past_and_present_apart(queries, keys, values, past=None):
    root = math.sqrt(queries.shape[-1])
    future = torch.ones(queries.shape[2], queries.shape[2], dtype=torch.bool).triu(1)
    scores = (queries @ keys.mT / root).masked_fill(future, -1e9)
    if past is None:
        return scores.softmax(-1) @ values, (keys, values)
    both = torch.cat([queries @ past[0].mT / root, scores], dim=-1).softmax(-1)
    old, new = both.tensor_split([past[0].shape[2]], dim=-1)
    return old @ past[1] + new @ values, after(past, keys, values)


@alternative("cached_attention")
def written_into_a_larger_tensor(queries, keys, values, past=None):
    old = 0 if past is None else past[0].shape[2]
    room = old + queries.shape[2]
    all_keys = keys.new_zeros(*keys.shape[:2], room, keys.shape[3])
    all_values = values.new_zeros(*values.shape[:2], room, values.shape[3])
    if past is not None:
        all_keys[:, :, :old], all_values[:, :, :old] = past
    all_keys[:, :, old:], all_values[:, :, old:] = keys, values
    scores = queries @ all_keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    hidden = torch.ones_like(scores, dtype=torch.bool).triu(old + 1)
    scores = torch.where(hidden, torch.finfo(scores.dtype).min, scores)
    return scores.softmax(-1) @ all_values, (all_keys, all_values)


@alternative("cached_attention")
def exponentials_by_hand(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
    visible = torch.ones_like(scores).tril(keys.shape[2] - queries.shape[2])
    numbers = torch.exp(scores - scores.amax(-1, keepdim=True)) * visible
    return (numbers @ values) / numbers.sum(-1, keepdim=True), (keys, values)


# CachedAttention


class Layers(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.reshape(*x.shape[:2], self.num_heads, -1).permute(0, 2, 1, 3)


@alternative("CachedAttention", is_usual=True)
class TorchsAttention(Layers):
    def forward(self, x, past=None):
        old = past[0].size(2) if past is not None else 0
        angles = rotary_angles(torch.arange(old, old + x.size(1)).to(x), self.head_dim)
        queries = apply_rotary(self.split(self.W_query(x)), angles)
        keys = apply_rotary(self.split(self.W_key(x)), angles)
        present = after(past, keys, self.split(self.W_value(x)))
        visible = torch.ones(x.size(1), old + x.size(1), dtype=torch.bool, device=x.device)
        context = F.scaled_dot_product_attention(queries, *present, attn_mask=visible.tril(old))
        return self.out_proj(context.transpose(1, 2).flatten(2)), present


@alternative("CachedAttention")
class AnglesOfItsOwn(Layers):
    """Reads the angles from a buffer, and rotates with complex numbers."""

    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        pairs = torch.arange(0, self.head_dim, 2).double()
        angles = torch.arange(1024.0).double()[:, None] * 10000.0 ** (-pairs / self.head_dim)
        self.register_buffer("table", angles, persistent=False)

    def turn(self, x, start):
        angles = self.table[start : start + x.shape[2]].to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        turned = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([turned.real, turned.imag], dim=-1)

    def forward(self, x, past=None):
        start = 0 if past is None else past[0].shape[2]
        queries, keys = self.turn(self.split(self.W_query(x)), start), self.split(self.W_key(x))
        keys, values = after(past, self.turn(keys, start), self.split(self.W_value(x)))
        scores = queries @ keys.mT / math.sqrt(self.head_dim)
        places = torch.arange(keys.shape[2], device=x.device)
        hidden = places > places[start:, None]
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        return self.out_proj((weights @ values).movedim(1, 2).flatten(2)), (keys, values)


@alternative("CachedAttention")
class TokenByToken(Layers):
    def step(self, x, past):
        place = 0 if past is None else past[0].shape[2]
        angles = rotary_angles(torch.full((1,), float(place)).to(x), self.head_dim)
        queries, keys, values = (
            self.split(layer(x)) for layer in (self.W_query, self.W_key, self.W_value)
        )
        past = after(past, apply_rotary(keys, angles), values)
        scores = apply_rotary(queries, angles) @ past[0].mT / math.sqrt(self.head_dim)
        context = scores.softmax(-1) @ past[1]
        return self.out_proj(context.transpose(1, 2).reshape(x.shape)), past

    def forward(self, x, past=None):
        outputs = []
        for token in x.split(1, dim=1):
            output, past = self.step(token, past)
            outputs.append(output)
        return torch.cat(outputs, dim=1), past


@alternative("CachedAttention")
class HeadByHead(Layers):
    def forward(self, x, past=None):
        start = 0 if past is None else past[0].shape[2]
        positions = torch.arange(start, start + x.shape[1], dtype=x.dtype, device=x.device)
        angles = rotary_angles(positions, self.head_dim)
        projected = [layer(x) for layer in (self.W_query, self.W_key, self.W_value)]
        contexts, all_keys, all_values = [], [], []
        for h in range(self.num_heads):
            columns = slice(h * self.head_dim, (h + 1) * self.head_dim)
            queries, keys, values = (one[..., columns] for one in projected)  # (B, T, d)
            queries, keys = apply_rotary(queries, angles), apply_rotary(keys, angles)
            if past is not None:
                keys = torch.cat([past[0][:, h], keys], dim=1)
                values = torch.cat([past[1][:, h], values], dim=1)
            scores = queries @ keys.mT * self.head_dim**-0.5
            hidden = torch.ones_like(scores).triu(start + 1) > 0
            contexts.append(scores.masked_fill(hidden, -1e9).softmax(-1) @ values)
            all_keys.append(keys)
            all_values.append(values)
        present = torch.stack(all_keys, dim=1), torch.stack(all_values, dim=1)
        return self.out_proj(torch.cat(contexts, dim=-1)), present


@alternative("CachedAttention")
class ScaledQueries(Layers):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.scale = self.head_dim**-0.5

    def forward(self, x, past=None):
        past = past if past is not None else [self.split(x)[:, :, :0]] * 2
        start, end = past[0].shape[2], past[0].shape[2] + x.shape[1]
        angles = rotary_angles(torch.arange(start, end).to(x.device, x.dtype), self.head_dim, 1e4)
        queries = apply_rotary(self.split(self.W_query(x)), angles) * self.scale
        keys = torch.cat([past[0], apply_rotary(self.split(self.W_key(x)), angles)], dim=2)
        values = torch.cat([past[1], self.split(self.W_value(x))], dim=2)
        bias = torch.full((x.shape[1], end), -torch.inf, device=x.device).triu(start + 1)
        weights = (queries @ keys.mT + bias.to(x.dtype)).softmax(dim=-1)
        return self.out_proj((weights @ values).permute(0, 2, 1, 3).flatten(2)), (keys, values)


@alternative("cached_attention")
def one_new_position_after_another(queries, keys, values, past=None):
    if past is not None:
        keys, values = torch.cat((past[0], keys), 2), torch.cat((past[1], values), 2)
    start = keys.shape[2] - queries.shape[2]
    rows = []
    for t, query in enumerate(queries.split(1, 2), start + 1):
        scores = query @ keys[:, :, :t].mT / math.sqrt(query.shape[-1])
        rows.append(torch.softmax(scores, -1) @ values[:, :, :t])
    return torch.cat(rows, 2), (keys, values)


@alternative("decoding_mask")
def rows_of_a_generator(num_queries, num_keys):
    first = num_keys - num_queries
    rows = ([s > first + t for s in range(num_keys)] for t in range(num_queries))
    return torch.tensor(list(rows))


@alternative("decoding_mask")
def mapped_over_positions(num_queries, num_keys):
    keys = torch.arange(num_keys)
    return torch.vmap(lambda query: keys > query)(
        torch.arange(num_queries) + num_keys - num_queries
    )


@alternative("sliding_window_mask")
def band_of_a_matrix(num_queries, num_keys, window):
    if window < 1:
        raise ValueError("window")
    square = torch.ones(num_keys, num_keys).tril().triu(1 - window)
    return (square == 0)[num_keys - num_queries :]


@alternative("cached_attention")
def checkpointed_with_a_past(queries, keys, values, past=None):
    if past is not None:
        keys, values = (torch.cat(pair, dim=-2) for pair in zip(past, (keys, values), strict=True))

    def attend(q, k, v):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(k.shape[-2] - q.shape[-2] + 1)
        return torch.where(future, -torch.inf, scores).softmax(-1) @ v

    return checkpoint(attend, queries, keys, values, use_reentrant=False), (keys, values)


@alternative("CachedAttention")
class GradientsWhereTheModeOrTheCallerWantsThem(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value, self.out_proj = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def _turned(self, x, first):
        places = torch.arange(first, first + x.shape[-2], dtype=x.dtype, device=x.device)
        with torch.set_grad_enabled(self.training and x.requires_grad):
            angles = rotary_angles(places, x.shape[-1])
        return apply_rotary(x, angles)

    def forward(self, x, past=None):
        with torch.set_grad_enabled(self.training or torch.is_grad_enabled()):
            layers = (self.W_query, self.W_key, self.W_value)
            q, k, v = (f(x).unflatten(-1, (self.num_heads, -1)).movedim(-2, 1) for f in layers)
            first = 0 if past is None else past[0].size(2)
            q, k = self._turned(q, first), self._turned(k, first)
            if past is not None:
                k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            later = torch.ones_like(scores, dtype=torch.bool).triu(first + 1)
            mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
            return self.out_proj(mixed.movedim(1, -2).flatten(-2)), (k, v)
