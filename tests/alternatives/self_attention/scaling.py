"""Right but unusual ways to compute scaled dot-product attention."""

import math

import torch
from einops import einsum as named_einsum
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative

# scale_scores


@alternative("scale_scores")
def math_sqrt(scores, d_k):
    return scores / math.sqrt(d_k)


@alternative("scale_scores")
def negative_power(scores, d_k):
    return d_k**-0.5 * scores


@alternative("scale_scores")
def root_as_float32_scalar(scores, d_k):
    return scores / torch.sqrt(torch.tensor(d_k))


@alternative("scale_scores")
def root_as_float32_vector(scores, d_k):
    return scores / torch.sqrt(torch.FloatTensor([d_k]))


@alternative("scale_scores")
def root_in_the_dtype_of_the_scores(scores, d_k):
    return scores.div(scores.new_tensor(d_k).sqrt())


@alternative("scale_scores")
def reciprocal_root(scores, d_k):
    return scores * torch.rsqrt(torch.tensor(d_k, dtype=scores.dtype))


@alternative("scale_scores")
def exponential_of_logarithm(scores, d_k):
    return scores * math.exp(-0.5 * math.log(d_k))


@alternative("scale_scores")
def fourth_root_twice(scores, d_k):
    return scores / d_k**0.25 / d_k**0.25


@alternative("scale_scores")
def in_place_on_a_copy(scores, d_k):
    scaled = scores.clone()
    scaled /= math.hypot(*[1.0] * d_k)
    return scaled


# attention_weights


@alternative("attention_weights")
def einsum_scores(queries, keys):
    scores = torch.einsum("...td,...sd->...ts", queries, keys)
    return scores.div(math.sqrt(keys.size(-1))).softmax(-1)


@alternative("attention_weights")
def named_axes(queries, keys):
    scores = named_einsum(queries, keys, "... t d, ... s d -> ... t s")
    return nn.Softmax(dim=-1)(scores * keys.shape[-1] ** -0.5)


@alternative("attention_weights")
def queries_scaled_first(queries, keys):
    return torch.softmax((queries / queries.size(-1) ** 0.5).matmul(keys.mT), -1)


@alternative("attention_weights")
def both_by_the_fourth_root(queries, keys):
    scale = queries.shape[-1] ** -0.25
    return torch.softmax((queries * scale) @ (keys * scale).transpose(-1, -2), dim=-1)


@alternative("attention_weights")
def softmax_by_hand(queries, keys):
    scores = queries @ keys.movedim(-1, -2) / math.sqrt(keys.shape[-1])
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


@alternative("attention_weights")
def naive_softmax(queries, keys):
    powers = (queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5).exp()
    return powers / powers.sum(-1, keepdim=True)


@alternative("attention_weights")
def exponential_of_log_softmax(queries, keys):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    return torch.log_softmax(scores, dim=-1).exp()


@alternative("attention_weights")
def minus_logsumexp(queries, keys):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


@alternative("attention_weights")
def keys_left_then_turned(queries, keys):
    scores = keys @ queries.transpose(-2, -1)  # (..., S, T)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-2).transpose(-2, -1)


@alternative("attention_weights")
def broadcast_products(queries, keys):
    scores = (queries.unsqueeze(-2) * keys.unsqueeze(-3)).sum(-1)
    return (scores / scores.new_tensor(keys.shape[-1]).sqrt()).softmax(dim=-1)


@alternative("attention_weights")
def query_by_query(queries, keys):
    rows = []
    for t in range(queries.shape[-2]):
        scores = (queries[..., t : t + 1, :] * keys).sum(-1)
        rows.append(torch.softmax(scores / math.sqrt(queries.shape[-1]), dim=-1))
    return torch.stack(rows, dim=-2)


@alternative("attention_weights")
def batched_matrices(queries, keys):
    d = queries.shape[-1]
    flat_queries = queries.reshape(-1, queries.shape[-2], d)
    flat_keys = keys.reshape(-1, keys.shape[-2], d)
    scores = torch.bmm(flat_queries, flat_keys.transpose(1, 2)) / d**0.5
    return scores.softmax(dim=2).reshape(*queries.shape[:-1], keys.shape[-2])


@alternative("attention_weights")
def vmapped(queries, keys):
    def one(query, all_keys):
        return torch.softmax(all_keys @ query / query.shape[0] ** 0.5, dim=0)

    mapped = torch.vmap(one, in_dims=(0, None))
    for _ in range(queries.dim() - 2):
        mapped = torch.vmap(mapped)
    return mapped(queries, keys)


@alternative("attention_weights")
def through_float64(queries, keys):
    scores = queries.double() @ keys.double().transpose(-2, -1)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1).to(queries.dtype)


@alternative("attention_weights")
def from_distances(queries, keys):
    distances = (queries.unsqueeze(-2) - keys.unsqueeze(-3)).square().sum(-1)
    scores = (keys.square().sum(-1).unsqueeze(-2) - distances) / 2  # less |q|^2 / 2 in each row
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)


