"""Right but unusual ways to mask the future."""

import functools
import math

import einops
import torch
import torch.nn.functional as F

from autograder.suite import alternative

# causal_mask


@alternative("causal_mask")
def compared_positions(num_tokens):
    position = torch.arange(num_tokens)
    return position[None, :] > position[:, None]


@alternative("causal_mask")
def not_the_lower_triangle(num_tokens):
    return ~torch.tril(torch.ones(num_tokens, num_tokens, dtype=torch.bool))


@alternative("causal_mask")
def lower_triangle_is_zero(num_tokens):
    return torch.tril(torch.ones(num_tokens, num_tokens)) == 0


@alternative("causal_mask")
def one_minus_lower_triangle(num_tokens):
    return (1 - torch.tril(torch.ones(num_tokens, num_tokens))).bool()


@alternative("causal_mask")
def row_by_row(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    for t in range(num_tokens):
        mask[t, t + 1 :] = True
    return mask


@alternative("causal_mask")
def nested_lists(num_tokens):
    return torch.tensor([[s > t for s in range(num_tokens)] for t in range(num_tokens)])


@alternative("causal_mask")
def indices_of_the_triangle(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    rows, columns = torch.triu_indices(num_tokens, num_tokens, offset=1)
    mask[rows, columns] = True
    return mask


@alternative("causal_mask")
def turned_view(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril(diagonal=-1).T


@alternative("causal_mask")
def counted_up(num_tokens):
    return torch.eye(num_tokens).cumsum(dim=1).cumsum(dim=1) > 1


@alternative("causal_mask")
def where_infinity_stands(num_tokens):
    return torch.full((num_tokens, num_tokens), float("-inf")).triu(1).isinf()


# mask_and_renormalize


@alternative("mask_and_renormalize")
def multiplied_by_a_triangle(weights):
    masked = weights * torch.ones_like(weights).tril()
    return masked / masked.sum(-1, keepdim=True)


@alternative("mask_and_renormalize")
def normalize_of_torch(weights):
    return F.normalize(weights.tril(), p=1, dim=-1)


@alternative("mask_and_renormalize")
def rows_of_prefixes(weights):
    rows = []
    for t in range(weights.shape[-1]):
        prefix = weights[..., t, : t + 1]
        prefix = prefix / prefix.sum(dim=-1, keepdim=True)
        rows.append(F.pad(prefix, (0, weights.shape[-1] - t - 1)))
    return torch.stack(rows, dim=-2)


@alternative("mask_and_renormalize")
def where_and_matmul(weights):
    keep = torch.ones_like(weights, dtype=torch.bool).tril()
    masked = torch.where(keep, weights, 0.0)
    return masked / (masked @ masked.new_ones(masked.shape[-1], 1))


@alternative("mask_and_renormalize")
def einsum_of_sums(weights):
    triangle = torch.tril(torch.ones(weights.shape[-1], weights.shape[-1], dtype=weights.dtype))
    sums = torch.einsum("...ts,ts->...t", weights, triangle)
    return torch.einsum("...ts,ts,...t->...ts", weights, triangle, 1 / sums)


@alternative("mask_and_renormalize")
def in_place_on_a_copy(weights):
    masked = weights.clone()
    size = masked.shape[-1]
    masked[..., torch.ones(size, size, dtype=torch.bool).triu(1)] = 0
    masked /= masked.sum(dim=-1, keepdim=True)
    return masked


@alternative("mask_and_renormalize")
def float64_inside(weights):
    masked = weights.double().tril()
    return (masked / masked.sum(dim=-1, keepdim=True)).to(weights.dtype)


@alternative("mask_and_renormalize")
def whole_row_minus_future(weights):
    future = weights.triu(1)
    left = weights.sum(dim=-1) - future.sum(dim=-1)
    return (weights - future) / left.unsqueeze(-1)


@alternative("mask_and_renormalize")
def guarded_sum(weights):
    masked = weights.tril()
    tiny = torch.finfo(weights.dtype).tiny  # far below any sum that is tested
    return masked / (masked.sum(dim=-1, keepdim=True) + tiny)


@alternative("mask_and_renormalize")
def normalized_before_and_after(weights):
    weights = weights / weights.sum(dim=-1, keepdim=True)
    masked = weights.tril()
    return masked / masked.sum(dim=-1, keepdim=True).clamp(min=1e-12)


@alternative("mask_and_renormalize")
def sums_by_running_total(weights):
    sums = weights.cumsum(dim=-1).diagonal(dim1=-2, dim2=-1)
    return weights.tril() / sums[..., None]


@alternative("mask_and_renormalize")
def mapped_over_matrices(weights):
    def one(matrix):
        masked = matrix.tril()
        return (masked.T / masked.sum(dim=1)).T

    flat = weights.reshape(-1, *weights.shape[-2:])
    return torch.vmap(one)(flat).reshape(weights.shape)


# mask_scores


def _future(scores):
    return torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)


@alternative("mask_scores")
def minus_a_billion(scores):
    return scores.masked_fill(_future(scores), -1e9)


@alternative("mask_scores")
def minus_a_hundred(scores):
    """Is right, because scores are below 50 in magnitude."""
    return scores.masked_fill(_future(scores), -100.0)


@alternative("mask_scores")
def lowest_of_the_dtype(scores):
    return scores.masked_fill(_future(scores), torch.finfo(scores.dtype).min)


@alternative("mask_scores")
def added_infinity(scores):
    size = scores.shape[-1]
    return scores + torch.full((size, size), -torch.inf, dtype=scores.dtype).triu(diagonal=1)


@alternative("mask_scores")
def subtracted_billion(scores):
    return scores - 1e9 * _future(scores)


@alternative("mask_scores")
def added_ten_thousand(scores):
    return scores + _future(scores).to(scores.dtype) * -1e4


@alternative("mask_scores")
def added_lowest(scores):
    return scores + _future(scores).to(scores.dtype) * torch.finfo(scores.dtype).min


@alternative("mask_scores")
def where_with_infinity(scores):
    return torch.where(_future(scores), -torch.inf, scores)


@alternative("mask_scores")
def logarithm_of_what_is_kept(scores):
    return scores + torch.ones_like(scores).tril().log()


@alternative("mask_scores")
def in_place_on_own_copy(scores):
    masked = scores.clone()
    for t in range(scores.shape[-2]):
        masked[..., t, t + 1 :] = -float("inf")
    return masked


@alternative("mask_scores")
def two_triangles(scores):
    return scores.tril() + torch.full_like(scores, -torch.inf).triu(diagonal=1)


@alternative("mask_scores")
def half_precision_mask(scores):
    size = scores.shape[-1]
    mask = torch.triu(torch.full((size, size), -torch.inf, dtype=torch.float16), diagonal=1)
    return scores + mask


@alternative("mask_scores")
def rows_put_together(scores):
    size = scores.shape[-1]
    rows = [
        F.pad(scores[..., t, : t + 1], (0, size - t - 1), value=-torch.inf) for t in range(size)
    ]
    return torch.stack(rows, dim=-2)


@alternative("mask_scores")
def mapped_over_rows(scores):
    def one(row, t):
        return torch.where(torch.arange(row.shape[0]) > t, -torch.inf, row)

    flat = scores.reshape(-1, *scores.shape[-2:])
    positions = torch.arange(scores.shape[-1])
    masked = torch.vmap(torch.vmap(one), in_dims=(0, None))(flat, positions)
    return masked.reshape(scores.shape)


# causal_attention_weights


@alternative("causal_attention_weights")
def fused_attention_to_unit_values(queries, keys):
    size = keys.shape[-2]
    values = torch.eye(size, dtype=keys.dtype).expand(*keys.shape[:-1], size)
    return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)


@alternative("causal_attention_weights")
def prefix_loop(queries, keys):
    size = keys.shape[-2]
    rows = []
    for t in range(size):
        scores = (queries[..., t : t + 1, :] * keys[..., : t + 1, :]).sum(-1)
        weights = torch.softmax(scores / math.sqrt(keys.shape[-1]), dim=-1)
        rows.append(F.pad(weights, (0, size - t - 1)))
    return torch.stack(rows, dim=-2)


@alternative("causal_attention_weights")
def einsum_and_added_mask(queries, keys):
    scores = torch.einsum("...td,...sd->...ts", queries, keys) / math.sqrt(queries.size(-1))
    return F.softmax(scores + torch.full_like(scores, -torch.inf).triu(1), dim=-1)


@alternative("causal_attention_weights")
def both_scaled_by_the_fourth_root(queries, keys):
    root = keys.shape[-1] ** -0.25
    scores = (queries * root) @ (keys * root).mT
    return scores.masked_fill(_future(scores), -1e9).softmax(-1)


@alternative("causal_attention_weights")
def exponentials_of_the_visible(queries, keys):
    scores = queries @ keys.transpose(-1, -2) / keys.shape[-1] ** 0.5
    visible = torch.exp(scores).tril()
    return visible / visible.sum(dim=-1, keepdim=True)


@alternative("causal_attention_weights")
def renormalized_weights(queries, keys):
    scores = queries @ keys.transpose(-1, -2) / keys.shape[-1] ** 0.5
    visible = torch.softmax(scores, dim=-1).tril()
    return visible / visible.sum(dim=-1, keepdim=True)


@alternative("causal_attention_weights")
def turned_product(queries, keys):
    scores = (keys @ queries.mT).mT / keys.shape[-1] ** 0.5
    return torch.softmax(torch.where(_future(scores), -torch.inf, scores), dim=-1)


@alternative("causal_attention_weights")
def softmax_down_the_columns(queries, keys):
    turned = keys @ queries.transpose(-2, -1) / keys.shape[-1] ** 0.5
    past = torch.ones_like(turned, dtype=torch.bool).tril(-1)
    return turned.masked_fill(past, -torch.inf).softmax(dim=-2).transpose(-2, -1)


@alternative("causal_attention_weights")
def exponential_of_log_softmax(queries, keys):
    scores = queries @ keys.transpose(-2, -1)
    scores = scores.masked_fill(_future(scores), torch.finfo(scores.dtype).min)
    return torch.log_softmax(scores / math.sqrt(keys.shape[-1]), dim=-1).exp()


@alternative("causal_attention_weights")
def float64_on_the_way(queries, keys):
    scores = queries.double() @ keys.double().transpose(-2, -1)
    scores.masked_fill_(_future(scores), -torch.inf)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).to(queries.dtype)


