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
    confuses="the last positions with the first ones: the mask is aligned at the top left, as with "
    "torch's is_causal",
    hint="In a call with two queries and five keys, which position does the first query have?",
)
def aligned_at_the_top_left(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(1)


@misconception(
    "decoding_mask",
    confuses="the future with the present and the future: a query's own position is forbidden",
    hint="May a token look at itself? What could a single query without a past see?",
)
def own_position_forbidden(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(num_keys - num_queries)


@misconception(
    "decoding_mask",
    confuses="several new tokens with a single one: nothing is forbidden, which is right only for "
    "a single query",
    hint="With three new tokens at once, may the first of them look at the second?",
)
def nothing_forbidden(num_queries, num_keys):
    return torch.zeros(num_queries, num_keys, dtype=torch.bool)


@misconception(
    "decoding_mask",
    confuses="the past with the future: the past is forbidden",
    hint="Which columns belong to the past? The cache exists so that queries can see the keys of "
    "the past.",
)
def past_forbidden(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries - 1)


@misconception(
    "decoding_mask",
    confuses="rows with columns: the mask has one row for each key instead of one for each query",
    hint="Which shape does the exercise ask for: (T, S) or (S, T)?",
)
def keys_as_rows(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(num_keys - num_queries + 1).T


@misconception(
    "decoding_mask",
    confuses="True for forbidden with True for allowed: the mask is True where attention is "
    "allowed, as in torch's attention function",
    hint="What does True mean in causal_mask, and what does it mean here?",
)
def true_where_allowed(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(num_keys - num_queries)


@misconception(
    "decoding_mask",
    confuses="the next position with the current one: the next position is still visible",
    hint="The first of two queries over five keys has position 3. May it see position 4?",
)
def next_position_seen(num_queries, num_keys):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).triu(num_keys - num_queries + 2)


@misconception(
    "decoding_mask",
    confuses="Boolean values with numbers: the mask contains numbers instead of True and False",
    hint="Print the dtype of your mask. What is the dtype of a comparison?",
)
def ones_and_zeros(num_queries, num_keys):
    return torch.ones(num_queries, num_keys).triu(num_keys - num_queries + 1)


@misconception(
    "decoding_mask",
    confuses="Boolean values with integers: the mask contains integers instead of True and False",
    hint="Print the dtype of your mask. What is the dtype of a comparison?",
)
def whole_numbers(num_queries, num_keys):
    return torch.ones(num_queries, num_keys).triu(num_keys - num_queries + 1).long()


@misconception(
    "decoding_mask",
    confuses="the mask with the values that are added to the scores later: the mask contains minus "
    "infinity instead of True",
    hint="The mask only says which scores to hide. Which function changes those scores?",
)
def minus_infinity_in_the_mask(num_queries, num_keys):
    return torch.full((num_queries, num_keys), -torch.inf).triu(num_keys - num_queries + 1)


@misconception(
    "decoding_mask",
    confuses="rows for the queries with rows for all keys: the mask is square, with one row for "
    "each key",
    hint="How many rows must the mask for two queries have?",
)
def square_of_all_keys(num_queries, num_keys):
    return torch.ones(num_keys, num_keys, dtype=torch.bool).triu(1)


@misconception(
    "decoding_mask",
    confuses="all positions with the new ones: the past is left out of the mask",
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
    confuses="a causal window with an encoder's window, which looks ahead as well: the window "
    "reaches ahead as well as back",
    hint="If the window is 3, may position 3 look at position 4?",
)
def looks_ahead_as_well(num_queries, num_keys, window):
    needs_a_window(window)
    return distances(num_queries, num_keys).abs() >= window


@misconception(
    "sliding_window_mask",
    confuses="a window with the whole past: the size of the window has no effect",
    hint="Call it with a window of 1 and a window of 3. What changes?",
)
def window_never_used(num_queries, num_keys, window):
    needs_a_window(window)
    return distances(num_queries, num_keys) < 0


@misconception(
    "sliding_window_mask",
    confuses="forbidden with allowed: the mask is True where attention is allowed",
    hint="What does True mean in causal_mask, and what does it mean here?",
)
def true_inside_the_window(num_queries, num_keys, window):
    needs_a_window(window)
    behind = distances(num_queries, num_keys)
    return (behind >= 0) & (behind < window)


@misconception(
    "sliding_window_mask",
    confuses="a sliding window with chunked attention, as in Llama 4: the positions are divided "
    "into blocks instead of a window that slides",
    hint="With a window of 2, does position 2 see position 1?",
)
def blocks_instead_of_a_window(num_queries, num_keys, window):
    needs_a_window(window)
    queries = torch.arange(num_keys - num_queries, num_keys)[:, None]
    keys = torch.arange(num_keys)
    return (keys > queries) | (keys // window != queries // window)


@misconception(
    "sliding_window_mask",
    confuses="a window that slides with the same window for all queries: every query sees the last "
    "keys, which is right only for a single query",
    hint="With 2 queries, 6 keys and a window of 3, how many positions does the first query see?",
)
def the_last_keys_for_all(num_queries, num_keys, window):
    needs_a_window(window)
    keys = torch.arange(num_keys)
    return (distances(num_queries, num_keys) < 0) | (keys < num_keys - window)


@misconception(
    "sliding_window_mask",
    confuses="distant positions with near ones: the near past is forbidden, and the distant past "
    "is allowed",
    hint="With a window of 2, does position 5 see position 4? Does it see position 0?",
)
def near_past_forbidden(num_queries, num_keys, window):
    needs_a_window(window)
    behind = distances(num_queries, num_keys)
    return (behind < 0) | ((behind < window) & (behind > 0))


@misconception(
    "sliding_window_mask",
    confuses="a window that includes the query's own position with one that does not, as in "
    "flash-attention's window_size: the window does not count the query's own position",
    hint="With a window of 1, how many positions does a query see?",
)
def own_position_not_counted(num_queries, num_keys, window):
    needs_a_window(window)
    behind = distances(num_queries, num_keys)
    return (behind < 0) | (behind > window)


@misconception(
    "sliding_window_mask",
    confuses="the last position in the window with the first one outside it: each query sees one "
    "position too few",
    hint="With a window of 3, how many positions does the last query see?",
)
def one_position_too_few(num_queries, num_keys, window):
    needs_a_window(window)
    behind = distances(num_queries, num_keys)
    return (behind < 0) | ((behind >= window - 1) & (behind > 0))


@misconception(
    "sliding_window_mask",
    confuses="the last positions with the first ones: the window is aligned at the top left",
    hint="With two queries and five keys, which position does the first query have?",
)
def window_at_the_top_left(num_queries, num_keys, window):
    needs_a_window(window)
    behind = torch.arange(num_queries)[:, None] - torch.arange(num_keys)
    return (behind < 0) | (behind >= window)


@misconception(
    "sliding_window_mask",
    confuses="the position of a query with the number of its row: the start of the window is "
    "counted from the number of the row",
    hint="With two queries and five keys, which position does the first query have? Which keys are "
    "too far back for it?",
)
def past_limit_from_the_row(num_queries, num_keys, window):
    needs_a_window(window)
    behind_row = torch.arange(num_queries)[:, None] - torch.arange(num_keys)
    return (distances(num_queries, num_keys) < 0) | (behind_row >= window)


@misconception(
    "sliding_window_mask",
    confuses="both limits of the window with the limit in the past: the future is allowed",
    hint="Does your code check both conditions: not later than the query, and not too far back?",
)
def future_allowed(num_queries, num_keys, window):
    needs_a_window(window)
    return distances(num_queries, num_keys) >= window


@misconception(
    "sliding_window_mask",
    confuses="an error that must be reported with a case that never happens: a window of 0 raises "
    "no error",
    hint="What would a query with a window of 0 look at? Raise a ValueError.",
)
def window_of_zero_accepted(num_queries, num_keys, window):
    behind = distances(num_queries, num_keys)
    return (behind < 0) | (behind >= window)


@misconception(
    "sliding_window_mask",
    confuses="rejecting an impossible window with repairing it: a window of 0 is treated as 1",
    hint="A call with a window of 0 is a mistake that should be reported. Raise a ValueError.",
)
def window_of_zero_repaired(num_queries, num_keys, window):
    behind = distances(num_queries, num_keys)
    return (behind < 0) | (behind >= max(window, 1))


@misconception(
    "sliding_window_mask",
    confuses="an exception of a given type with an assertion: a window below 1 raises "
    "AssertionError",
    hint="Which exception does the exercise ask for?",
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
    confuses="the last positions with the first ones: each new position sees only as many keys as "
    "without a past",
    hint="One new token after five: which keys does it see in your code?",
)
def mask_at_the_top_left(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    mask = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).triu(1)
    return attend(queries, keys, values, mask), (keys, values)


@misconception(
    "cached_attention",
    confuses="any number of new tokens with a single one: if there is a past, nothing is masked",
    hint="With three new tokens after a past, may the first of them look at the third?",
)
def no_mask_with_a_past(queries, keys, values, past=None):
    num_new = 0 if past is not None else queries.shape[2]
    keys, values = after(past, keys, values)
    mask = future(num_new, num_new) if past is None else torch.tensor(False)
    return attend(queries, keys, values, mask), (keys, values)


@misconception(
    "cached_attention",
    confuses="causal attention with unmasked attention: nothing is masked, with or without a past",
    hint="May the first token of a prefill look at the second?",
)
def never_masked(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    return attend(queries, keys, values, torch.tensor(False)), (keys, values)


@misconception(
    "cached_attention",
    confuses="the whole present with its new positions: the present does not contain the past",
    hint="The next call receives your present as its past. Which positions will it see?",
)
def present_without_the_past(queries, keys, values, past=None):
    new = (keys, values)
    keys, values = after(past, keys, values)
    return attend(queries, keys, values, future(queries.shape[2], keys.shape[2])), new


@misconception(
    "cached_attention",
    confuses="keys with values: the values come before the keys in the present",
    hint="A past is the pair (keys, values). Which of the two comes first in your present?",
)
def present_values_first(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (values, keys)


@misconception(
    "cached_attention",
    confuses="the order of the sequence with the order of arrival: the past is placed after the "
    "new positions in the present",
    hint="The next call receives your present as its past. Which position comes first in it?",
)
def past_last_in_the_present(queries, keys, values, past=None):
    new, (keys, values) = (keys, values), after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (keys, values) if past is None else after(new, *past)


@misconception(
    "cached_attention",
    confuses="returning a past with using it: the past is passed on, but the new tokens see only "
    "each other",
    hint="Change the past. Does the context change?",
)
def past_only_passed_on(queries, keys, values, past=None):
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, after(past, keys, values)


@misconception(
    "cached_attention",
    confuses="a cache for generation with one that is also used in training: the present is "
    "detached",
    hint="Code for inference detaches its cache. Must gradients flow into the keys here?",
)
def present_detached(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (keys.detach(), values.detach())


@misconception(
    "cached_attention",
    confuses="a past that needs a gradient with constants: no gradient flows into the past",
    hint="The past may come from a layer that is being trained, too. Does your code detach it?",
)
def past_detached(queries, keys, values, past=None):
    if past is not None:
        past = (past[0].detach(), past[1].detach())
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (keys, values)


@misconception(
    "cached_attention",
    confuses="a pair with a single tensor: keys and values are stacked, as in minGPT",
    hint="Keys and values may have different sizes. Does the exercise ask for a pair or for a "
    "single tensor?",
)
def present_stacked(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    size = max(keys.shape[-1], values.shape[-1])
    padded = [nn.functional.pad(one, (0, size - one.shape[-1])) for one in (keys, values)]
    return context, torch.stack(padded)


@misconception(
    "cached_attention",
    confuses="the past with the new positions: the past is placed after the new positions",
    hint="Which come first in the sequence: the past positions or the new ones? Which position is "
    "in the last column?",
)
def past_last(queries, keys, values, past=None):
    if past is not None:
        keys = torch.cat([keys, past[0]], dim=2)
        values = torch.cat([values, past[1]], dim=2)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, (keys, values)


@misconception(
    "cached_attention",
    confuses="the dimension of the positions with that of the heads: past and new positions are "
    "joined along the heads",
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
    confuses="plain scores with scaled ones: the scores are not scaled",
    hint="What are the scores divided by before softmax?",
)
def scores_not_divided(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries * math.sqrt(queries.shape[-1]), keys, values, mask), (keys, values)


@misconception(
    "cached_attention",
    confuses="the size of a query with the size of a value: the scores are divided by the square "
    "root of the size of a value",
    hint="How many products are added for one score: as many as a query has entries, or as many as "
    "a value has?",
)
def root_of_the_value_size(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    factor = math.sqrt(queries.shape[-1] / values.shape[-1])
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries * factor, keys, values, mask), (keys, values)


@misconception(
    "cached_attention",
    confuses="the context with the whole result: the present is missing",
    hint="How does the next call get the keys of this one?",
)
def context_alone(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    return attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))


@misconception(
    "cached_attention",
    confuses="two results with three: three separate results are returned instead of a context and "
    "a pair",
    hint="The second result is a pair, which the next call uses as its past. How many results do "
    "you return?",
)
def three_results(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    context = attend(queries, keys, values, future(queries.shape[2], keys.shape[2]))
    return context, keys, values


@misconception(
    "cached_attention",
    confuses="masking scores before softmax with zeroing weights after it: the weights of later "
    "tokens are set to zero after softmax",
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
    hint="That is right in a prefill. What is the position of the token after a past of five?",
)
class PositionsStartAtZero(Cached):
    def angles(self, start, num_new, x):
        return super().angles(0, num_new, x)


@misconception(
    "CachedAttention",
    confuses="rotated keys with keys that still have to be rotated: the past is rotated again in "
    "every step",
    hint="The present contains rotated keys. Which keys does your code rotate when there is a "
    "past?",
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
    hint="When does a score depend only on the distance: if the query is rotated, or if both query "
    "and key are rotated?",
)
class OnlyQueriesRotated(Cached):
    def turned(self, queries, keys, values, angles):
        return self.turn(queries, angles), keys, values


@misconception(
    "CachedAttention",
    confuses="queries and keys with keys alone: only the keys are rotated",
    hint="When does a score depend only on the distance: if the query is rotated, or if both query "
    "and key are rotated?",
)
class OnlyKeysRotated(Cached):
    def turned(self, queries, keys, values, angles):
        return queries, self.turn(keys, angles), values


@misconception(
    "CachedAttention",
    confuses="queries and keys with all three projections: the values are rotated, too",
    hint="Values are mixed, not compared. Do they need a position?",
)
class ValuesRotatedToo(Cached):
    def turned(self, queries, keys, values, angles):
        return tuple(self.turn(one, angles) for one in (queries, keys, values))


@misconception(
    "CachedAttention",
    confuses="rotary attention with attention without positions: nothing is rotated",
    hint="Swap two tokens of the past. Does the output for a new token change?",
)
class NothingRotated(Cached):
    def turned(self, queries, keys, values, angles):
        return queries, keys, values


@misconception(
    "CachedAttention",
    confuses="positions from zero with positions from one: the keys in the present are rotated by "
    "one position too many",
    hint="The output depends only on distances, but the present does not. By which angle is the "
    "very first key rotated?",
)
class PositionsFromOne(Cached):
    def angles(self, start, num_new, x):
        return super().angles(start + 1, num_new, x)


@misconception(
    "CachedAttention",
    confuses="the last positions with the first ones: each new position sees only as many keys as "
    "without a past",
    hint="One new token after five: which keys does it see in your code?",
)
class MaskAtTheTopLeft(Cached):
    def mask(self, num_queries, num_keys, x):
        return torch.ones(num_queries, num_keys, dtype=torch.bool, device=x.device).triu(1)


@misconception(
    "CachedAttention",
    confuses="any number of new tokens with a single one: if there is a past, nothing is masked",
    hint="With three new tokens after a past, may the first of them look at the third?",
)
class NoMaskWithAPast(Cached):
    def mask(self, num_queries, num_keys, x):
        mask = super().mask(num_queries, num_keys, x)
        return mask if num_queries == num_keys else torch.zeros_like(mask)


@misconception(
    "CachedAttention",
    confuses="causal attention with unmasked attention: nothing is masked",
    hint="May the first token of a prefill look at the second?",
)
class NeverMasked(Cached):
    def mask(self, num_queries, num_keys, x):
        return torch.zeros_like(super().mask(num_queries, num_keys, x))


@misconception(
    "CachedAttention",
    confuses="the past in the argument with a cache in the module: two sequences are mixed",
    hint="Call it for two sequences in turn. Whose keys are in the module?",
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
    confuses="the size of a head with the size of the model: the scores are divided by the square "
    "root of the model size, not of the head size",
    hint="How many products are added for one score of one head?",
)
class RootOfTheModelSize(Cached):
    def size_under_the_root(self):
        return self.head_dim * self.num_heads


@misconception(
    "CachedAttention",
    confuses="the whole present with its new positions: the present does not contain the past",
    hint="The next call receives your present as its past. Which positions will it see?",
)
class PresentWithoutThePast(Cached):
    def present(self, keys, values, new):
        return new


@misconception(
    "CachedAttention",
    confuses="keys with values: the values come before the keys in the present",
    hint="A past is the pair (keys, values). Which of the two comes first in your present?",
)
class PresentValuesFirst(Cached):
    def present(self, keys, values, new):
        return values, keys


@misconception(
    "CachedAttention",
    confuses="a cache for generation with one that is also used in training: the present is "
    "detached",
    hint="Code for inference detaches its cache. Must gradients flow into the keys here?",
)
class PresentDetached(Cached):
    def present(self, keys, values, new):
        return keys.detach(), values.detach()


@misconception(
    "CachedAttention",
    confuses="the module's dtype with float32: the angles are computed in float32, and become "
    "inaccurate at late positions",
    hint="Convert the module to float64, and print the dtype of positions and angles.",
)
class AnglesInFloat32(Cached):
    def angles(self, start, num_new, x):
        places = torch.arange(start, start + num_new, dtype=torch.float32, device=x.device)
        return rotary_angles(places, self.head_dim).to(x.dtype)


@misconception(
    "CachedAttention",
    confuses="halves with neighbors: neighboring coordinates are paired, not coordinate i with i + "
    "d/2",
    hint="The function apply_rotary pairs coordinates from the two halves. Which coordinates does "
    "your code pair?",
)
class NeighboursPaired(Cached):
    def turn(self, x, angles):
        even, odd = x[..., 0::2], x[..., 1::2]
        cos, sin = angles.cos(), angles.sin()
        return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)


@misconception(
    "CachedAttention",
    confuses="the size of a head with the size of the model: queries and keys are rotated before "
    "they are split into heads",
    hint="Which vectors are compared: those of a head or those of the whole model? The angles have "
    "d/2 columns.",
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
    confuses="transposing and reshaping with reshaping alone: heads and tokens do not change "
    "places before the heads are merged",
    hint="The shape is right. In which order are heads and tokens before you reshape?",
)
class MergedWithoutTranspose(Cached):
    def merge(self, context):
        return context.reshape(context.shape[0], context.shape[2], -1)


@misconception(
    "CachedAttention",
    confuses="neighboring columns with every H-th column: heads are interleaved",
    hint="Head 0 consists of the first columns. Into which two sizes do you split the last "
    "dimension?",
)
class HeadsInterleaved(Cached):
    def split(self, x):
        return x.unflatten(-1, (self.head_dim, self.num_heads)).permute(0, 3, 1, 2)


@misconception(
    "CachedAttention",
    confuses="building a layer with using it: out_proj has no effect",
    hint="Change the weights of out_proj. Does the result change?",
)
class OutProjNeverCalled(Cached):
    def finish(self, merged):
        return merged


@misconception(
    "CachedAttention",
    confuses="all new tokens with the last one: the output has only one position",
    hint="If a call gets three new tokens, how many outputs should it return?",
)
class LastOutputOnly(Cached):
    def finish(self, merged):
        return self.out_proj(merged[:, -1:])


@misconception(
    "CachedAttention",
    confuses="rotated keys in the present with unrotated ones: the keys in the present are not "
    "rotated",
    hint="Compare your present with the docstring. Are its keys rotated?",
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
    confuses="the function's own mask with the caller's: the same tensor is returned for the same "
    "sizes, even if the caller has changed it",
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
    confuses="the function's own mask with the caller's: the same tensor is returned for the same "
    "sizes, even if the caller has changed it",
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
    confuses="a single query with a case that needs no check: with a single query, a window below "
    "1 is accepted",
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
    confuses="a past computed in an earlier call with a constant: no gradient flows into a past "
    "that was computed",
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
    confuses="the values of the past with its keys: past keys, instead of past values, are joined "
    "with the new values",
    hint="What is past[0], and what is past[1]? Which of them do you join with the new values?",
)
def past_keys_as_values(queries, keys, values, past=None):
    if past is not None:
        keys = torch.cat([past[0], keys], dim=2)
        values = torch.cat([past[0], values], dim=2)
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries, keys, values, mask.to(keys.device)), (keys, values)


@misconception(
    "CachedAttention",
    confuses="rotated keys with keys that still have to be rotated: all keys are rotated again "
    "after they have been joined",
    hint="How many times does your code rotate the first key of a past? It should be rotated only "
    "once.",
)
class AllKeysRotatedAgain(Cached):
    def join(self, past, keys, values):
        keys, values = after(past, keys, values)
        if past is not None:
            keys = self.turn(keys, self.angles(0, keys.shape[2], keys))
        return keys, values


@misconception(
    "CachedAttention",
    confuses="the past in the argument with a cache in the module: every call continues from the "
    "previous one",
    hint="Call it twice without a past. Why is the second present longer than the first?",
)
class EveryCallGoesOn(Cached):
    kept = None

    def forward(self, x, past=None):
        output, self.kept = super().forward(x, past if self.kept is None else self.kept)
        return output, self.kept


@misconception(
    "CachedAttention",
    confuses="rotated keys in the present with unrotated ones: the keys in the present are not "
    "rotated, and the keys of a past are used without being rotated",
    hint="Compare your present with the docstring. Are its keys rotated? The next call uses them "
    "as its past.",
)
class PresentNotRotatedPastAsItCame(Cached):
    def forward(self, x, past=None):
        plain, old = self.split(self.W_key(x)), 0 if past is None else past[0]
        output, (_, values) = super().forward(x, past)
        keys = plain if past is None else torch.cat([old, plain], dim=2)
        return output, (keys, values)


@misconception(
    "CachedAttention",
    confuses="the past in the argument with a cache in the module: the argument `past` has no "
    "effect",
    hint="Call it twice with the same `past`. Why is the second present longer than the first?",
)
class PastIgnoredForACacheInTheModule(Cached):
    kept = None

    def forward(self, x, past=None):
        output, self.kept = super().forward(x, self.kept)
        return output, self.kept


@misconception(
    "CachedAttention",
    confuses="the present with the past: the past is returned unchanged",
    hint="The next call receives your present as its past. Which positions will it see?",
)
class PastReturned(Cached):
    def forward(self, x, past=None):
        output, present = super().forward(x, past)
        return output, present if past is None else past


@misconception(
    "cached_attention",
    confuses="the present with the past: the past is returned unchanged",
    hint="The next call receives your present as its past. Which positions will it see?",
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
    confuses="the first position with a negative bound: a slice with a negative bound counts from "
    "the end",
    hint="Print where the window of the first query begins. Which positions does that query see?",
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
    "sees only the first keys",
    hint="With a window of 2, which keys does the query at position 5 see, and which should it "
    "see?",
)
def the_first_keys_for_all(num_queries, num_keys, window):
    needs_a_window(window)
    mask = future(num_queries, num_keys)
    return mask | (torch.arange(num_keys) >= window)


@misconception(
    "cached_attention",
    confuses="the number of past positions with the number of heads: the mask is shifted by the "
    "number of heads",
    hint="Which dimension of past[0] counts the positions? Try two heads and three past positions.",
)
def mask_moved_by_the_heads(queries, keys, values, past=None):
    moved = 0 if past is None else past[0].shape[1]
    keys, values = after(past, keys, values)
    mask = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).triu(moved + 1)
    return attend(queries, keys, values, mask), (keys, values)


@misconception(
    "CachedAttention",
    confuses="neighboring columns with every H-th column: each head gets every H-th column instead "
    "of neighboring ones, in splitting and in merging",
    hint="Your splitting and merging undo each other, but does each head contain the right "
    "columns?",
)
class HeadsInterleavedBothWays(Cached):
    def split(self, x):
        return x.unflatten(-1, (self.head_dim, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, context):
        return context.permute(0, 2, 3, 1).flatten(2)


@misconception(
    "CachedAttention",
    confuses="separate heads with merged ones: the heads in the present are merged",
    hint="The keys in the present should have shape (B, H, P + T, d). What is the shape of yours?",
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
    confuses="a pair with a single tensor: the present is a single tensor in which keys and values "
    "are joined",
    hint="The present should be a pair. What is the type of yours?",
)
def present_joined(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries, keys, values, mask), torch.cat([keys, values], dim=-1)


@misconception(
    "cached_attention",
    confuses="the original keys with scaled ones: the keys in the present are divided by the "
    "square root of d",
    hint="Call it without a past. Are the keys in the present equal to those that you passed?",
)
def scaled_keys_in_the_present(queries, keys, values, past=None):
    root = math.sqrt(queries.shape[-1])
    keys, values = after(past, keys / root, values)
    mask = future(queries.shape[2], keys.shape[2])
    return attend(queries, keys * root, values, mask), (keys, values)


@misconception(
    "CachedAttention",
    confuses="heads before tokens with tokens before heads: the tokens come before the heads in "
    "the present",
    hint="The keys in the present should have shape (B, H, P + T, d). What is the shape of yours?",
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
    confuses="keys with queries: W_query computes the keys as well as the queries",
    hint="Change W_key. Does the result change?",
)
class KeysFromWQuery(Cached):
    def turned(self, queries, keys, values, angles):
        queries = self.turn(queries, angles)
        return queries, queries, values


@misconception(
    "CachedAttention",
    confuses="values with keys: W_key computes the values as well as the keys",
    hint="Change W_value. Does the result change?",
)
class ValuesFromWKey(Cached):
    def turned(self, queries, keys, values, angles):
        return self.turn(queries, angles), self.turn(keys, angles), keys


@misconception(
    "cached_attention",
    confuses="the future with the present: a position cannot attend to itself, and without a past, "
    "all weights of the first position are zero",
    hint="Call it with one token and no past. What is left for this token to attend to?",
)
def first_position_gets_zeros(queries, keys, values, past=None):
    keys, values = after(past, keys, values)
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    num_queries, num_keys = scores.shape[-2:]
    future = torch.ones_like(scores, dtype=torch.bool).triu(num_keys - num_queries)
    weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).nan_to_num()
    return weights @ values, (keys, values)
