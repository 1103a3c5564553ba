"""Right but unusual ways to compute context vectors."""

import functools
import operator

import torch
import torch.nn.functional as F
from einops import einsum as named_einsum
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


@alternative("context_vector")
def loop_that_adds(weights, values):
    context = torch.zeros_like(values[0])
    for weight, value in zip(weights, values, strict=True):
        context = context + weight * value
    return context


@alternative("context_vector")
def collected_in_a_new_tensor(weights, values):
    context = values.new_zeros(values.shape[1])
    for s in range(weights.shape[0]):
        context += weights[s] * values[s]
    return context


@alternative("context_vector")
def multiply_and_add_up(weights, values):
    return (weights.unsqueeze(-1) * values).sum(dim=0)


@alternative("context_vector")
def einsum_over_values(weights, values):
    return torch.einsum("s,sd->d", weights, values)


@alternative("context_vector")
def turned_values_on_the_left(weights, values):
    return values.T @ weights


@alternative("context_vector")
def row_matrix_and_back(weights, values):
    return torch.mm(weights.view(1, -1), values).reshape(-1)


@alternative("context_vector")
def column_by_column(weights, values):
    return torch.stack([torch.dot(weights, column) for column in values.unbind(dim=1)])


@alternative("context_vector")
def diagonal_matrix(weights, values):
    return (torch.diag(weights) @ values).sum(0)


@alternative("context_vector")
def builtin_sum(weights, values):
    return sum(w * v for w, v in zip(weights, values, strict=True))


@alternative("context_vector")
def in_float64_and_back(weights, values):
    return torch.matmul(weights.double(), values.double()).to(values.dtype)


@alternative("context_vectors")
def einsum(weights, values):
    return torch.einsum("...ts,...sd->...td", weights, values)


@alternative("context_vectors")
def einops_named(weights, values):
    return named_einsum(weights, values, "... t s, ... s d -> ... t d")


@alternative("context_vectors")
def broadcast_multiply_and_add_up(weights, values):
    return (weights[..., None] * values[..., None, :, :]).sum(dim=-2)


@alternative("context_vectors")
def turned_twice(weights, values):
    return (values.mT @ weights.mT).mT


@alternative("context_vectors")
def flattened_bmm(weights, values):
    leading = weights.shape[:-2]
    contexts = torch.bmm(weights.flatten(0, -3), values.flatten(0, -3)) if leading else None
    return weights.mm(values) if contexts is None else contexts.unflatten(0, leading)


def _mixtures(weights, values):
    if weights.dim() > 2:
        return torch.stack([_mixtures(w, v) for w, v in zip(weights, values, strict=True)])
    return torch.stack([sum(w * v for w, v in zip(row, values, strict=True)) for row in weights])


@alternative("context_vectors")
def recursive_loops(weights, values):
    return _mixtures(weights, values)


@alternative("context_vectors")
def sum_of_outer_products(weights, values):
    total = weights.new_zeros(*weights.shape[:-1], values.shape[-1])
    for s in range(values.shape[-2]):
        total += weights[..., s, None] * values[..., s, None, :]
    return total


@alternative("context_vectors")
def query_by_query(weights, values):
    rows = [row @ values for row in weights.split(1, dim=-2)]
    return torch.cat(rows, dim=-2)


@alternative("context_vectors")
def vmapped_over_what_leads(weights, values):
    product = torch.mm
    for _ in range(weights.dim() - 2):
        product = torch.vmap(product)
    return product(weights, values)


@alternative("context_vectors")
def wide_inside_and_back(weights, values):
    return (weights.double() @ values.double()).type_as(values)


@alternative("simplified_self_attention")
def attention_of_torch_without_scale(inputs):
    return F.scaled_dot_product_attention(inputs, inputs, inputs, scale=1.0)


@alternative("simplified_self_attention")
def divided_after_the_mixture(inputs):
    scores = inputs @ inputs.mT
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return (exponentials @ inputs) / exponentials.sum(dim=-1, keepdim=True)


@alternative("simplified_self_attention")
def exponentials_as_they_come(inputs):
    # scores are moderate, so nothing overflows
    exponentials = torch.exp(torch.einsum("...td,...sd->...ts", inputs, inputs))
    return (exponentials / exponentials.sum(dim=-1, keepdim=True)) @ inputs


@alternative("simplified_self_attention")
def columns_by_symmetry(inputs):
    # the scores of a sequence with itself are symmetric, so columns may be normalized and
    # transposed
    weights = torch.softmax(inputs @ inputs.transpose(-2, -1), dim=-2)
    return weights.transpose(-2, -1) @ inputs


@alternative("simplified_self_attention")
def logarithms(inputs):
    return F.log_softmax(inputs @ inputs.swapaxes(-1, -2), dim=-1).exp() @ inputs


