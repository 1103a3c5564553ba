"""Right but unusual ways to compute heads from stacked weights."""

import math

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


@alternative("project_heads")
def index_notation(inputs, weights):
    return torch.einsum("ti,hoi->hto", inputs, weights)


@alternative("project_heads")
def broadcast_product(inputs, weights):
    return inputs.unsqueeze(0) @ weights.mT


@alternative("project_heads")
def head_by_head(inputs, weights):
    return torch.stack([F.linear(inputs, weight) for weight in weights])


@alternative("project_heads")
def columns_first_then_permuted(inputs, weights):
    stacked = inputs.T.repeat(weights.shape[0], 1, 1)
    return torch.bmm(weights, stacked).permute(0, 2, 1)


@alternative("project_heads")
def all_matrices_as_one(inputs, weights):
    heads, d_out, _ = weights.shape
    wide = inputs @ weights.flatten(0, 1).T
    return wide.unflatten(-1, (heads, d_out)).transpose(0, 1)


@alternative("project_heads")
def summed_products(inputs, weights):
    return (inputs[None, :, None, :] * weights[:, None, :, :]).sum(dim=-1)


@alternative("project_heads")
def contracted(inputs, weights):
    return torch.tensordot(weights, inputs, dims=([2], [1])).transpose(1, 2)


@alternative("project_heads")
def mapped_over_heads(inputs, weights):
    return torch.vmap(lambda weight: (weight @ inputs.T).T)(weights)


@alternative("project_heads")
def token_by_token(inputs, weights):
    out = weights.new_zeros(weights.shape[0], inputs.shape[0], weights.shape[1])
    for t, token in enumerate(inputs):
        out[:, t] = weights.matmul(token)
    return out


@alternative("project_heads")
def named_with_einops(inputs, weights):
    from einops import einsum

    return einsum(inputs, weights, "token i, head o i -> head token o")


@alternative("per_head_attention")
def loop_over_heads(inputs, W_query, W_key, W_value):
    contexts = []
    for w_q, w_k, w_v in zip(W_query, W_key, W_value):
        scores = (inputs @ w_q.T) @ (inputs @ w_k.T).T
        contexts.append(F.softmax(scores / w_k.shape[0] ** 0.5, dim=1) @ (inputs @ w_v.T))
    return torch.cat(contexts, dim=1)


@alternative("per_head_attention")
def torchs_own_attention(inputs, W_query, W_key, W_value):
    q, k, v = (F.linear(inputs, w.flatten(0, 1)) for w in (W_query, W_key, W_value))
    q, k, v = (x.unflatten(1, (len(W_query), -1)).transpose(0, 1) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1)


@alternative("per_head_attention")
def index_notation_throughout(inputs, W_query, W_key, W_value):
    q, k, v = (torch.einsum("ti,hoi->hto", inputs, w) for w in (W_query, W_key, W_value))
    scores = torch.einsum("htd,hsd->hts", q, k).mul(q.shape[-1] ** -0.5)
    context = torch.einsum("hts,hsd->thd", scores.softmax(dim=2), v)
    return context.reshape(len(inputs), -1)


@alternative("per_head_attention")
def query_and_key_weights_fused(inputs, W_query, W_key, W_value):
    """Computes the scores of a head as one bilinear form, x (Wq^T Wk) x^T."""
    form = W_query.transpose(1, 2) @ W_key / math.sqrt(W_key.shape[1])
    weights = torch.softmax(inputs @ form @ inputs.T, dim=-1)
    mixed = weights @ inputs  # attention first, then the value weights
    return torch.hstack([mixed[h] @ W_value[h].T for h in range(len(W_value))])


@alternative("per_head_attention")
def mapped_over_all_heads(inputs, W_query, W_key, W_value):
    def one(w_q, w_k, w_v):
        scores = inputs @ w_q.T @ w_k @ inputs.T / math.sqrt(w_k.shape[0])
        return scores.log_softmax(-1).exp() @ inputs @ w_v.T

    return torch.vmap(one, out_dims=1)(W_query, W_key, W_value).flatten(1)


@alternative("per_head_attention")
def divided_after_the_product(inputs, W_query, W_key, W_value):
    q, k, v = (torch.matmul(inputs, w.mT) for w in (W_query, W_key, W_value))
    powers = torch.exp(q @ k.mT / math.sqrt(k.size(-1)))
    context = powers @ v / powers.sum(-1, keepdim=True)
    return context.permute(1, 0, 2).contiguous().view(len(inputs), -1)


@alternative("per_head_attention")
def stacked_inputs(inputs, W_query, W_key, W_value):
    stacked = inputs.T.repeat(W_query.shape[0], 1, 1)  # (H, d_in, T)
    q, k, v = (torch.bmm(w, stacked) for w in (W_query, W_key, W_value))  # (H, d, T)
    scores = torch.bmm(k.transpose(1, 2), q) / torch.sqrt(torch.tensor(float(k.shape[1])))
    context = torch.bmm(v, torch.softmax(scores, dim=1))  # (H, d_v, T)
    return context.flatten(0, 1).T


