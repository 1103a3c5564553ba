"""Known mistakes in decoding masks, and in attention with a cache."""

import functools
import math

import torch
from torch import nn

from autograder.parts import apply_rotary, rotary_angles
from autograder.suite import misconception

# decoding_mask


@misconception(
    "decoding_mask",
    confuses="the last positions with the first ones: the triangle is aligned at the top left, as "
    "torch's is_causal does",
    hint="Two queries after three keys: which position does the first query have?",
)
def aligned_at_the_top_left(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(1)


@misconception(
    "decoding_mask",
    confuses="the future with the future and the present: a query's own position is forbidden",
    hint="May a token look at itself? What does a single query without a past see?",
)
def own_position_forbidden(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(num_keys - num_queries)


@misconception(
    "decoding_mask",
    confuses="one new token with several: nothing is forbidden, which is right only for a single "
    "query",
    hint="Three new tokens at once: may the first of them look at the second?",
)
def nothing_forbidden(num_queries, num_keys):
    return torch.zeros(num_queries, num_keys, dtype=torch.bool)


@misconception(
    "decoding_mask",
    confuses="past with future: the past is forbidden",
    hint="Which columns are the past? They are what the cache is kept for.",
)
def past_forbidden(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries - 1)


@misconception(
    "decoding_mask",
    confuses="rows with columns: the mask has one row for each key",
    hint="Which shape does the exercise ask for: (T, S) or (S, T)?",
)
def keys_as_rows(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(num_keys - num_queries + 1).T


@misconception(
    "decoding_mask",
    confuses="True for forbidden with True for allowed: the mask is True where attention is "
    "allowed, as in torch's attention function",
    hint="What does True mean in causal_mask?",
)
def true_where_allowed(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries)


@misconception(
    "decoding_mask",
    confuses="where the future begins: the next position is still seen",
    hint="The first of two queries over five keys is position 3. May it see position 4?",
)
def next_position_seen(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(num_keys - num_queries + 2)


@misconception(
    "decoding_mask",
    confuses="truth values with numbers: the mask contains numbers instead of True and False",
    hint="Print the dtype of your mask. Which dtype do conditions have?",
)
def ones_and_zeros(num_queries, num_keys):
    return torch.ones(num_queries, num_keys).triu(num_keys - num_queries + 1)


@misconception(
    "decoding_mask",
    confuses="truth values with whole numbers: the mask contains whole numbers instead of True and "
    "False",
    hint="Print the dtype of your mask. Which dtype do conditions have?",
)
def whole_numbers(num_queries, num_keys):
    return torch.ones(num_queries, num_keys).triu(num_keys - num_queries + 1).long()


@misconception(
    "decoding_mask",
    confuses="the mask with what is added to the scores later: the mask contains minus infinity "
    "instead of True",
    hint="The mask only says where. Which function changes the scores there?",
)
def minus_infinity_in_the_mask(num_queries, num_keys):
    return torch.full((num_queries, num_keys), -torch.inf).triu(num_keys - num_queries + 1)


@misconception(
    "decoding_mask",
    confuses="the required rows with all rows: the mask is square, with one row for each key",
    hint="How many rows must the mask for two queries have?",
)
def square_of_all_keys(num_queries, num_keys):
    return torch.ones(num_keys, num_keys, dtype=torch.bool).triu(1)


@misconception(
    "decoding_mask",
    confuses="the new positions with all of them: the past is left out of the mask",
    hint="How many columns must the mask for five keys have?",
)
def square_of_the_queries(num_queries, num_keys):
    return torch.ones(num_queries, num_queries, dtype=torch.bool).triu(1)


# sliding_window_mask


def distances(num_queries, num_keys):
    """Returns how far each key lies before each query; negative if it lies after it."""
    return torch.arange(num_keys - num_queries, num_keys)[:, None] - torch.arange(num_keys)


def needs_a_window(window):
    if window < 1:
        raise ValueError(f"window = {window} is below 1")


@misconception(
    "sliding_window_mask",
    confuses="a causal window with the window of an encoder, which looks ahead as well: the window "
    "reaches ahead as well as back",
    hint="May position 3 look at position 4, if the window is 3?",
)
def looks_ahead_as_well(num_queries, num_keys, window):
    needs_a_window(window)
    return distances(num_queries, num_keys).abs() >= window


@misconception(
    "sliding_window_mask",
    confuses="a window with all of the past: the size of the window has no effect",
    hint="Call it with window 1 and with window 3. What changes?",
)
def window_never_used(num_queries, num_keys, window):
    needs_a_window(window)
    return distances(num_queries, num_keys) < 0


@misconception(
    "sliding_window_mask",
    confuses="forbidden with allowed: the mask is True where attention is allowed",
    hint="What does True mean in causal_mask?",
)
def true_inside_the_window(num_queries, num_keys, window):
    needs_a_window(window)
    behind = distances(num_queries, num_keys)
    return (behind >= 0) & (behind < window)


@misconception(
    "sliding_window_mask",
    confuses="a sliding window with blocks of window positions (chunked attention, as in Llama 4): "
    "the positions are divided into blocks instead of a window that slides",
    hint="With window 2: does position 2 see position 1?",
)
def blocks_instead_of_a_window(num_queries, num_keys, window):
    needs_a_window(window)
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    keys = torch.arange(num_keys)
    return (keys > queries) | (keys // window != queries // window)


@misconception(
    "sliding_window_mask",
    confuses="a window that slides with the last keys for every query: every query sees the last "
    "keys, which is right only for a single query",
    hint="Take 2 queries, 6 keys and window 3. How many positions does the first query see?",
)
def the_last_keys_for_all(num_queries, num_keys, window):
    needs_a_window(window)
    keys = torch.arange(num_keys)
    return (distances(num_queries, num_keys) < 0) | (keys < num_keys - window)


@misconception(
    "sliding_window_mask",
    confuses="distant positions with near ones: the near past is forbidden, the far past allowed",
    hint="With window 2: does position 5 see position 4, and position 0?",
)
def near_past_forbidden(num_queries, num_keys, window):
    needs_a_window(window)
    behind = distances(num_queries, num_keys)
    return (behind < 0) | ((behind < window) & (behind > 0))


@misconception(
    "sliding_window_mask",
    confuses="window positions in all with window positions before the query's own, as "
    "flash-attention's window_size counts them: the window does not count the query's own position",
    hint="With window 1, how many positions does a query see?",
)
def own_position_not_counted(num_queries, num_keys, window):
    needs_a_window(window)
    behind = distances(num_queries, num_keys)
    return (behind < 0) | (behind > window)


@misconception(
    "sliding_window_mask",
    confuses="the last position of the window with the first one outside: a query sees one "
    "position too few",
    hint="With window 3, how many positions does a late query see?",
)
def one_position_too_few(num_queries, num_keys, window):
    needs_a_window(window)
    behind = distances(num_queries, num_keys)
    return (behind < 0) | ((behind >= window - 1) & (behind > 0))


@misconception(
    "sliding_window_mask",
    confuses="the last positions with the first ones: the window is aligned at the top left",
    hint="Two queries over five keys: which position does the first query have?",
)
def window_at_the_top_left(num_queries, num_keys, window):
    needs_a_window(window)
    behind = torch.arange(num_queries)[:, None] - torch.arange(num_keys)
    return (behind < 0) | (behind >= window)


@misconception(
    "sliding_window_mask",
    confuses="a window with a limit on the past alone: the future is allowed",
    hint="Are there two conditions in your code: not later, and not too far back?",
)
def future_allowed(num_queries, num_keys, window):
    needs_a_window(window)
    return distances(num_queries, num_keys) >= window


@misconception(
    "sliding_window_mask",
    confuses="what should never happen with what must be reported: a window of 0 raises no error",
    hint="What would a query with a window of 0 look at? Raise a ValueError.",
)
def window_of_zero_accepted(num_queries, num_keys, window):
    behind = distances(num_queries, num_keys)
    return (behind < 0) | (behind >= window)


@misconception(
    "sliding_window_mask",
    confuses="an impossible window with one that is repaired: a window of 0 is treated as 1",
    hint="Calling it with 0 is a mistake that should be reported: raise a ValueError.",
)
def window_of_zero_repaired(num_queries, num_keys, window):
    behind = distances(num_queries, num_keys)
    return (behind < 0) | (behind >= max(window, 1))


@misconception(
    "sliding_window_mask",
    confuses="an assert with an error for the caller: an assert raises AssertionError",
    hint="Which kind of error does the exercise ask for?",
)
def window_asserted(num_queries, num_keys, window):
    assert window >= 1
    behind = distances(num_queries, num_keys)
    return (behind < 0) | (behind >= window)


# cached_attention


def attend(queries, keys, values, mask):
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    return torch.softmax(scores.masked_fill(mask, -torch.inf), dim=-1) @ values


def after(past, keys, values):
    """Returns the keys and values of the past, followed by the new ones."""
    if past is None:
        return keys, values
    return torch.cat([past[0], keys], dim=2), torch.cat([past[1], values], dim=2)


def future(num_queries, num_keys):
    square = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return square.triu(num_keys - num_queries + 1)


@misconception(
    "cached_attention",
    confuses="the last positions with the first ones: the mask is aligned at the top left",
    hint="One new token after five: which keys does your mask let it see?",
)
def mask_at_the_top_left(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    mask = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).triu(1)
    return attend(queries, keys, values, mask), (keys, values)


@misconception(
    "cached_attention",
    confuses="a past with decoding token by token: with a past nothing is masked",
    hint="Three new tokens after a past: may the first of them look at the third?",
)
def no_mask_with_a_past(queries, keys, values, past=None):
    num_new = 0 if past is not None else queries.shape[2]
    keys, values = after(past, keys, values)
    mask = future(num_new, num_new) if past is None else torch.tensor(False)
    return attend(queries, keys, values, mask), (keys, values)


@misconception(
    "cached_attention",
    confuses="causal attention with attention: nothing is masked, with a past or without",
    hint="May the first token of a prefill look at the second?",
)
def never_masked(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    return attend(queries, keys, values, torch.tensor(False)), (keys, values)


@misconception(
    "cached_attention",
    confuses="the present with what is new: the present lacks the past",
    hint="The next call gets your present as its past. Which positions would it see?",
)
def present_without_the_past(queries, keys, values, past=None):
    new = (keys, values)
    keys, values = after(past, keys, values)
    return attend(queries, keys, values, future(queries.shape[2], keys.shape[2])), new


@misconception(
    "cached_attention",
    confuses="the order of the present: the values come first",
    hint="A past is the pair (keys, values). In which order is your present?",
)
def present_values_first(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (values, keys)


@misconception(
    "cached_attention",
    confuses="passing a past on with using it: the past is passed on, but the new tokens see only "
    "each other",
    hint="Change the past. Does the context change?",
)
def past_only_passed_on(queries, keys, values, past=None):
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, after(past, keys, values)


@misconception(
    "cached_attention",
    confuses="a cache for writing text with one for training, too: the present is detached",
    hint="Inference code detaches its cache. Must gradients flow into the keys here?",
)
def present_detached(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (keys.detach(), values.detach())


@misconception(
    "cached_attention",
    confuses="a past with constants: no gradient flows into the past",
    hint="The past came from a layer that is trained, too. Is it detached in your code?",
)
def past_detached(queries, keys, values, past=None):
    if past is not None:
        past = (past[0].detach(), past[1].detach())
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (keys, values)


@misconception(
    "cached_attention",
    confuses="a pair with one tensor: keys and values are stacked, as minGPT does",
    hint="Keys and values may have different sizes. What does the exercise return: a pair or a "
    "tensor?",
)
def present_stacked(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    size = max(keys.shape[-1], values.shape[-1])
    padded = [nn.functional.pad(one, (0, size - one.shape[-1])) for one in (keys, values)]
    return context, torch.stack(padded)


@misconception(
    "cached_attention",
    confuses="old with new: the past is put after the new positions",
    hint="Which comes first in the sequence: past or new? Which position is the last column?",
)
def past_last(queries, keys, values, past=None):
    if past is not None:
        keys = torch.cat([keys, past[0]], dim=2)
        values = torch.cat([values, past[1]], dim=2)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (keys, values)


@misconception(
    "cached_attention",
    confuses="the axis of positions with the axis of heads: past and new positions are joined "
    "along the heads",
    hint="Which dimension of (B, H, T, d) grows when a token is added?",
)
def joined_along_the_heads(queries, keys, values, past=None):
    if past is not None and past[0].shape == keys.shape:
        keys = torch.cat([past[0], keys], dim=1)
        values = torch.cat([past[1], values], dim=1)
        queries = torch.cat([queries, queries], dim=1)
        context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
        return context[:, : context.shape[1] // 2], (keys, values)
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (keys, values)


@misconception(
    "cached_attention",
    confuses="scores with scaled scores: nothing is divided",
    hint="What are scores divided by before softmax?",
)
def scores_not_divided(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries * math.sqrt(queries.shape[-1]), keys, values, mask), (keys, values)


@misconception(
    "cached_attention",
    confuses="the size of a value with the size of a query under the root: the scores are divided "
    "by the root of the size of a value",
    hint="How many products is one score made of: as many as a query has entries, or a value?",
)
def root_of_the_value_size(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    factor = math.sqrt(queries.shape[-1] / values.shape[-1])
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries * factor, keys, values, mask), (keys, values)


@misconception(
    "cached_attention",
    confuses="the context with all that is returned: the present is missing",
    hint="How does the next call get the keys of this one?",
)
def context_alone(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    return attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))


@misconception(
    "cached_attention",
    confuses="a pair in a pair with three results side by side: three separate results are "
    "returned instead of a context and a pair",
    hint="The second result is the past of the next call: a pair. How many results do you return?",
)
def three_results(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, keys, values


@misconception(
    "cached_attention",
    confuses="weights that sum to one with weights that are cut off: the future is set to zero "
    "after softmax",
    hint="Do the weights of the first new token still sum to one?",
)
def masked_after_softmax(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    mask = future(queries.shape[2], keys.shape[2])
    weights = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)
    return weights @ values, (keys, values)


# CachedAttention


class Cached(nn.Module):
    """Cached attention in steps; each mistake below replaces one of them."""

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
        return self.turn(queries, angles), self.turn(keys, angles), values

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
        return keys, values

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
        return self.finish(self.merge(context)), self.present(keys, values, new)


@misconception(
    "CachedAttention",
    confuses="new positions with first positions: positions start at 0 in every call",
    hint="It is right in a prefill. What is the position of the token after a past of five?",
)
class PositionsStartAtZero(Cached):
    def angles(self, start, num_new, x):
        return super().angles(0, num_new, x)


@misconception(
    "CachedAttention",
    confuses="rotated keys with keys that still must be rotated: the past is rotated again in "
    "every step",
    hint="The present holds rotated keys. Which keys does your code rotate when there is a past?",
)
class PastRotatedAgain(Cached):
    def forward(self, x, past=None):
        start = 0 if past is None else past[0].shape[2]
        queries, keys, values = (
            self.split(layer(x)) for layer in (self.W_query, self.W_key, self.W_value)
        )
        keys, values = after(past, keys, values)
        queries = apply_rotary(queries, self.angles(start, x.shape[1], x))
        keys = apply_rotary(keys, self.angles(0, keys.shape[2], x))
        context = attend(queries, keys, values, self.mask(x.shape[1], keys.shape[2], x))
        return self.out_proj(self.merge(context)), (keys, values)


@misconception(
    "CachedAttention",
    confuses="queries and keys with queries alone: only the queries are rotated",
    hint="A score depends on the distance only if both its query and its key are rotated.",
)
class OnlyQueriesRotated(Cached):
    def turned(self, queries, keys, values, angles):
        return self.turn(queries, angles), keys, values


@misconception(
    "CachedAttention",
    confuses="queries and keys with keys alone: only the keys are rotated",
    hint="A score depends on the distance only if both its query and its key are rotated.",
)
class OnlyKeysRotated(Cached):
    def turned(self, queries, keys, values, angles):
        return queries, self.turn(keys, angles), values


@misconception(
    "CachedAttention",
    confuses="queries and keys with all three: the values are rotated, too",
    hint="Values are mixed, not compared. Do they need a position?",
)
class ValuesRotatedToo(Cached):
    def turned(self, queries, keys, values, angles):
        return tuple(self.turn(one, angles) for one in (queries, keys, values))


@misconception(
    "CachedAttention",
    confuses="rotary attention with attention: nothing is rotated",
    hint="Swap two tokens of the past. Does the output of a new token change?",
)
class NothingRotated(Cached):
    def turned(self, queries, keys, values, angles):
        return queries, keys, values


@misconception(
    "CachedAttention",
    confuses="positions from zero with positions from one: the keys of the present are rotated by "
    "one position too many",
    hint="Only distances show in the output. By which angle is the very first key rotated?",
)
class PositionsFromOne(Cached):
    def angles(self, start, num_new, x):
        return super().angles(start + 1, num_new, x)


@misconception(
    "CachedAttention",
    confuses="the last positions with the first ones: the mask is aligned at the top left",
    hint="One new token after five: which keys does your mask let it see?",
)
class MaskAtTheTopLeft(Cached):
    def mask(self, num_queries, num_keys, x):
        return torch.ones(num_queries, num_keys, dtype=torch.bool, device=x.device).triu(1)


@misconception(
    "CachedAttention",
    confuses="decoding token by token with any number of tokens: with a past nothing is masked",
    hint="Three new tokens after a past: may the first of them look at the third?",
)
class NoMaskWithAPast(Cached):
    def mask(self, num_queries, num_keys, x):
        mask = super().mask(num_queries, num_keys, x)
        return mask if num_queries == num_keys else torch.zeros_like(mask)


@misconception(
    "CachedAttention",
    confuses="causal attention with attention: nothing is masked",
    hint="May the first token of a prefill look at the second?",
)
class NeverMasked(Cached):
    def mask(self, num_queries, num_keys, x):
        return torch.zeros_like(super().mask(num_queries, num_keys, x))


@misconception(
    "CachedAttention",
    confuses="a past that is given with a cache in the module: two sequences are mixed",
    hint="Two sequences take turns. Whose keys are in the module?",
)
class CacheKeptInTheModule(Cached):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.kept = None

    def join(self, past, keys, values):
        self.kept = after(None if past is None else self.kept, keys, values)
        return self.kept

    def forward(self, x, past=None):
        if past is not None and self.kept is None:
            self.kept = past
        return super().forward(x, None if past is None else self.kept)


@misconception(
    "CachedAttention",
    confuses="the size of a head with the size of the model under the root: the scores are divided "
    "by the root of the model size, not of the head size",
    hint="How many products is one score of one head made of?",
)
class RootOfTheModelSize(Cached):
    def size_under_the_root(self):
        return self.head_dim * self.num_heads


@misconception(
    "CachedAttention",
    confuses="the present with what is new: the present lacks the past",
    hint="The next call gets your present as its past. Which positions would it see?",
)
class PresentWithoutThePast(Cached):
    def present(self, keys, values, new):
        return new


@misconception(
    "CachedAttention",
    confuses="the order of the present: the values come first",
    hint="A past is the pair (keys, values). In which order is your present?",
)
class PresentValuesFirst(Cached):
    def present(self, keys, values, new):
        return values, keys


@misconception(
    "CachedAttention",
    confuses="a cache for writing text with one for training, too: the present is detached",
    hint="Inference code detaches its cache. Must gradients flow into the keys here?",
)
class PresentDetached(Cached):
    def present(self, keys, values, new):
        return keys.detach(), values.detach()


@misconception(
    "CachedAttention",
    confuses="an input with the module's dtype: the angles are made in float32, and become "
    "inaccurate at late positions",
    hint="Move the module to float64 and print the dtype of positions and angles.",
)
class AnglesInFloat32(Cached):
    def angles(self, start, num_new, x):
        places = torch.arange(start, start + num_new, dtype=torch.float32, device=x.device)
        return rotary_angles(places, self.head_dim).to(x.dtype)


@misconception(
    "CachedAttention",
    confuses="two conventions: neighbors are paired, not coordinate i with i + d/2",
    hint="The part apply_rotary pairs the halves. Which coordinates does your code pair?",
)
class NeighboursPaired(Cached):
    def turn(self, x, angles):
        even, odd = x[..., 0::2], x[..., 1::2]
        cos, sin = angles.cos(), angles.sin()
        return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)


@misconception(
    "CachedAttention",
    confuses="the size of a head with the size of the model: queries and keys are rotated before "
    "the split into heads",
    hint="Which vectors are compared: those of a head, or those of the model? Angles have d/2 "
    "columns.",
)
class RotatedBeforeTheSplit(Cached):
    def forward(self, x, past=None):
        start = 0 if past is None else past[0].shape[2]
        places = self.positions(start, x.shape[1], x)
        angles = rotary_angles(places, self.head_dim * self.num_heads)
        queries = self.split(apply_rotary(self.W_query(x), angles))
        keys = self.split(apply_rotary(self.W_key(x), angles))
        keys, values = after(past, keys, self.split(self.W_value(x)))
        context = attend(queries, keys, values, self.mask(x.shape[1], keys.shape[2], x))
        return self.out_proj(self.merge(context)), (keys, values)


@misconception(
    "CachedAttention",
    confuses="merging heads with reshaping: the transpose is missing",
    hint="The shape is right. In which order are heads and tokens before the reshape?",
)
class MergedWithoutTranspose(Cached):
    def merge(self, context):
        return context.reshape(context.shape[0], context.shape[2], -1)


@misconception(
    "CachedAttention",
    confuses="blocks of columns with every n-th column: heads are interleaved",
    hint="Head 0 owns the first columns. Into which two sizes do you cut the last dimension?",
)
class HeadsInterleaved(Cached):
    def split(self, x):
        return x.unflatten(-1, (self.head_dim, self.num_heads)).permute(0, 3, 1, 2)


@misconception(
    "CachedAttention",
    confuses="building a layer with using it: out_proj has no effect",
    hint="Change the weights of out_proj. Does the output change?",
)
class OutProjNeverCalled(Cached):
    def finish(self, merged):
        return merged


@misconception(
    "CachedAttention",
    confuses="a sequence with its last token: the output has one position only",
    hint="Three new tokens came in. How many outputs does your forward return?",
)
class LastOutputOnly(Cached):
    def finish(self, merged):
        return self.out_proj(merged[:, -1:])


@misconception(
    "CachedAttention",
    confuses="a present of rotated keys with one of keys as they came: the present holds keys that "
    "are not rotated",
    hint="Compare your present with the docstring: are its keys rotated?",
)
class PresentNotRotated(Cached):
    def forward(self, x, past=None):
        start = 0 if past is None else past[0].shape[2]
        queries, keys, values = (
            self.split(layer(x)) for layer in (self.W_query, self.W_key, self.W_value)
        )
        keys, values = after(past, keys, values)
        queries = apply_rotary(queries, self.angles(start, x.shape[1], x))
        turned = apply_rotary(keys, self.angles(0, keys.shape[2], x))
        context = attend(queries, turned, values, self.mask(x.shape[1], keys.shape[2], x))
        return self.finish(self.merge(context)), (keys, values)


@misconception(
    "decoding_mask",
    confuses="its own mask with one that belongs to the caller: the same tensor is returned for "
    "the same sizes, whatever was done to it",
    hint="Call it, invert the mask in place with `logical_not_()`, and call it again with the same "
    "sizes. Which mask comes back?",
)
def decoding_mask_kept_by_its_sizes(num_queries, num_keys):
    return _kept_decoding_mask_kept_by_its_sizes(num_queries, num_keys)


@functools.lru_cache
def _kept_decoding_mask_kept_by_its_sizes(num_queries, num_keys):
    places = torch.arange(num_keys - num_queries, num_keys)
    return torch.arange(num_keys) > places[:, None]


@misconception(
    "sliding_window_mask",
    confuses="its own mask with one that belongs to the caller: the same tensor is returned for "
    "the same sizes, whatever was done to it",
    hint="Call it, invert the mask in place with `logical_not_()`, and call it again with the same "
    "sizes. Which mask comes back?",
)
def window_kept_by_its_sizes(num_queries, num_keys, window):
    return _kept_window_kept_by_its_sizes(num_queries, num_keys, window)


@functools.lru_cache
def _kept_window_kept_by_its_sizes(num_queries, num_keys, window):
    if window < 1:
        raise ValueError("window must be at least 1")
    places = torch.arange(num_keys - num_queries, num_keys)[:, None]
    keys = torch.arange(num_keys)
    return (keys > places) | (keys <= places - window)


@misconception(
    "sliding_window_mask",
    confuses="a single query with a case that needs no check: with a single query, a window "
    "below 1 is accepted",
    hint="Try one query and a window of 0. What does your function check first?",
)
def window_of_one_query_unchecked(num_queries, num_keys, window):
    if num_queries == 1:
        return torch.arange(num_keys)[None] < num_keys - window
    if window < 1:
        raise ValueError("window must be at least 1")
    places = torch.arange(num_keys - num_queries, num_keys)[:, None]
    keys = torch.arange(num_keys)
    return (keys > places) | (keys <= places - window)


@misconception(
    "cached_attention",
    confuses="a past that comes from an earlier call with one that is data: the gradient into the "
    "past is cut",
    hint="Take the sum of the second step's context and call `backward()`. Does the first step's "
    "input get a gradient?",
)
def past_of_a_call_detached(queries, keys, values, past=None):
    if past is not None:
        past = tuple(t.detach() if t.grad_fn is not None else t for t in past)
        keys, values = torch.cat([past[0], keys], -2), torch.cat([past[1], values], -2)
    places = torch.arange(keys.shape[-2] - queries.shape[-2], keys.shape[-2], device=keys.device)
    future = torch.arange(keys.shape[-2], device=keys.device) > places[:, None]
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    weights = torch.softmax(scores.masked_fill(future, -torch.inf), -1)
    return weights @ values, (keys, values)


@misconception(
    "cached_attention",
    confuses="the values of the past with its keys: past keys are joined with the new values",
    hint="What is past[0], and what is past[1]? Which of them belongs to the values?",
)
def past_keys_as_values(queries, keys, values, past=None):
    if past is not None:
        keys = torch.cat([past[0], keys], dim=2)
        values = torch.cat([past[0], values], dim=2)
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries, keys, values, mask.to(keys.device)), (keys, values)


@misconception(
    "CachedAttention",
    confuses="rotated keys with keys that still must be rotated: all keys are rotated again after "
    "they were joined",
    hint="How often is the first key of a past rotated in your code? It should be once.",
)
class AllKeysRotatedAgain(Cached):
    def join(self, past, keys, values):
        keys, values = after(past, keys, values)
        if past is not None:
            keys = self.turn(keys, self.angles(0, keys.shape[2], keys))
        return keys, values


@misconception(
    "CachedAttention",
    confuses="a past that is given with a cache in the module: every call continues from the last "
    "one",
    hint="Call it twice without a past. Why is the second present longer than the first?",
)
class EveryCallGoesOn(Cached):
    kept = None

    def forward(self, x, past=None):
        output, self.kept = super().forward(x, past if self.kept is None else self.kept)
        return output, self.kept


@misconception(
    "CachedAttention",
    confuses="a present of rotated keys with one of keys as they came: the present holds keys that "
    "are not rotated, and a past is used unchanged",
    hint="Compare your present with the docstring: are its keys rotated? In the next call it is "
    "the past.",
)
class PresentNotRotatedPastAsItCame(Cached):
    def forward(self, x, past=None):
        plain, old = self.split(self.W_key(x)), 0 if past is None else past[0]
        output, (_, values) = super().forward(x, past)
        keys = plain if past is None else torch.cat([old, plain], dim=2)
        return output, (keys, values)


@misconception(
    "CachedAttention",
    confuses="a past that is given with a cache in the module: the argument `past` has no effect",
    hint="Call it twice with the same `past`. Why is the second present longer than the first?",
)
class PastIgnoredForACacheInTheModule(Cached):
    kept = None

    def forward(self, x, past=None):
        output, self.kept = super().forward(x, self.kept)
        return output, self.kept


@misconception(
    "CachedAttention",
    confuses="the past with the present: the past is returned unchanged",
    hint="The next call gets your present as its past. Which positions would it see?",
)
class PastReturned(Cached):
    def forward(self, x, past=None):
        output, present = super().forward(x, past)
        return output, present if past is None else past


@misconception(
    "cached_attention",
    confuses="the past with the present: the past is returned unchanged",
    hint="The next call gets your present as its past. Which positions would it see?",
)
def past_returned(queries, keys, values, past=None):
    own = keys, values
    keys, values = after(past, keys, values)
    num_queries, num_keys = queries.shape[2], keys.shape[2]
    mask = torch.ones(num_queries, num_keys, dtype=torch.bool, device=queries.device)
    context = attend(queries, keys, values, mask.triu(num_keys - num_queries + 1))
    return context, own if past is None else past


@misconception(
    "sliding_window_mask",
    confuses="a negative bound with the first position: a slice from a negative bound begins at "
    "the end",
    hint="Which positions does the first query see? Print where its window begins.",
)
def window_begins_below_zero(num_queries, num_keys, window):
    needs_a_window(window)
    mask = torch.ones(num_queries, num_keys, dtype=torch.bool)
    for query in range(num_queries):
        position = num_keys - num_queries + query
        mask[query, position - window + 1 : position + 1] = False
    return mask


@misconception(
    "sliding_window_mask",
    confuses="the last positions before a query with the first ones of the sequence: every query "
    "sees the first keys only",
    hint="With a window of 2, which keys does the query at position 5 see, and which should it?",
)
def the_first_keys_for_all(num_queries, num_keys, window):
    needs_a_window(window)
    mask = future(num_queries, num_keys)
    return mask | (torch.arange(num_keys) >= window)


@misconception(
    "cached_attention",
    confuses="the number of heads with the number of past positions: the mask is moved by the "
    "number of heads",
    hint="Which dimension of past[0] counts positions? Try two heads and three past positions.",
)
def mask_moved_by_the_heads(queries, keys, values, past=None):
    moved = 0 if past is None else past[0].shape[1]
    keys, values = after(past, keys, values)
    mask = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).triu(moved + 1)
    return attend(queries, keys, values, mask), (keys, values)


@misconception(
    "CachedAttention",
    confuses="blocks of columns with every n-th column, when cutting and when merging: each head "
    "gets every n-th column instead of neighboring ones, when cutting and when merging",
    hint="Cutting and merging undo each other here, but does each head hold the right columns?",
)
class HeadsInterleavedBothWays(Cached):
    def split(self, x):
        return x.unflatten(-1, (self.head_dim, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, context):
        return context.permute(0, 2, 3, 1).flatten(2)


@misconception(
    "CachedAttention",
    confuses="heads with merged heads in the present: the heads are side by side in the present",
    hint="The keys of the present are (B, H, P + T, d). What is the shape of yours?",
)
class PresentMerged(Cached):
    def present(self, keys, values, new):
        return self.merge(keys), self.merge(values)

    def forward(self, x, past=None):
        if past is not None and past[0].dim() == 3:
            past = tuple(self.split(part) for part in past)
        return super().forward(x, past)


@misconception(
    "cached_attention",
    confuses="a pair with one tensor: keys and values are side by side in one tensor, the present",
    hint="The present is a pair. What is the type of yours?",
)
def present_joined(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries, keys, values, mask), torch.cat([keys, values], dim=-1)


@misconception(
    "cached_attention",
    confuses="the keys with scaled ones: the keys of the present are divided by the root of d",
    hint="Call it without a past. Are the keys of the present those that you gave it?",
)
def scaled_keys_in_the_present(queries, keys, values, past=None):
    root = math.sqrt(queries.shape[-1])
    keys, values = after(past, keys / root, values)
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries, keys * root, values, mask), (keys, values)


@misconception(
    "CachedAttention",
    confuses="(B, H, T, d) with (B, T, H, d): the tokens come before the heads in the present",
    hint="The keys of the present are (B, H, P + T, d). What is the shape of yours?",
)
class PresentTokensBeforeHeads(Cached):
    def present(self, keys, values, new):
        return keys.transpose(1, 2), values.transpose(1, 2)

    def forward(self, x, past=None):
        if past is not None:
            past = tuple(part.transpose(1, 2) for part in past)
        return super().forward(x, past)


@misconception(
    "CachedAttention",
    confuses="keys with queries: W_query makes the keys as well as the queries",
    hint="Change the weights of W_key. Does the output change?",
)
class KeysFromWQuery(Cached):
    def turned(self, queries, keys, values, angles):
        queries = self.turn(queries, angles)
        return queries, queries, values


@misconception(
    "CachedAttention",
    confuses="values with keys: W_key makes the values as well as the keys",
    hint="Change the weights of W_value. Does the output change?",
)
class ValuesFromWKey(Cached):
    def turned(self, queries, keys, values, angles):
        return self.turn(queries, angles), self.turn(keys, angles), keys