def _one_sentence(tokens):
    contexts = []
    for query in tokens:
        weights = torch.stack([query.dot(key) for key in tokens]).softmax(0)
        contexts.append(sum(weight * value for weight, value in zip(weights, tokens, strict=True)))
    return torch.stack(contexts)


@alternative("simplified_self_attention")
def loops_over_sentences_and_tokens(inputs):
    sentences = inputs.reshape(-1, *inputs.shape[-2:])
    return torch.stack([_one_sentence(s) for s in sentences]).reshape(inputs.shape)


@alternative("simplified_self_attention")
def flattened_sentences(inputs):
    flat = inputs.reshape(-1, inputs.size(-2), inputs.size(-1))
    return torch.bmm(torch.bmm(flat, flat.transpose(1, 2)).softmax(2), flat).view(inputs.shape)


@alternative("simplified_self_attention")
def query_by_query_attention(inputs):
    rows = []
    for query in inputs.unbind(dim=-2):
        weights = torch.softmax((inputs * query[..., None, :]).sum(-1), dim=-1)
        rows.append((weights[..., None] * inputs).sum(-2))
    return torch.stack(rows, dim=-2)


@alternative("simplified_self_attention")
def from_distances(inputs):
    # |q - k|^2 = |q|^2 + |k|^2 - 2 q.k, and |q|^2 cancels within a row
    squares = inputs.pow(2).sum(-1)
    distances = (inputs.unsqueeze(-2) - inputs.unsqueeze(-3)).pow(2).sum(-1)
    return torch.softmax((squares.unsqueeze(-2) - distances) / 2, dim=-1) @ inputs


@alternative("simplified_self_attention")
def float64_inside_and_back(inputs):
    wide = inputs.double()
    return (torch.softmax(wide @ wide.mT, dim=-1) @ wide).to(inputs.dtype)


@alternative("context_vectors")
def generator_of_rows(weights, values):
    def rows():
        for row in weights.unbind(-2):
            yield (row.unsqueeze(-1) * values).sum(-2)

    return torch.stack(list(rows()), dim=-2)


@alternative("context_vectors")
def checkpointed_product(weights, values):
    return checkpoint(lambda w, v: w @ v, weights, values, use_reentrant=False)


@alternative("context_vector")
def reduced_pair_by_pair(weights, values):
    return functools.reduce(operator.add, (w * v for w, v in zip(weights, values, strict=True)))


@alternative("simplified_self_attention")
def chunk_by_chunk(inputs):
    chunks = inputs.split(3, dim=-2)
    return torch.cat([torch.softmax(c @ inputs.mT, -1) @ inputs for c in chunks], dim=-2)


class _Mixture(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights, values):
        ctx.save_for_backward(weights, values)
        return weights @ values

    @staticmethod
    def backward(ctx, gradient):
        weights, values = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        to_weights = gradient @ values.mT if wanted[0] else None
        return to_weights, weights.mT @ gradient if wanted[1] else None


@alternative("context_vectors")
def backward_of_its_own(weights, values):
    return _Mixture.apply(weights, values)


@alternative("context_vector")
def values_added_into_place(weights, values):
    result = values.new_zeros(1, values.shape[1])
    rows = torch.zeros(len(values), dtype=torch.int64)
    return result.index_add(0, rows, weights[:, None] * values)[0]


@alternative("context_vector")
def convolution_over_the_tokens(weights, values):
    return F.conv1d(values.T.unsqueeze(1), weights.view(1, 1, -1)).view(-1)


@alternative("simplified_self_attention")
def gradient_of_the_log_sum_of_exponentials(inputs):
    queries = inputs.detach() if not inputs.requires_grad else inputs

    def total(rows):
        return torch.logsumexp(rows @ inputs.mT, dim=-1).sum()

    return torch.func.grad(total)(queries)


@alternative("context_vectors")
def entry_by_entry(weights, values):
    if weights.dim() > 2:
        pairs = zip(weights, values, strict=True)
        return torch.stack([entry_by_entry(w, v) for w, v in pairs])
    result = torch.zeros(weights.shape[0], values.shape[1], dtype=values.dtype)
    for i in range(weights.shape[0]):
        for j in range(values.shape[0]):
            for k in range(values.shape[1]):
                result[i, k] += weights[i, j] * values[j, k]
    return result


@alternative("simplified_self_attention")
def every_step_by_hand(inputs):
    if inputs.dim() > 2:
        return torch.stack([every_step_by_hand(sentence) for sentence in inputs])
    contexts = []
    for query in inputs:
        scores = []
        for key in inputs:
            score = 0
            for a, b in zip(query, key, strict=True):
                score = score + a * b
            scores.append(score)
        largest = max(scores)
        powers = [torch.exp(score - largest) for score in scores]
        total = sum(powers)
        context = [
            sum(power / total * value[k] for power, value in zip(powers, inputs, strict=True))
            for k in range(inputs.shape[1])
        ]
        contexts.append(torch.stack(context))
    return torch.stack(contexts)
