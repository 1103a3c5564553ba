"""Right but unusual ways to compute the three projections."""

import dataclasses
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import einsum as named_einsum
from einops import rearrange
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative

# project_qkv: weights are (d_in, d_out)


class _Projected(NamedTuple):
    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor


@alternative("project_qkv")
def named_tuple_right(inputs, W_query, W_key, W_value):
    return _Projected(inputs @ W_query, inputs @ W_key, inputs @ W_value)


@alternative("project_qkv")
def einsum_right(inputs, W_query, W_key, W_value):
    return tuple(torch.einsum("...d,dk->...k", inputs, w) for w in (W_query, W_key, W_value))


@alternative("project_qkv")
def named_axes_right(inputs, W_query, W_key, W_value):
    return tuple(
        named_einsum(inputs, w, "... d_in, d_in d_out -> ... d_out")
        for w in (W_query, W_key, W_value)
    )


@alternative("project_qkv")
def one_joint_product_right(inputs, W_query, W_key, W_value):
    joint = inputs @ torch.cat([W_query, W_key, W_value], dim=1)
    return joint.split([W_query.shape[1], W_key.shape[1], W_value.shape[1]], dim=-1)


@alternative("project_qkv")
def linear_function_right(inputs, W_query, W_key, W_value):
    return F.linear(inputs, W_query.T), F.linear(inputs, W_key.T), F.linear(inputs, W_value.T)


@alternative("project_qkv")
def broadcast_and_sum_right(inputs, W_query, W_key, W_value):
    def project(weight):
        return (inputs.unsqueeze(-1) * weight).sum(dim=-2)

    return project(W_query), project(W_key), project(W_value)


@alternative("project_qkv")
def flattened_and_back_right(inputs, W_query, W_key, W_value):
    flat = inputs.reshape(-1, inputs.shape[-1])
    return tuple(
        torch.mm(flat, w).reshape(*inputs.shape[:-1], w.shape[1]) for w in (W_query, W_key, W_value)
    )


@alternative("project_qkv")
def contraction_right(inputs, W_query, W_key, W_value):
    return tuple(torch.tensordot(inputs, w, dims=1) for w in (W_query, W_key, W_value))


@alternative("project_qkv")
def column_by_column(inputs, W_query, W_key, W_value):
    def project(weight):
        return torch.stack([torch.mv(weight.T, row) for row in inputs.reshape(-1, len(weight))])

    leading = inputs.shape[:-1]
    return tuple(project(w).unflatten(0, leading) for w in (W_query, W_key, W_value))


@alternative("project_qkv")
def list_of_three(inputs, W_query, W_key, W_value):
    return [torch.matmul(inputs, w).contiguous() for w in (W_query, W_key, W_value)]


@alternative("project_qkv")
def through_float64_right(inputs, W_query, W_key, W_value):
    x = inputs.double()
    return tuple((x @ w.double()).to(inputs.dtype) for w in (W_query, W_key, W_value))


@alternative("project_qkv")
def vmapped_over_tokens(inputs, W_query, W_key, W_value):
    tokens = inputs.flatten(0, -2)
    return tuple(
        torch.vmap(lambda x, w=w: x @ w)(tokens).reshape(*inputs.shape[:-1], w.size(1))
        for w in (W_query, W_key, W_value)
    )


# project_qkv_left: weights are (d_out, d_in)


@alternative("project_qkv_left")
def weight_left_and_turned_back(inputs, W_query, W_key, W_value):
    columns = inputs.transpose(-2, -1)
    return tuple(w.matmul(columns).transpose(-2, -1) for w in (W_query, W_key, W_value))


@alternative("project_qkv_left")
def weight_left_with_mT(inputs, W_query, W_key, W_value):
    return (W_query @ inputs.mT).mT, (W_key @ inputs.mT).mT, (W_value @ inputs.mT).mT


@alternative("project_qkv_left")
def linear_function_left(inputs, W_query, W_key, W_value):
    return F.linear(inputs, W_query), F.linear(inputs, W_key), F.linear(inputs, W_value)


@alternative("project_qkv_left")
def einsum_left(inputs, W_query, W_key, W_value):
    return tuple(torch.einsum("kd,...d->...k", w, inputs) for w in (W_query, W_key, W_value))


@alternative("project_qkv_left")
def one_joint_product_left(inputs, W_query, W_key, W_value):
    joint = F.linear(inputs, torch.vstack([W_query, W_key, W_value]))
    d_k = W_query.shape[0]
    return joint[..., :d_k], joint[..., d_k : 2 * d_k], joint[..., 2 * d_k :]


@alternative("project_qkv_left")
def matrix_times_column(inputs, W_query, W_key, W_value):
    columns = inputs.unsqueeze(-1)  # (..., T, d_in, 1)
    return tuple((w @ columns).squeeze(-1) for w in (W_query, W_key, W_value))


