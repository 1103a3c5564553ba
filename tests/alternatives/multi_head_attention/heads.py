"""Right but unusual ways to split, merge and attend in heads."""

import math

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


def _head_size(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} is not a multiple of {num_heads}")
    return x.shape[-1] // num_heads


@alternative("split_heads")
def permuted_view(x, num_heads):
    batch, tokens, _ = x.shape
    return x.view(batch, tokens, num_heads, _head_size(x, num_heads)).permute(0, 2, 1, 3)


@alternative("split_heads")
def stacked_pieces(x, num_heads):
    return torch.stack(x.split(_head_size(x, num_heads), dim=-1), dim=1)


@alternative("split_heads")
def stacked_chunks_copied(x, num_heads):
    _head_size(x, num_heads)
    return torch.stack(torch.chunk(x, num_heads, dim=2), dim=1).contiguous()


@alternative("split_heads")
def swapped_first(x, num_heads):
    """Divides the columns before moving them behind the tokens.

    This resembles a known mistake, but is right.
    """
    batch, tokens, _ = x.shape
    divided = x.transpose(1, 2).reshape(batch, num_heads, _head_size(x, num_heads), tokens)
    return divided.transpose(2, 3)


@alternative("split_heads")
def unflattened_and_moved(x, num_heads):
    return x.unflatten(-1, (num_heads, _head_size(x, num_heads))).movedim(2, 1)


@alternative("split_heads")
def sliding_pieces(x, num_heads):
    head_dim = _head_size(x, num_heads)
    return x.unfold(2, head_dim, head_dim).transpose(1, 2)


@alternative("split_heads")
def filled_head_by_head(x, num_heads):
    batch, tokens, _ = x.shape
    head_dim = _head_size(x, num_heads)
    out = x.new_empty(batch, num_heads, tokens, head_dim)
    for head in range(num_heads):
        out[:, head] = x[:, :, head * head_dim : (head + 1) * head_dim]
    return out


@alternative("split_heads")
def looked_up_by_index(x, num_heads):
    columns = torch.arange(x.shape[-1]).view(num_heads, _head_size(x, num_heads))
    return x[:, :, columns].swapaxes(1, 2)


@alternative("split_heads")
def rearranged(x, num_heads):
    from einops import rearrange

    _head_size(x, num_heads)
    return rearrange(x, "b t (h d) -> b h t d", h=num_heads)


class _Indivisible(ValueError):
    """A subclass of ValueError, which counts as a ValueError."""


@alternative("split_heads")
def error_of_its_own(x, num_heads):
    batch, tokens, size = x.size()
    head_dim, left = divmod(size, num_heads)
    if left:
        raise _Indivisible(f"{left} columns are left over")
    return x.contiguous().view(batch, tokens, num_heads, head_dim).transpose(2, 1)


@alternative("merge_heads")
def permuted_and_flattened(x):
    return x.permute(0, 2, 1, 3).flatten(2)


@alternative("merge_heads")
def viewed_when_contiguous(x):
    batch, _, tokens, _ = x.shape
    return x.transpose(1, 2).contiguous().view(batch, tokens, -1)