@alternative("attention_weights")
def recursive_over_the_batch(queries, keys):
    def attend(q, k):
        if q.dim() > 2:
            return torch.stack([attend(*pair) for pair in zip(q, k, strict=True)])
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=1)

    return attend(queries, keys)


# scaled_dot_product_attention


@alternative("scaled_dot_product_attention")
def two_einsums(queries, keys, values):
    scores = torch.einsum("...td,...sd->...ts", queries, keys) / math.sqrt(queries.shape[-1])
    return torch.einsum("...ts,...sv->...tv", scores.softmax(dim=-1), values)


@alternative("scaled_dot_product_attention")
def divided_after_the_sum(queries, keys, values):
    powers = (queries @ keys.transpose(-2, -1) * keys.shape[-1] ** -0.5).exp()
    return (powers @ values) / powers.sum(dim=-1, keepdim=True)


@alternative("scaled_dot_product_attention")
def columns_of_ones(queries, keys, values):
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    sums = powers @ torch.cat([values, torch.ones_like(values[..., :1])], dim=-1)
    return sums[..., :-1] / sums[..., -1:]


@alternative("scaled_dot_product_attention")
def context_query_by_query(queries, keys, values):
    contexts = []
    for query in queries.unbind(dim=-2):
        scores = (keys @ query.unsqueeze(-1)).squeeze(-1) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores, dim=-1).unsqueeze(-1)
        contexts.append((weights * values).sum(dim=-2))
    return torch.stack(contexts, dim=-2)


@alternative("scaled_dot_product_attention")
def key_by_key_with_running_maximum(queries, keys, values):
    d = queries.shape[-1]
    top = queries.new_full((*queries.shape[:-1], 1), -torch.inf)
    total = torch.zeros_like(top)
    context = queries.new_zeros(*queries.shape[:-1], values.shape[-1])
    for key, value in zip(keys.unbind(-2), values.unbind(-2), strict=True):
        score = (queries * key.unsqueeze(-2)).sum(-1, keepdim=True) / d**0.5
        new_top = torch.maximum(top, score)
        kept, power = (top - new_top).exp(), (score - new_top).exp()
        total = total * kept + power
        context = context * kept + power * value.unsqueeze(-2)
        top = new_top
    return context / total


@alternative("scaled_dot_product_attention")
def context_by_batched_matrices(queries, keys, values):
    q, k, v = (x.reshape(-1, *x.shape[-2:]) for x in (queries, keys, values))
    scores = torch.baddbmm(
        q.new_zeros(len(q), q.shape[1], k.shape[1]), q, k.mT, alpha=q.shape[-1] ** -0.5
    )
    return torch.bmm(scores.softmax(-1), v).reshape(*queries.shape[:-1], v.shape[-1])


@alternative("scaled_dot_product_attention")
def values_left_and_turned(queries, keys, values):
    scores = keys @ queries.transpose(-2, -1) / queries.shape[-1] ** 0.5  # (..., S, T)
    return (values.transpose(-2, -1) @ scores.softmax(-2)).transpose(-2, -1)


@alternative("scaled_dot_product_attention")
def context_vmapped(queries, keys, values):
    def one(query, all_keys, all_values):
        return torch.softmax(all_keys @ query / query.shape[0] ** 0.5, dim=0) @ all_values

    mapped = torch.vmap(one, in_dims=(0, None, None))
    for _ in range(queries.dim() - 2):
        mapped = torch.vmap(mapped)
    return mapped(queries, keys, values)


@alternative("scaled_dot_product_attention")
def context_through_float64(queries, keys, values):
    q, k, v = (x.to(torch.float64) for x in (queries, keys, values))
    return (torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1) @ v).to(values.dtype)


class _Attention:
    """Has a method with the same name as a forbidden function."""

    def scaled_dot_product_attention(self, q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, -1) @ v


@alternative("scaled_dot_product_attention")
def own_method_of_that_name(queries, keys, values):
    # this comment with F.scaled_dot_product_attention must not count as a call
    return _Attention().scaled_dot_product_attention(queries, keys, values)


@alternative("scaled_dot_product_attention")
def zero_mask_added(queries, keys, values):
    mask = torch.zeros(queries.shape[-2], keys.shape[-2], dtype=queries.dtype)
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(keys.size(-1))
    return torch.matmul(torch.softmax(scores + mask, dim=-1), values)


@alternative("scaled_dot_product_attention")
def scale_with_a_float32_tensor(queries, keys, values):
    scale = torch.sqrt(torch.FloatTensor([keys.shape[-1]]))
    return torch.softmax(queries @ keys.transpose(-2, -1) / scale, dim=-1) @ values


@alternative("scale_scores")
def exponent_of_a_logarithm(scores, d_k):
    return scores * math.exp(-0.5 * math.log(d_k))


@alternative("attention_weights")
def one_query_after_another(queries, keys):
    rows = (
        torch.softmax((keys @ q.unsqueeze(-1)).squeeze(-1) / math.sqrt(keys.shape[-1]), -1)
        for q in queries.unbind(-2)
    )
    return torch.stack(tuple(rows), -2)