@alternative("project_qkv_left")
def token_by_token(inputs, W_query, W_key, W_value):
    tokens = inputs.reshape(-1, inputs.shape[-1])

    def project(weight):
        rows = [weight.matmul(token) for token in tokens]
        return torch.stack(rows).view(*inputs.shape[:-1], weight.shape[0])

    return project(W_query), project(W_key), project(W_value)


@alternative("project_qkv_left")
def broadcast_and_sum_left(inputs, W_query, W_key, W_value):
    return tuple((inputs[..., None, :] * w).sum(-1) for w in (W_query, W_key, W_value))


@alternative("project_qkv_left")
def layers_called_with_these_weights(inputs, W_query, W_key, W_value):
    results = []
    for weight in (W_query, W_key, W_value):
        layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        results.append(torch.func.functional_call(layer, {"weight": weight}, inputs))
    return tuple(results)


@alternative("project_qkv_left")
def rearranged_weights(inputs, W_query, W_key, W_value):
    return tuple(inputs @ rearrange(w, "o i -> i o") for w in (W_query, W_key, W_value))


@alternative("project_qkv_left")
def through_float64_left(inputs, W_query, W_key, W_value):
    x = inputs.to(torch.float64)
    return tuple((x @ w.to(torch.float64).T).to(inputs) for w in (W_query, W_key, W_value))


@alternative("project_qkv_left")
def contraction_left(inputs, W_query, W_key, W_value):
    return tuple(torch.tensordot(inputs, w, dims=([-1], [1])) for w in (W_query, W_key, W_value))


@dataclasses.dataclass
class _Projection:
    weight: torch.Tensor

    def __rmatmul__(self, inputs):
        return torch.einsum("...i,io->...o", inputs, self.weight)

    def __call__(self, inputs):
        return self.__rmatmul__(inputs)


@alternative("project_qkv")
def objects_with_an_operator(inputs, W_query, W_key, W_value):
    return tuple(_Projection(w)(inputs) for w in (W_query, W_key, W_value))


@alternative("project_qkv")
def checkpointed_products(inputs, W_query, W_key, W_value):
    weights = (W_query, W_key, W_value)
    return tuple(checkpoint(torch.matmul, inputs, w, use_reentrant=False) for w in weights)


@alternative("project_qkv_left")
def one_product_for_all(inputs, W_query, W_key, W_value):
    weights = (W_query, W_key, W_value)
    together = inputs @ torch.cat(weights).mT
    return tuple(together.split([w.shape[0] for w in weights], dim=-1))


@alternative("project_qkv_left")
def double_inside(inputs, W_query, W_key, W_value):
    return tuple(
        (inputs.double() @ w.double().mT).to(inputs.dtype) for w in (W_query, W_key, W_value)
    )


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        ctx.save_for_backward(inputs, weight)
        return inputs @ weight

    @staticmethod
    def backward(ctx, gradient):
        inputs, weight = ctx.saved_tensors
        rows = inputs.reshape(-1, inputs.shape[-1])
        return gradient @ weight.mT, rows.mT @ gradient.reshape(len(rows), -1)


@alternative("project_qkv")
def backward_of_its_own(inputs, W_query, W_key, W_value):
    return tuple(_Product.apply(inputs, weight) for weight in (W_query, W_key, W_value))


@alternative("project_qkv_left")
def mapped_over_single_tokens(inputs, W_query, W_key, W_value):
    flat = inputs.reshape(-1, inputs.shape[-1])
    found = []
    for weight in (W_query, W_key, W_value):
        rows = torch.vmap(torch.mv, in_dims=(None, 0))(weight, flat)
        found.append(rows.unflatten(0, inputs.shape[:-1]))
    return tuple(found)


@alternative("project_qkv_left")
def convolutions_of_width_one(inputs, W_query, W_key, W_value):
    columns = inputs.reshape(1, -1, inputs.shape[-1]).mT
    return tuple(
        F.conv1d(columns, weight.unsqueeze(-1)).mT.reshape(*inputs.shape[:-1], len(weight))
        for weight in (W_query, W_key, W_value)
    )


def _multiplied(a, b):
    if a.dim() > 2:
        return torch.stack([_multiplied(one, b) for one in a])
    rows = []
    for i in range(a.shape[0]):
        row = []
        for j in range(b.shape[1]):
            total = 0
            for k in range(a.shape[1]):
                total = total + a[i, k] * b[k, j]
            row.append(total)
        rows.append(torch.stack(row))
    return torch.stack(rows)


@alternative("project_qkv")
def three_loops(inputs, W_query, W_key, W_value):
    return tuple(_multiplied(inputs, W) for W in (W_query, W_key, W_value))


@alternative("project_qkv_left")
def three_loops_from_the_left(inputs, W_query, W_key, W_value):
    return tuple(_multiplied(inputs, W.T) for W in (W_query, W_key, W_value))
