"""Right but unusual ways to drop entries at random."""

import math
import random

import einops
import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import alternative

# dropout


@alternative("dropout", is_usual=True)
def bernoulli_mask(x, p, training=True):
    if p < 0 or p > 1:
        raise ValueError("p")
    if not training:
        return x.clone()
    if p == 1:
        return x * 0
    return x * torch.bernoulli(torch.full_like(x, 1 - p)) / (1 - p)


@alternative("dropout")
def where_below_p(x, p, training=True):
    if not (0 <= p <= 1):
        raise ValueError("p")
    if not training or p == 0.0:
        return x
    scale = 1 / (1 - p) if p < 1 else 0.0
    return torch.where(torch.rand(x.shape) < p, torch.zeros_like(x), x * scale)


@alternative("dropout")
def masked_fill_of_scaled(x, p, training=True):
    if p > 1.0 or p < 0.0:
        raise ValueError("p")
    if training and p == 1:
        return torch.zeros_like(x)
    if training:
        return (x / (1 - p)).masked_fill(torch.rand_like(x, dtype=torch.float64) < p, 0)
    return x


@alternative("dropout")
def in_place_on_a_copy(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    result = x.clone()
    if training:
        result[torch.rand(x.shape) < p] = 0.0
        if p < 1:
            result /= 1 - p
    return result


@alternative("dropout")
def floor_of_shifted_numbers(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p in (0, 1):
        return x if not training or p == 0 else torch.zeros(x.shape, dtype=x.dtype)
    keep = 1 - p
    return x / keep * torch.floor(keep + torch.rand_like(x))


@alternative("dropout")
def numbers_of_the_standard_library(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    kept = [0.0 if random.random() < p else 1 / (1 - p) for _ in range(x.numel())]
    return x * torch.tensor(kept, dtype=x.dtype).reshape(x.shape)


@alternative("dropout")
def distribution_of_torch(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    mask = torch.distributions.Bernoulli(probs=1 - p).sample(x.shape).to(x.dtype)
    return mask * x * (1 / (1 - p)) if p != 1 else mask * 0


@alternative("dropout")
def exponential_waiting_times(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    kept = torch.empty_like(x).exponential_() > -math.log1p(-p)
    return kept / (1 - p) * x


@alternative("dropout")
def normal_numbers_through_erf(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if training and p > 0:
        uniform = (1 + torch.erf(torch.randn_like(x) / math.sqrt(2))) / 2
        x = x * (uniform > p).to(x.dtype) / (1 - p) if p < 1 else torch.zeros_like(x)
    return x


@alternative("dropout")
def multinomial_choice(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)
    chosen = torch.multinomial(torch.tensor([p, 1 - p]), x.numel(), replacement=True)
    return x * chosen.view(x.shape) / (1 - p)


@alternative("dropout")
def error_of_its_own(x, p, training=True):
    class ProbabilityError(ValueError):
        pass

    if abs(p - 0.5) > 0.5:
        raise ProbabilityError(p)
    if not training:
        return x
    kept = (torch.rand_like(x) - p).sign().clamp(min=0)
    return x * kept / max(1 - p, 1e-12)


@alternative("dropout")
def mapped_over_entries(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x
    if p == 1:
        return torch.zeros_like(x)

    def one(entry):
        return torch.where(torch.rand(()) < p, 0.0, entry / (1 - p))

    return torch.vmap(one, randomness="different")(x.reshape(-1)).reshape(x.shape)


# dropout_attention_weights


@alternative("dropout_attention_weights")
def layer_of_torch(weights, values, p, training=True):
    layer = nn.Dropout(p)
    layer.train(training)
    return torch.matmul(layer(weights), values)


@alternative("dropout_attention_weights", is_usual=True)
def mask_of_its_own(weights, values, p, training=True):
    if not training or p == 0:
        return weights @ values
    if p == 1:
        return 0 * (weights @ values)
    return torch.where(torch.rand_like(weights) < p, 0.0, weights / (1 - p)) @ values


@alternative("dropout_attention_weights")
def scaled_after_the_product(weights, values, p, training=True):
    if not training:
        return weights @ values
    kept = torch.bernoulli(torch.full_like(weights, 1 - p))
    return (weights * kept) @ values / max(1 - p, 1e-6)


@alternative("dropout_attention_weights")
def scaled_values(weights, values, p, training=True):
    if not training or p == 0.0:
        return torch.einsum("...ts,...sd->...td", weights, values)
    kept = torch.rand(weights.shape) >= p
    scaled = values / (1 - p) if p < 1 else values
    return torch.einsum("...ts,...sd->...td", weights * kept, scaled)


@alternative("dropout_attention_weights")
def query_by_query(weights, values, p, training=True):
    rows = [
        (F.dropout(weights[..., t, :], p, training).unsqueeze(-1) * values).sum(dim=-2)
        for t in range(weights.shape[-2])
    ]
    return torch.stack(rows, dim=-2)


@alternative("dropout_attention_weights")
def values_dropped_for_each_query(weights, values, p, training=True):
    scale = F.dropout(torch.ones_like(weights), p, training)  # (..., T, S)
    own = scale.unsqueeze(-1) * values.unsqueeze(-3)  # (..., T, S, d)
    return (weights.unsqueeze(-2) @ own).squeeze(-2)


@alternative("dropout_attention_weights")
def flattened_batches(weights, values, p, training=True):
    *leading, rows, columns = weights.shape
    kept = torch.dropout(weights, p, training).reshape(-1, rows, columns)
    context = torch.bmm(kept, values.reshape(-1, columns, values.shape[-1]))
    return context.reshape(*leading, rows, -1)


@alternative("dropout_attention_weights")
def named_dimensions(weights, values, p, training=True):
    return einops.einsum(F.dropout(weights, p, training), values, "... t s, ... s d -> ... t d")


@alternative("dropout_attention_weights")
def float64_inside(weights, values, p, training=True):
    kept = F.dropout(weights.double(), p=p, training=training)
    return (kept @ values.double()).to(weights.dtype)


@alternative("dropout_attention_weights")
def dropped_part_taken_away(weights, values, p, training=True):
    context = weights @ values
    if not training or p == 0:
        return context
    if p == 1:
        return torch.zeros_like(context)
    dropped = weights * (torch.rand_like(weights) < p)
    return (context - dropped @ values) / (1 - p)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(factor)
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        (factor,) = ctx.saved_tensors
        return gradient * factor, None


@alternative("dropout")
def backward_by_its_own_factor(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p is a probability")
    keep = 1.0 - p if training else 1.0
    factor = torch.empty_like(x).bernoulli_(keep)
    return _Drop.apply(x, factor / keep if keep else factor)


@alternative("dropout")
def drawn_in_chunks(x, p, training=True):
    if not 0 <= p <= 1:
        raise ValueError("p")
    if not training or p == 0:
        return x.clone()
    drawn = torch.cat([torch.rand(len(part)) for part in torch.ones(x.numel()).split(7)])
    kept = (drawn >= p).view(x.shape)
    return torch.where(kept, x, 0.0) * (0.0 if p == 1 else 1 / (1 - p))


@alternative("dropout")
def zeros_left_where_chosen(x, p, training=True):
    if p < 0 or p > 1:
        raise ValueError(f"{p}")
    if not (training and p):
        return x
    flat = x.flatten()
    (chosen,) = (torch.rand(len(flat)) >= p).nonzero(as_tuple=True)
    scale = 1 / (1 - p) if p < 1 else 0.0
    return torch.zeros_like(flat).index_put((chosen,), flat[chosen] * scale).view(x.shape)