@alternative("merge_heads")
def heads_joined(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


@alternative("merge_heads")
def heads_joined_by_index(x):
    return torch.concat([x[:, head, :, :] for head in range(x.size(1))], dim=2)


@alternative("merge_heads")
def filled_slice_by_slice(x):
    batch, heads, tokens, head_dim = x.shape
    out = torch.empty(batch, tokens, heads * head_dim, dtype=x.dtype, device=x.device)
    for head in range(heads):
        out[..., head * head_dim : (head + 1) * head_dim] = x[:, head]
    return out


@alternative("merge_heads")
def moved_and_reshaped(x):
    return torch.movedim(x, 1, -2).reshape(x.shape[0], x.shape[2], -1)


@alternative("merge_heads")
def rows_of_tokens(x):
    tokens = [x[:, :, t].reshape(x.shape[0], -1) for t in range(x.shape[2])]
    return torch.stack(tokens, dim=1)


@alternative("merge_heads")
def rearranged_back(x):
    from einops import rearrange

    return rearrange(x, "b h t d -> b t (h d)")


@alternative("merge_heads")
def summed_into_place(x):
    """Multiplies every head by its own rows of an identity matrix, and adds the products."""
    batch, heads, tokens, head_dim = x.shape
    places = torch.eye(heads * head_dim, dtype=x.dtype).view(heads, head_dim, -1)
    return torch.einsum("bhtd,hde->bte", x, places)


@alternative("causal_head_attention")
def prefix_by_prefix(queries, keys, values):
    contexts = []
    for t in range(queries.shape[2]):
        scores = (queries[:, :, t : t + 1] * keys[:, :, : t + 1]).sum(-1) * keys.size(-1) ** -0.5
        weights = F.softmax(scores, dim=-1).unsqueeze(-1)
        contexts.append((weights * values[:, :, : t + 1]).sum(2))
    return torch.stack(contexts, dim=2)


@alternative("causal_head_attention")
def sum_of_index_notation(queries, keys, values):
    scores = torch.einsum("bhtd,bhsd->bhts", queries, keys)
    tokens = scores.size(-1)
    keep = torch.tril(torch.ones(tokens, tokens)).view(1, 1, tokens, tokens)
    scores = scores.masked_fill(keep == 0, -1e9) / scores.new_tensor(keys.size(-1)).sqrt()
    return torch.einsum("bhts,bhsd->bhtd", scores.softmax(-1), values)


@alternative("causal_head_attention")
def added_mask_of_minus_ten_thousand(queries, keys, values):
    scores = torch.matmul(queries, keys.mT) / math.sqrt(queries.size(-1))
    tokens = scores.size(-1)
    scores = scores + (1.0 - torch.ones(tokens, tokens).tril()) * -1e4
    return torch.nn.Softmax(dim=3)(scores) @ values


@alternative("causal_head_attention")
def added_logarithm_of_mask(queries, keys, values):
    tokens = queries.shape[-2]
    keep = torch.ones(tokens, tokens, dtype=queries.dtype).tril()
    scores = queries @ keys.transpose(2, 3) / queries.shape[-1] ** 0.5 + keep.log()
    return torch.log_softmax(scores, dim=-1).exp() @ values


@alternative("causal_head_attention")
def exponentials_divided_at_the_end(queries, keys, values):
    powers = torch.exp(queries @ keys.transpose(-2, -1) * queries.shape[-1] ** -0.5).tril()
    return (powers @ values) / powers.sum(dim=-1, keepdim=True)


@alternative("causal_head_attention")
def weights_renormalized(queries, keys, values):
    weights = torch.softmax(queries @ keys.mT / math.sqrt(queries.shape[-1]), dim=-1).tril()
    return weights / weights.sum(dim=-1, keepdim=True) @ values


@alternative("causal_head_attention")
def mapped_over_batch_and_heads(queries, keys, values):
    def one(q, k, v):
        tokens = torch.arange(q.shape[0])
        scores = q @ k.T / math.sqrt(q.shape[1])
        return torch.where(tokens[:, None] >= tokens, scores, -torch.inf).softmax(-1) @ v

    return torch.vmap(torch.vmap(one))(queries, keys, values)


@alternative("causal_head_attention")
def batch_and_heads_folded(queries, keys, values):
    batch, heads, tokens, head_dim = queries.shape
    q, k, v = (x.reshape(batch * heads, tokens, head_dim) for x in (queries, keys, values))
    mask = q.new_zeros(tokens, tokens).masked_fill_(q.new_ones(tokens, tokens).triu(1) > 0, -1e9)
    scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=1 / math.sqrt(head_dim))
    return torch.bmm(scores.softmax(-1), v).view(batch, heads, tokens, head_dim)


@alternative("causal_head_attention")
def loop_over_everything(queries, keys, values):
    root = math.sqrt(queries.shape[-1])
    batches = []
    for b in range(queries.shape[0]):
        heads = []
        for h in range(queries.shape[1]):
            rows = []
            for t in range(queries.shape[2]):
                scores = torch.stack(
                    [torch.dot(queries[b, h, t], keys[b, h, s]) / root for s in range(t + 1)]
                )
                rows.append(torch.softmax(scores, dim=0) @ values[b, h, : t + 1])
            heads.append(torch.stack(rows))
        batches.append(torch.stack(heads))
    return torch.stack(batches)


