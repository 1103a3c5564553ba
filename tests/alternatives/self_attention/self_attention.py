"""Right but unusual self-attention layers."""

import math

import torch
import torch.nn.functional as F
from einops import einsum as named_einsum
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


class _Parameters(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))


class _Linears(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        for name in ("W_value", "W_query", "W_key"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))


# SelfAttentionV1


@alternative("SelfAttentionV1")
class RegisteredByName(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for name in ("W_key", "W_query", "W_value"):
            weight = nn.Parameter(torch.empty(d_in, d_out))
            nn.init.xavier_uniform_(weight)
            self.register_parameter(name, weight)

    def forward(self, x):
        q, k, v = (x.matmul(w) for w in (self.W_query, self.W_key, self.W_value))
        return (q @ k.mT).div(math.sqrt(k.size(-1))).softmax(-1) @ v


@alternative("SelfAttentionV1")
class TorchsOwnAttention(_Parameters):
    def forward(self, x):
        return F.scaled_dot_product_attention(x @ self.W_query, x @ self.W_key, x @ self.W_value)


@alternative("SelfAttentionV1")
class Einsums(_Parameters):
    def forward(self, x):
        q, k, v = (
            torch.einsum("...ti,io->...to", x, w) for w in (self.W_query, self.W_key, self.W_value)
        )
        weights = torch.einsum("...to,...so->...ts", q / q.shape[-1] ** 0.5, k).softmax(dim=-1)
        return torch.einsum("...ts,...so->...to", weights, v)


@alternative("SelfAttentionV1")
class QueryAndKeyWeightsMultipliedFirst(_Parameters):
    def forward(self, x):
        both = self.W_query @ self.W_key.T / math.sqrt(self.W_key.shape[1])  # (d_in, d_in)
        return torch.softmax(x @ both @ x.transpose(-2, -1), dim=-1) @ x @ self.W_value


@alternative("SelfAttentionV1")
class OneJointProduct(_Parameters):
    def forward(self, x):
        joint = torch.cat([self.W_query, self.W_key, self.W_value], dim=-1)
        q, k, v = (x @ joint).chunk(3, dim=-1)
        return torch.softmax(q @ k.transpose(-1, -2) * k.shape[-1] ** -0.5, dim=-1) @ v


@alternative("SelfAttentionV1")
class ScaleAsPlainTensor(_Parameters):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.scale = torch.sqrt(torch.FloatTensor([d_out]))

    def forward(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_key).transpose(-2, -1)
        return F.softmax(scores / self.scale, dim=-1).matmul(x @ self.W_value)


@alternative("SelfAttentionV1")
class ScaleAsBuffer(_Parameters):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.register_buffer("scale", torch.tensor(float(d_out)).rsqrt(), persistent=False)
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_key).transpose(-2, -1)
        return self.dropout(self.softmax(scores * self.scale)) @ (x @ self.W_value)


@alternative("SelfAttentionV1")
class TokenByToken(_Parameters):
    def forward(self, x):
        keys, values = x @ self.W_key, x @ self.W_value
        contexts = []
        for token in x.unbind(-2):
            query = token @ self.W_query
            scores = (keys * query.unsqueeze(-2)).sum(-1) / math.sqrt(query.shape[-1])
            contexts.append((scores.softmax(-1).unsqueeze(-1) * values).sum(-2))
        return torch.stack(contexts, dim=-2)


@alternative("SelfAttentionV1")
class SentenceBySentence(_Parameters):
    def forward(self, x):
        if x.dim() > 2:
            return torch.stack([self(sentence) for sentence in x])
        keys = x @ self.W_key
        return torch.softmax(x @ self.W_query @ keys.T / keys.shape[1] ** 0.5, 1) @ x @ self.W_value


@alternative("SelfAttentionV1")
class ThroughFloat64(_Parameters):
    def forward(self, x):
        q, k, v = (x.double() @ w.double() for w in (self.W_query, self.W_key, self.W_value))
        powers = (q @ k.mT / k.shape[-1] ** 0.5).exp()
        return (powers @ v / powers.sum(-1, keepdim=True)).to(x.dtype)


@alternative("SelfAttentionV1")
class VmappedSentences(_Parameters):
    def forward(self, x):
        def one(sentence):
            q, k = sentence @ self.W_query, sentence @ self.W_key
            weights = torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1)
            return weights @ (sentence @ self.W_value)

        mapped = one
        for _ in range(x.dim() - 2):
            mapped = torch.vmap(mapped)
        return mapped(x)


# SelfAttentionV2


@alternative("SelfAttentionV2")
class TorchsOwnAttentionOfLayers(_Linears):
    def forward(self, x):
        return F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))


