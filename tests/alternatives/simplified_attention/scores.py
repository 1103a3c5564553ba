"""Right but unusual ways to compute the scores."""

import math

import torch
import torch.nn.functional as F
from einops import einsum as named_einsum
from einops import rearrange
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


@alternative("query_scores")
def loop_of_dots(inputs, query):
    return torch.stack([torch.dot(row, query) for row in inputs])


@alternative("query_scores")
@torch.jit.script
def compiled_from_its_source(inputs: torch.Tensor, query: torch.Tensor):
    return torch.mv(inputs, query)


@alternative("query_scores")
def filled_buffer(inputs, query):
    scores = inputs.new_empty(inputs.shape[0])
    for i, row in enumerate(inputs):
        scores[i] = torch.dot(row, query)
    return scores


@alternative("query_scores")
def multiply_and_sum(inputs, query):
    return (inputs * query).sum(-1)


@alternative("query_scores")
def einsum_over_entries(inputs, query):
    return torch.einsum("td,d->t", inputs, query)


@alternative("query_scores")
def matrix_vector(inputs, query):
    return torch.mv(inputs, query)


@alternative("query_scores")
def linear_layer_without_bias(inputs, query):
    return F.linear(query, inputs)


@alternative("query_scores")
def column_and_back(inputs, query):
    return torch.matmul(inputs, query.unsqueeze(1)).squeeze(1)


@alternative("query_scores")
def query_times_transpose(inputs, query):
    return query @ inputs.T


@alternative("query_scores")
def vmapped_dot(inputs, query):
    return torch.vmap(torch.dot, in_dims=(0, None))(inputs, query)


@alternative("query_scores")
def sum_over_columns(inputs, query):
    scores = torch.zeros_like(inputs[:, 0])
    for entry in range(query.shape[0]):
        scores = scores + inputs[:, entry] * query[entry]
    return scores


@alternative("query_scores")
def tensordot_inner(inputs, query):
    return torch.tensordot(inputs, query, dims=1)


@alternative("query_scores")
def float64_inside_and_back(inputs, query):
    return (inputs.double() @ query.double()).to(inputs.dtype)


@alternative("attention_scores")
def einsum(queries, keys):
    return torch.einsum("...td,...sd->...ts", queries, keys)


@alternative("attention_scores")
def transpose_of_the_transpose(queries, keys):
    return (keys @ queries.mT).mT


@alternative("attention_scores")
def broadcast_multiply_and_sum(queries, keys):
    return (queries.unsqueeze(-2) * keys.unsqueeze(-3)).sum(-1)


def _all_pairs(queries, keys):
    if queries.dim() > 2:
        return torch.stack([_all_pairs(q, k) for q, k in zip(queries, keys, strict=True)])
    return torch.stack([torch.stack([torch.dot(q, k) for k in keys]) for q in queries])


@alternative("attention_scores")
def recursive_double_loop(queries, keys):
    return _all_pairs(queries, keys)


@alternative("attention_scores")
def flattened_bmm(queries, keys):
    leading = queries.shape[:-2]
    q = queries.reshape(-1, *queries.shape[-2:])
    k = keys.reshape(-1, *keys.shape[-2:])
    scores = torch.bmm(q, k.permute(0, 2, 1))
    return scores.view(*leading, q.shape[1], k.shape[1])


@alternative("attention_scores")
def einops_named(queries, keys):
    return named_einsum(queries, keys, "... t d, ... s d -> ... t s")


@alternative("attention_scores")
def einops_turned(queries, keys):
    return queries @ rearrange(keys, "... s d -> ... d s")


@alternative("attention_scores")
def column_by_column(queries, keys):
    columns = [(queries * key).sum(-1) for key in keys.split(1, dim=-2)]
    return torch.stack(columns, dim=-1)


@alternative("attention_scores")
def sum_of_outer_products(queries, keys):
    total = 0
    for entry in range(queries.shape[-1]):
        total = total + queries[..., :, entry, None] * keys[..., None, :, entry]
    return total


@alternative("attention_scores")
def vmapped_over_what_leads(queries, keys):
    product = torch.inner
    for _ in range(queries.dim() - 2):
        product = torch.vmap(product)
    return product(queries, keys)


@alternative("attention_scores")
def number_of_dimensions_told_apart(queries, keys):
    if queries.dim() == 2:
        return queries.mm(keys.t())
    if queries.dim() == 3:
        return queries.bmm(keys.transpose(1, 2))
    leading = queries.shape[:-2]
    scores = queries.flatten(0, -3).bmm(keys.flatten(0, -3).transpose(1, 2))
    return scores.unflatten(0, leading)