@alternative("per_head_attention")
def filled_in_float64(inputs, W_query, W_key, W_value):
    heads, d_v, _ = W_value.shape
    out = torch.empty(len(inputs), heads * d_v, dtype=torch.float64)
    for h in range(heads):
        q, k, v = (inputs.double() @ w[h].double().T for w in (W_query, W_key, W_value))
        for t in range(len(inputs)):
            weights = torch.softmax(k @ q[t] / k.shape[1] ** 0.5, dim=0)
            out[t, h * d_v : (h + 1) * d_v] = (weights[:, None] * v).sum(0)
    return out.to(inputs.dtype)


@alternative("per_head_attention")
def rearranged_heads(inputs, W_query, W_key, W_value):
    from einops import einsum, rearrange

    q, k, v = (einsum(inputs, w, "t i, h o i -> h t o") for w in (W_query, W_key, W_value))
    weights = (einsum(q, k, "h t d, h s d -> h t s") / k.shape[-1] ** 0.5).softmax(-1)
    return rearrange(weights @ v, "h t d -> t (h d)")


@alternative("slice_value_heads")
def cut_once(weights, values, num_heads):
    """Attends once for all heads, because the slices put side by side are the original values."""
    return weights @ values[:, : values.shape[1] // num_heads * num_heads]


@alternative("slice_value_heads")
def all_then_cut(weights, values, num_heads):
    head_dim = values.size(1) // num_heads
    return torch.mm(weights, values).narrow(1, 0, head_dim * num_heads)


@alternative("slice_value_heads")
def split_and_take(weights, values, num_heads):
    pieces = values.split(values.shape[1] // num_heads, dim=1)[:num_heads]
    return torch.hstack([weights.matmul(piece) for piece in pieces])


@alternative("slice_value_heads")
def unfolded(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    slices = values.unfold(1, head_dim, head_dim)[:, :num_heads]  # (S, H, d)
    return torch.einsum("ts,shd->thd", weights, slices).flatten(1)


@alternative("slice_value_heads")
def heads_in_front(weights, values, num_heads):
    head_dim = values.shape[1] // num_heads
    kept = values[:, : num_heads * head_dim]
    slices = kept.reshape(-1, num_heads, head_dim).transpose(0, 1)  # (H, S, d)
    return (weights @ slices).transpose(0, 1).reshape(weights.shape[0], -1)


@alternative("slice_value_heads")
def filled_columns(weights, values, num_heads):
    out = values.new_zeros(weights.shape[0], values.shape[1] // num_heads * num_heads)
    for column in range(out.shape[1]):
        out[:, column] = weights @ values[:, column]
    return out


@alternative("slice_value_heads")
def rows_of_sums(weights, values, num_heads):
    kept = values[:, : values.shape[1] - values.shape[1] % num_heads]
    return torch.stack([(row[:, None] * kept).sum(dim=0) for row in weights])


@alternative("project_heads")
def heads_of_a_generator(inputs, weights):
    return torch.stack([*(inputs @ weight.T for weight in weights)])


@alternative("per_head_attention")
def head_after_head_checkpointed(inputs, W_query, W_key, W_value):
    def attend(x, q, k, v):
        return torch.softmax((x @ q.T) @ (x @ k.T).T / math.sqrt(q.shape[0]), -1) @ (x @ v.T)

    heads = zip(W_query, W_key, W_value, strict=True)
    return torch.cat([checkpoint(attend, inputs, *w, use_reentrant=False) for w in heads], -1)


@alternative("project_heads")
def linear_of_every_head(inputs, weights):
    return torch.stack([F.linear(inputs, weight) for weight in weights.unbind(0)])


@alternative("per_head_attention")
def vmap_over_heads_and_queries(inputs, W_query, W_key, W_value):
    def head(w_query, w_key, w_value):
        keys, values = inputs @ w_key.T, inputs @ w_value.T

        def query(token):
            return torch.softmax(keys @ (w_query @ token) / len(w_key) ** 0.5, dim=0) @ values

        return torch.vmap(query)(inputs)

    return torch.cat(torch.vmap(head)(W_query, W_key, W_value).unbind(0), dim=1)


@alternative("slice_value_heads")
def views_by_stride(weights, values, num_heads):
    size = values.shape[1] // num_heads
    mixed = (weights @ values)[:, : num_heads * size].contiguous()
    return mixed.as_strided((len(mixed), num_heads, size), (num_heads * size, size, 1)).flatten(1)


def _every_product(inputs, weights):
    heads = []
    for weight in weights:
        rows = []
        for token in inputs:
            row = []
            for line in weight:
                total = 0
                for a, b in zip(token, line, strict=True):
                    total = total + a * b
                row.append(total)
            rows.append(torch.stack(row))
        heads.append(torch.stack(rows))
    return torch.stack(heads)


@alternative("project_heads")
def four_loops(inputs, weights):
    return _every_product(inputs, weights)