@alternative("SelfAttentionV2")
class FunctionalLinear(_Linears):
    def forward(self, x):
        q, k, v = (
            F.linear(x, layer.weight, layer.bias)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        return torch.softmax(q @ k.mT / math.sqrt(k.size(-1)), dim=-1) @ v


@alternative("SelfAttentionV2")
class LayersStacked(_Linears):
    def forward(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if self.W_key.bias is None else torch.cat([layer.bias for layer in layers])
        q, k, v = F.linear(x, weight, bias).tensor_split(3, dim=-1)
        return (q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5).softmax(-1) @ v


class _OwnLinear(nn.Module):
    def __init__(self, d_in, d_out, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in) / d_in**0.5)
        self.bias = nn.Parameter(torch.zeros(d_out)) if bias else None

    def forward(self, x):
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias


@alternative("SelfAttentionV2")
class LayersOfItsOwn(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = _OwnLinear(d_in, d_out, qkv_bias)
        self.W_key = _OwnLinear(d_in, d_out, qkv_bias)
        self.W_value = _OwnLinear(d_in, d_out, qkv_bias)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax((q @ k.transpose(-2, -1)) / q.shape[-1] ** 0.5, dim=-1) @ v


@alternative("SelfAttentionV2")
class NamedAxes(_Linears):
    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = named_einsum(q, k, "... t d, ... s d -> ... t s") / q.shape[-1] ** 0.5
        return named_einsum(scores.softmax(-1), v, "... t s, ... s d -> ... t d")


@alternative("SelfAttentionV2")
class FlattenedBatches(_Linears):
    def forward(self, x):
        flat = x.reshape(-1, *x.shape[-2:])  # (N, T, d_in)
        k, v = self.W_key(flat), self.W_value(flat)
        scores = torch.bmm(self.W_query(flat), k.transpose(1, 2)).div(math.sqrt(k.shape[2]))
        return torch.bmm(F.softmax(scores, dim=2), v).reshape(*x.shape[:-1], -1)


@alternative("SelfAttentionV2")
class DividedAfterTheSum(_Linears):
    def forward(self, x):
        k = self.W_key(x)
        scores = self.W_query(x) @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        powers = torch.exp(scores - scores.amax(-1, keepdim=True).detach())
        return powers @ self.W_value(x) / powers.sum(-1, keepdim=True)


@alternative("SelfAttentionV2")
class QueriesAndKeysScaledApart(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, bool(qkv_bias))
        self.quarter = d_out**-0.25

    def forward(self, x):
        q, k = self.W_query(x) * self.quarter, self.W_key(x) * self.quarter
        return torch.log_softmax(q @ k.mT, dim=-1).exp() @ self.W_value(x)


@alternative("SelfAttentionV2")
class InputsMixedThenProjected(_Linears):
    def forward(self, x):
        q, k = self.W_query(x), self.W_key(x)
        weights = torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1)
        # rows of weights sum to one, so they leave the bias unchanged
        return self.W_value(weights @ x)


@alternative("SelfAttentionV2")
class BuffersAndModulesBesides(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.scale = torch.sqrt(torch.FloatTensor([d_out]))
        self.dropout = nn.Identity()

    def forward(self, x):
        self.calls += 1
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        self.weights = self.dropout(torch.softmax(q @ k.transpose(-2, -1) / self.scale, dim=-1))
        return self.weights @ v


@alternative("SelfAttentionV2")
class LayersByKeyword(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        nn.Module.__init__(self)
        sizes = {"in_features": d_in, "out_features": d_out, "bias": qkv_bias}
        self.W_query, self.W_key, self.W_value = (nn.Linear(**sizes) for _ in range(3))

    def forward(self, x):
        keys = self.W_key(x)
        scores = keys @ self.W_query(x).transpose(-2, -1)  # (..., S, T)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-2)
        return weights.transpose(-2, -1) @ self.W_value(x)


class _OwnProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight.mT, x.flatten(0, -2).mT @ gradient.flatten(0, -2)


@alternative("SelfAttentionV1")
class ProductsWithABackwardOfTheirOwn(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        q, k, v = (_OwnProduct.apply(x, w) for w in (self.W_query, self.W_key, self.W_value))
        return torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1) @ v


@alternative("SelfAttentionV1")
class WeightsInADictionary(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.register_parameter(name, nn.Parameter(torch.empty(d_in, d_out).normal_()))

    def forward(self, x):
        weights = dict(self.named_parameters())
        return torch.func.functional_call(_WithoutWeights(), {}, (x, weights))


class _WithoutWeights(nn.Module):
    def forward(self, x, weights):
        q, k, v = (torch.tensordot(x, weights[f"W_{n}"], 1) for n in ("query", "key", "value"))
        return (q @ k.mT).div(math.sqrt(k.size(-1))).softmax(-1) @ v


@alternative("SelfAttentionV2")
class ScalingInAHookOfTheQueries(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query.register_forward_hook(lambda layer, args, out: out / out.shape[-1] ** 0.5)

    def forward(self, x):
        return torch.softmax(self.W_query(x) @ self.W_key(x).mT, dim=-1) @ self.W_value(x)


@alternative("SelfAttentionV2")
class Checkpointed(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def _attend(self, x):
        scores = self.W_query(x) @ self.W_key(x).mT
        return (scores / self.W_key.out_features**0.5).softmax(-1) @ self.W_value(x)

    def forward(self, x):
        return checkpoint(self._attend, x, use_reentrant=False)


@alternative("SelfAttentionV1")
class NumberByNumber(_Parameters):
    def forward(self, x):
        if x.dim() > 2:
            return torch.stack([self(sentence) for sentence in x])
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        rows = []
        for query in queries:
            scores = []
            for key in keys:
                score = 0
                for a, b in zip(query, key, strict=True):
                    score = score + a * b
                scores.append(score / len(query) ** 0.5)
            weights = torch.softmax(torch.stack(scores), dim=0)
            rows.append(sum(w * v for w, v in zip(weights, values, strict=True)))
        return torch.stack(rows)