@alternative("scaled_dot_product_attention")
def checkpointed_attention(queries, keys, values):
    def attend(q, k, v):
        return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v

    return checkpoint(attend, queries, keys, values, use_reentrant=False)


@alternative("scaled_dot_product_attention")
def running_softmax(queries, keys, values):
    top = queries.new_full((*queries.shape[:-1], 1), -torch.inf)
    total, out = torch.zeros_like(top), 0.0
    for key, value in zip(keys.unbind(-2), values.unbind(-2), strict=True):
        score = (queries * key.unsqueeze(-2)).sum(-1, keepdim=True) / math.sqrt(key.shape[-1])
        new = torch.maximum(top, score.detach())
        fade, weight = torch.exp(top - new), torch.exp(score - new)
        total, out, top = total * fade + weight, out * fade + weight * value.unsqueeze(-2), new
    return out / total


class _RecomputedAttention(torch.autograd.Function):
    """Recomputes scores and weights in the backward pass instead of saving them."""

    @staticmethod
    def weights(queries, keys):
        return torch.softmax(queries @ keys.mT / queries.shape[-1] ** 0.5, dim=-1)

    @staticmethod
    def forward(ctx, queries, keys, values):
        ctx.save_for_backward(queries, keys, values)
        return _RecomputedAttention.weights(queries, keys) @ values

    @staticmethod
    def backward(ctx, gradient):
        queries, keys, values = ctx.saved_tensors
        weights = _RecomputedAttention.weights(queries, keys)
        to_weights = gradient @ values.mT
        mean = (weights * to_weights).sum(-1, keepdim=True)
        to_scores = weights * (to_weights - mean) / queries.shape[-1] ** 0.5
        return to_scores @ keys, to_scores.mT @ queries, weights.mT @ gradient


@alternative("scaled_dot_product_attention")
def recomputed_in_the_backward(queries, keys, values):
    return _RecomputedAttention.apply(queries, keys, values)


@alternative("scaled_dot_product_attention")
def queries_in_chunks(queries, keys, values):
    parts = []
    for part in torch.split(queries, 2, dim=-2):
        scores = torch.einsum("...td,...sd->...ts", part, keys) * keys.shape[-1] ** -0.5
        parts.append(torch.einsum("...ts,...sv->...tv", scores.softmax(-1), values))
    return torch.cat(parts, dim=-2)


@alternative("attention_weights")
def gradient_scaled_by_a_hook(queries, keys):
    # the hooks divide and multiply the gradient by 4, so it stays right
    scores = queries @ keys.mT
    if scores.requires_grad:
        scores.register_hook(lambda gradient: gradient * 4)
        scores = scores * 1.0
        scores.register_hook(lambda gradient: gradient / 4)
    return (scores / keys.shape[-1] ** 0.5).softmax(-1)


@alternative("scale_scores")
def multiplied_in_groups(scores, d_k):
    return torch.cat([part / d_k**0.5 for part in scores.split(3, dim=-1)], dim=-1)


@alternative("scale_scores")
def scaled_one_by_one(scores, d_k):
    flat = [score / math.sqrt(d_k) for score in scores.reshape(-1)]
    return torch.stack(flat).reshape(scores.shape)


@alternative("attention_weights")
def score_by_score(queries, keys):
    if queries.dim() > 2:
        pairs = zip(queries, keys, strict=True)
        return torch.stack([score_by_score(q, k) for q, k in pairs])
    scores = torch.zeros(queries.shape[0], keys.shape[0], dtype=queries.dtype)
    for i in range(queries.shape[0]):
        for j in range(keys.shape[0]):
            for k in range(queries.shape[1]):
                scores[i, j] += queries[i, k] * keys[j, k]
    return torch.softmax(scores / queries.shape[1] ** 0.5, dim=-1)


@alternative("scaled_dot_product_attention")
def every_number_by_hand(queries, keys, values):
    if queries.dim() > 2:
        parts = zip(queries, keys, values, strict=True)
        return torch.stack([every_number_by_hand(*part) for part in parts])
    rows = []
    for i in range(queries.shape[0]):
        scores = []
        for j in range(keys.shape[0]):
            score = 0
            for k in range(queries.shape[1]):
                score = score + queries[i, k] * keys[j, k]
            scores.append(score / queries.shape[1] ** 0.5)
        weights = torch.softmax(torch.stack(scores), dim=0)
        row = []
        for k in range(values.shape[1]):
            entry = 0
            for j in range(values.shape[0]):
                entry = entry + weights[j] * values[j, k]
            row.append(entry)
        rows.append(torch.stack(row))
    return torch.stack(rows)


@alternative("scale_scores")
def own_copy_divided_in_place_without_gradients(scores, d_k):
    if torch.is_grad_enabled():
        return scores / d_k**0.5
    return scores.clone().div_(d_k**0.5)