@alternative("attention_scores")
def filled_table(queries, keys):
    shape = (*queries.shape[:-1], keys.shape[-2])
    scores = torch.empty(shape, dtype=queries.dtype, device=queries.device)
    for t in range(shape[-2]):
        for s in range(shape[-1]):
            scores[..., t, s] = (queries[..., t, :] * keys[..., s, :]).sum(-1)
    return scores


@alternative("attention_scores")
def wide_inside_and_back(queries, keys):
    return torch.matmul(queries.double(), keys.double().swapaxes(-1, -2)).type_as(queries)


@alternative("attention_scores")
def squares_of_sums(queries, keys):
    both = (queries.unsqueeze(-2) + keys.unsqueeze(-3)).pow(2).sum(-1)
    return (both - queries.pow(2).sum(-1)[..., None] - keys.pow(2).sum(-1)[..., None, :]) / 2


@alternative("attention_scores")
def scaled_and_back(queries, keys):
    root = math.sqrt(queries.shape[-1])
    return torch.matmul(queries / root, keys.movedim(-1, -2)) * root


class _Dots(torch.autograd.Function):
    @staticmethod
    def forward(ctx, queries, keys):
        ctx.save_for_backward(queries, keys)
        return queries @ keys.mT

    @staticmethod
    def backward(ctx, gradient):
        queries, keys = ctx.saved_tensors
        return gradient @ keys, gradient.mT @ queries


@alternative("attention_scores")
def backward_of_its_own(queries, keys):
    return _Dots.apply(queries, keys)


@alternative("attention_scores")
def checkpointed(queries, keys):
    return checkpoint(torch.matmul, queries, keys.mT, use_reentrant=False)


@alternative("attention_scores")
def filled_row_by_row(queries, keys):
    out = queries.new_empty(*queries.shape[:-1], keys.shape[-2])
    for t in range(queries.shape[-2]):
        out[..., t, :] = (keys * queries[..., t : t + 1, :]).sum(-1)
    return out


@alternative("query_scores")
def gradient_of_a_sum(inputs, query):
    return (
        torch.func.vmap(torch.func.jacrev(lambda x: (x * query).sum()))(inputs).mul(inputs).sum(-1)
    )


@alternative("query_scores")
def read_by_strides(inputs, query):
    rows = inputs.contiguous()
    size = rows.shape[-1]
    seen = torch.as_strided(rows, rows.shape, (size, 1), rows.storage_offset())
    return torch.stack([part.dot(query) for part in seen])


@alternative("query_scores")
def derivative_along_the_query(inputs, query):
    return torch.func.jvp(lambda q: inputs @ q, (torch.zeros_like(query),), (query,))[1]


@alternative("query_scores")
def bilinear_with_the_identity(inputs, query):
    unit = torch.eye(len(query), dtype=query.dtype).unsqueeze(0)
    return F.bilinear(inputs, query.expand_as(inputs), unit).squeeze(-1)


@alternative("attention_scores")
def compiled_product(queries, keys):
    return _compiled_product(queries, keys)


@torch.compile(backend="eager", dynamic=True)
def _compiled_product(queries, keys):
    return queries @ keys.mT


@alternative("attention_scores")
def keys_in_chunks(queries, keys):
    return torch.cat([queries @ part.mT for part in keys.split(3, dim=-2)], dim=-1)


@alternative("attention_scores")
def joint_gram_matrix(queries, keys):
    rows = torch.cat([queries, keys], dim=-2)
    count = queries.shape[-2]
    return (rows @ rows.mT)[..., :count, count:]


@alternative("attention_scores")
def saved_for_backward_in_a_list(queries, keys):
    saved = []

    def pack(tensor):
        saved.append(tensor)
        return len(saved) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, saved.__getitem__):
        return torch.matmul(queries, keys.transpose(-1, -2))


@alternative("query_scores")
def number_by_number(inputs, query):
    scores = torch.zeros(inputs.shape[0], dtype=inputs.dtype)
    for i in range(inputs.shape[0]):
        for k in range(inputs.shape[1]):
            scores[i] = scores[i] + inputs[i, k] * query[k]
    return scores


@alternative("attention_scores")
def products_added_one_by_one(queries, keys):
    if queries.dim() > 2:
        pairs = zip(queries, keys, strict=True)
        return torch.stack([products_added_one_by_one(q, k) for q, k in pairs])
    scores = torch.zeros(queries.shape[0], keys.shape[0], dtype=queries.dtype)
    for i in range(queries.shape[0]):
        for j in range(keys.shape[0]):
            for k in range(queries.shape[1]):
                scores[i, j] = scores[i, j] + queries[i, k] * keys[j, k]
    return scores