@alternative("causal_attention_weights")
def flattened_batches(queries, keys):
    *leading, size, width = queries.shape
    scores = torch.bmm(
        queries.reshape(-1, size, width), keys.reshape(-1, size, width).transpose(1, 2)
    )
    mask = torch.ones(size, size, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(mask, -1e4) / torch.sqrt(torch.tensor(width))
    return torch.softmax(scores, dim=2).reshape(*leading, size, size)


@alternative("causal_attention_weights")
def scale_is_a_float32_tensor(queries, keys):
    scale = torch.sqrt(torch.FloatTensor([keys.shape[-1]]))
    scores = torch.matmul(queries, keys.transpose(-2, -1)) / scale
    return torch.softmax(scores + torch.ones_like(scores).tril().log(), dim=-1)


@alternative("causal_attention_weights")
def mapped_over_sequences(queries, keys):
    def one(q, k):
        scores = q @ k.T / k.shape[-1] ** 0.5
        future = torch.ones(q.shape[0], q.shape[0], dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(future, -torch.inf), dim=1)

    for _ in queries.shape[:-2]:
        one = torch.vmap(one)
    return one(queries, keys)


@alternative("causal_attention_weights")
def named_dimensions(queries, keys):
    scores = einops.einsum(queries, keys, "... t d, ... s d -> ... t s")
    scores = scores.masked_fill(_future(scores), -torch.inf) * keys.shape[-1] ** -0.5
    return torch.softmax(scores - scores.amax(-1, keepdim=True), dim=-1)


@alternative("causal_attention_weights")
def dot_by_dot(queries, keys):
    *leading, size, width = queries.shape
    matrices = []
    for q, k in zip(queries.reshape(-1, size, width), keys.reshape(-1, size, width), strict=True):
        matrix = torch.zeros(size, size, dtype=q.dtype)
        for t in range(size):
            scores = torch.stack([torch.dot(q[t], k[s]) for s in range(t + 1)])
            matrix[t, : t + 1] = torch.softmax(scores / width**0.5, dim=0)
        matrices.append(matrix)
    return torch.stack(matrices).reshape(*leading, size, size)


@functools.cache
def _rows_of_future(num_tokens):
    return tuple(tuple(s > t for s in range(num_tokens)) for t in range(num_tokens))


@alternative("causal_mask")
def rows_that_are_remembered(num_tokens):
    return torch.tensor(_rows_of_future(num_tokens))


@alternative("mask_scores")
def added_by_hand(scores):
    allowed = torch.tril(torch.ones_like(scores)).bool()
    return torch.where(allowed, scores, torch.full_like(scores, -torch.inf))


@alternative("mask_and_renormalize")
def running_sums(weights):
    visible = weights * torch.ones_like(weights).tril()
    return visible / visible.cumsum(-1)[..., -1:]


@alternative("causal_attention_weights")
def in_double_and_back(queries, keys):
    q, k = queries.double(), keys.double()
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(-1).to(queries.dtype)


@alternative("causal_mask")
def mapped_over_pairs(num_tokens):
    position = torch.arange(num_tokens)
    later = torch.vmap(torch.vmap(torch.gt, in_dims=(0, None)), in_dims=(None, 0))
    return later(position, position)


class _VisibleShares(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights):
        visible = weights.tril()
        sums = visible.sum(-1, keepdim=True)
        ctx.save_for_backward(visible / sums, sums)
        return visible / sums

    @staticmethod
    def backward(ctx, gradient):
        shares, sums = ctx.saved_tensors
        return ((gradient - (gradient * shares).sum(-1, keepdim=True)) / sums).tril()


@alternative("mask_and_renormalize")
def backward_of_its_own(weights):
    return _VisibleShares.apply(weights)


@alternative("mask_scores")
def in_place_under_no_grad_for_the_mask(scores):
    with torch.no_grad():
        bias = torch.zeros_like(scores)
        bias[..., *torch.triu_indices(*scores.shape[-2:], offset=1)] = -torch.inf
    return scores + bias


@alternative("mask_and_renormalize")
def divided_one_by_one(weights):
    if weights.dim() > 2:
        return torch.stack([divided_one_by_one(part) for part in weights])
    result = torch.zeros_like(weights)
    for i in range(weights.shape[0]):
        total = 0
        for j in range(i + 1):
            total = total + weights[i, j]
        for j in range(i + 1):
            result[i, j] = weights[i, j] / total
    return result


@alternative("mask_scores")
def forbidden_one_by_one(scores):
    result = scores.clone()
    for i in range(scores.shape[-2]):
        for j in range(scores.shape[-1]):
            if j > i:
                result[..., i, j] = -math.inf
    return result


@alternative("causal_mask")
def copy_of_a_kept_mask(num_tokens):
    return _kept_mask(num_tokens).clone()


@functools.lru_cache
def _kept_mask(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)