@alternative("causal_head_attention")
def float64_inside(queries, keys, values):
    q, k, v = queries.double(), keys.double(), values.double()
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores[..., torch.ones(scores.shape[-2:]).triu(1).bool()] = -torch.inf
    return (scores.softmax(-1) @ v).to(values.dtype)


@alternative("causal_head_attention")
def fourth_roots(queries, keys, values):
    """Divides both queries and keys by the fourth root of the head size."""
    root = queries.shape[-1] ** 0.25
    scores = (queries / root) @ (keys / root).transpose(-2, -1)
    lowest = torch.finfo(scores.dtype).min
    future = ~torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return F.softmax(scores.masked_fill_(future, lowest), -1).matmul(values)


@alternative("causal_head_attention")
def running_softmax(queries, keys, values):
    """Processes one key after the other, as a fused kernel does."""
    best = queries.new_full((*queries.shape[:-1], 1), -torch.inf)
    total, context = torch.zeros_like(best), torch.zeros_like(values)
    tokens = torch.arange(queries.shape[-2]).unsqueeze(-1)
    for s in range(keys.shape[-2]):
        score = (queries * keys[:, :, s : s + 1]).sum(-1, keepdim=True) / keys.shape[-1] ** 0.5
        score = torch.where(tokens >= s, score, torch.finfo(score.dtype).min)
        new = torch.maximum(best, score)
        old, one = (best - new).exp(), (score - new).exp() * (tokens >= s)
        total, context = total * old + one, context * old + one * values[:, :, s : s + 1]
        best = new
    return context / total


@alternative("causal_head_attention")
def keys_score_first(queries, keys, values):
    scores = (keys @ queries.transpose(-2, -1)).transpose(-2, -1)
    for t in range(scores.shape[-1]):
        scores[:, :, t, t + 1 :] = -torch.inf
    weights = (scores / torch.sqrt(torch.tensor(keys.shape[-1]))).softmax(dim=3)
    return (weights.unsqueeze(-1) * values.unsqueeze(-3)).sum(dim=-2)


@alternative("split_heads")
def heads_sliced_and_stacked(x, num_heads):
    size, rest = divmod(x.shape[-1], num_heads)
    if rest:
        raise ValueError("heads of one size only")
    return torch.stack([x[..., h * size : (h + 1) * size] for h in range(num_heads)], dim=1)


@alternative("merge_heads")
def heads_written_side_by_side(x):
    batch, num_heads, num_tokens, size = x.shape
    out = x.new_zeros(batch, num_tokens, num_heads * size)
    for h, head in enumerate(x.unbind(1)):
        out[..., h * size : (h + 1) * size] = head
    return out


@alternative("causal_head_attention")
def token_by_token(queries, keys, values):
    rows = []
    for t in range(queries.shape[2]):
        scores = torch.einsum("bhd,bhsd->bhs", queries[:, :, t], keys[:, :, : t + 1])
        weights = torch.softmax(scores / math.sqrt(queries.shape[-1]), -1)
        rows.append(torch.einsum("bhs,bhsd->bhd", weights, values[:, :, : t + 1]))
    return torch.stack(rows, 2)


@alternative("causal_head_attention")
def checkpointed_heads(queries, keys, values):
    def attend(q, k, v):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return (
            scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(-1) @ v
        )

    heads = zip(queries.unbind(1), keys.unbind(1), values.unbind(1), strict=True)
    return torch.stack([checkpoint(attend, *head, use_reentrant=False) for head in heads], 1)


class _Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, num_heads):
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2).clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.transpose(1, 2).flatten(-2), None


@alternative("split_heads")
def backward_of_its_own(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("columns that do not divide")
    return _Split.apply(x, num_heads)


@alternative("merge_heads")
def mapped_over_samples(x):
    return torch.vmap(lambda heads: torch.hstack(heads.unbind(0)))(x)


@alternative("split_heads")
def numbers_put_in_their_places(x, num_heads):
    batch, count, size = x.shape
    if size % num_heads:
        raise ValueError(f"{size} columns for {num_heads} heads")
    head_dim = size // num_heads
    result = torch.zeros(batch, num_heads, count, head_dim, dtype=x.dtype)
    for b in range(batch):
        for i in range(count):
            for k in range(size):
                result[b, k // head_dim, i, k % head_dim] = x[b, i, k]
    return result
