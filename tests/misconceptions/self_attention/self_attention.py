"""Known mistakes in self-attention layers."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.suite import misconception


def _attend(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1) @ values


class _Parameters(nn.Module):
    """The right layer with three parameters; mistakes change parts of it."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def project(self, x):
        return x @ self.W_query, x @ self.W_key, x @ self.W_value


class _Linears(nn.Module):
    """The right layer with three linear layers; mistakes change parts of it."""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)

    def forward(self, x):
        return _attend(*self.project(x))


# SelfAttentionV1: weights


@misconception(
    "SelfAttentionV1",
    confuses="fixed weights with trained ones: the weights are not trained",
    hint="Print `requires_grad` of your weights. What does it tell the optimizer?",
)
class WeightsNotTrained(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
        self.W_key = nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)
        self.W_value = nn.Parameter(torch.randn(d_in, d_out), requires_grad=False)

    def forward(self, x):
        return _attend(x @ self.W_query, x @ self.W_key, x @ self.W_value)


@misconception(
    "SelfAttentionV1",
    confuses="a tensor and a parameter: the module does not know its weights",
    hint="What does `list(layer.parameters())` show?",
)
class PlainTensors(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = torch.randn(d_in, d_out, requires_grad=True)
        self.W_key = torch.randn(d_in, d_out, requires_grad=True)
        self.W_value = torch.randn(d_in, d_out, requires_grad=True)

    def forward(self, x):
        return _attend(x @ self.W_query, x @ self.W_key, x @ self.W_value)


@misconception(
    "SelfAttentionV1",
    confuses="(d_in, d_out) and the shape in which a linear layer stores its weight: the weights "
    "have shape (d_out, d_in), as in a linear layer",
    hint="Which shape does the exercise give for the three parameters?",
)
class WeightsStoredTurned(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_out, d_in))
        self.W_key = nn.Parameter(torch.randn(d_out, d_in))
        self.W_value = nn.Parameter(torch.randn(d_out, d_in))

    def forward(self, x):
        return _attend(x @ self.W_query.T, x @ self.W_key.T, x @ self.W_value.T)


@misconception(
    "SelfAttentionV1",
    confuses="three matrices and one matrix under three names: W_query, W_key and W_value are one "
    "matrix with three names",
    hint="How many different numbers can be trained in your layer?",
)
class OneMatrixForAll(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = self.W_key = self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x):
        return _attend(x @ self.W_query, x @ self.W_key, x @ self.W_value)


@misconception(
    "SelfAttentionV1",
    confuses="parameters and linear layers, which come in the second class: the weights are linear "
    "layers instead of parameters",
    hint="What is `layer.W_query` in this class, a tensor or a layer?",
)
class LinearLayers(_Linears):
    pass


@misconception(
    "SelfAttentionV1",
    confuses="the three weights with the output projection of multi-head attention: there is an "
    "additional output projection",
    hint="Which trained weights does the exercise name?",
)
class OutputProjectionAdded(_Parameters):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.W_out = nn.Parameter(torch.eye(d_out))

    def forward(self, x):
        return _attend(*self.project(x)) @ self.W_out


@misconception(
    "SelfAttentionV1",
    confuses="this layer with a linear layer that has a bias: there is an additional bias",
    hint="Which trained weights does the exercise name?",
)
class BiasAdded(_Parameters):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        return _attend(*self.project(x)) + self.bias


# SelfAttentionV1: forward


@misconception(
    "SelfAttentionV1",
    confuses="queries with keys: the rows of the scores belong to keys instead of queries",
    hint="Row t of the scores should belong to query t. In your code, is it made with W_query or "
    "with W_key?",
)
class QueryAndKeyExchanged(_Parameters):
    def forward(self, x):
        return _attend(x @ self.W_key, x @ self.W_query, x @ self.W_value)


@misconception(
    "SelfAttentionV1",
    confuses="keys and values: the weights mix the keys instead of the values",
    hint="Which of your lines makes the values, and which tensor do the weights mix?",
)
class KeysAsValues(_Parameters):
    def forward(self, x):
        return _attend(x @ self.W_query, x @ self.W_key, x @ self.W_key)


@misconception(
    "SelfAttentionV1",
    confuses="values and inputs: the weights mix the inputs themselves",
    hint="Which shape does the result have, (..., T, d_in) or (..., T, d_out)?",
)
class InputsMixed(_Parameters):
    def forward(self, x):
        return _attend(x @ self.W_query, x @ self.W_key, x)


@misconception(
    "SelfAttentionV1",
    confuses="self-attention with weights and the simple one without: the scores are computed "
    "from the inputs, without weights",
    hint="What are the first two weights for?",
)
class InputsScored(_Parameters):
    def forward(self, x):
        return _attend(x, x, x @ self.W_value)


@misconception(
    "SelfAttentionV1",
    confuses="scaled and plain dot-product attention: the scores are not scaled",
    hint="Which step comes between the scores and the softmax?",
)
class NotScaled(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        return torch.softmax(queries @ keys.transpose(-2, -1), dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="the size d of a key and its square root: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
class ScaledBySize(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1]
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="the size of a key and the size of an input vector: the scores are divided by the "
    "square root of the size of an input vector",
    hint="Between which vectors is the dot product taken, and how long are they?",
)
class ScaledByInputSize(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / x.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="the size of a key and the number of tokens: the scores are divided by the square "
    "root of the number of tokens",
    hint="Would a longer sentence change your scale?",
)
class ScaledByNumberOfTokens(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / x.shape[-2] ** 0.5
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="dimension 1 and the last one: the scale depends on dimension 1, which counts tokens "
    "in a batch",
    hint="What is `keys.shape[1]` for a batch of sentences?",
)
class ScaledByDimensionOne(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[1] ** 0.5
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="the square root and its integer part: the square root is truncated to a whole number",
    hint="What is the square root of 3?",
)
class ScaledByRoundedRoot(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / math.isqrt(keys.shape[-1])
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="the last two dimensions with all of them: in a batch, the first dimension is swapped "
    "as well",
    hint="For a batch of two sentences, print the shape of the tensor that the queries are "
    "multiplied by.",
)
class AllDimensionsTurned(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        turned = keys.permute(tuple(reversed(range(keys.dim()))))
        return torch.softmax(queries @ turned / keys.shape[-1] ** 0.5, dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="batches of sentences and any number of dimensions: dimensions 1 and 2 are swapped, "
    "which works only for a batch",
    hint="Which dimensions are the last two of a single sentence?",
)
class DimensionsOneAndTwoTurned(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="entries with tokens: entries of the queries are scored against entries of the keys",
    hint="What is the shape of your scores: (T, T) or (d_out, d_out)?",
)
class EntriesScored(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries.transpose(-2, -1) @ keys / keys.shape[-1] ** 0.5
        return values @ torch.softmax(scores, dim=-1)


@misconception(
    "SelfAttentionV1",
    confuses="dimension 1 and the last one: with a batch, softmax runs over the queries",
    hint="In a batch, what does dimension 1 count?",
)
class SoftmaxOverDimensionOne(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="softmax over the keys and over the queries: softmax runs over the queries instead of "
    "the keys",
    hint="Do the rows or the columns of your weights sum to one?",
)
class SoftmaxOverQueries(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-2) @ values


@misconception(
    "SelfAttentionV1",
    confuses="scores and weights: the softmax is missing",
    hint="What are the values multiplied by, and do these numbers sum to one?",
)
class NoSoftmax(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        return queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5 @ values


@misconception(
    "SelfAttentionV1",
    confuses="weights with context vectors: softmax is applied to the context, not to the scores",
    hint="Which numbers in your code sum to one? They should be the weights of the tokens.",
)
class SoftmaxOfTheContext(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        return torch.softmax(scores @ values, dim=-1)


@misconception(
    "SelfAttentionV1",
    confuses="weights and context vectors: the attention weights are returned instead of the "
    "context vectors",
    hint="Which shape does the result have, (..., T, T) or (..., T, d_out)?",
)
class WeightsReturned(_Parameters):
    def forward(self, x):
        queries, keys, _ = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1)


@misconception(
    "SelfAttentionV1",
    confuses="one result and two: the weights are returned as well",
    hint="What can the next layer do with a tuple?",
)
class WeightsReturnedToo(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        weights = torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values, weights


@misconception(
    "SelfAttentionV1",
    confuses="full and causal attention: later tokens are masked",
    hint="Does this class stop a token from looking at later ones?",
)
class Causal(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="self-attention and the block around it: the input is added to the result if the "
    "sizes match",
    hint="Which numbers does the formula mix, and does it add anything?",
)
class InputAdded(_Parameters):
    def forward(self, x):
        context = _attend(*self.project(x))
        return context + x if context.shape == x.shape else context


@misconception(
    "SelfAttentionV1",
    confuses="weights that are used and weights that are trained: the scores get no gradient",
    hint="Which of the three matrices can still learn in your code?",
)
class AttentionWeightsDetached(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1).detach() @ values


@misconception(
    "SelfAttentionV1",
    confuses="training and inference: no gradient is recorded",
    hint="Does your result have a `grad_fn` in train mode?",
)
class NothingRecorded(_Parameters):
    def forward(self, x):
        with torch.no_grad():
            return _attend(*self.project(x))


@misconception(
    "SelfAttentionV1",
    confuses="dimensions of size 1 with dimensions that are not needed: dimensions of size one are "
    "dropped from the result",
    hint="What is the shape of the result for a batch of one sentence?",
)
class Squeezed(_Parameters):
    def forward(self, x):
        return _attend(*self.project(x)).squeeze()


@misconception(
    "SelfAttentionV1",
    confuses="each sentence and the first one: all tokens use the keys of sentence 0",
    hint="Change the first sentence only: does the result of the second one change?",
)
class KeysOfTheFirstSentence(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        first = keys if keys.dim() == 2 else keys[:1].expand_as(keys)
        return _attend(queries, first, values)


@misconception(
    "SelfAttentionV1",
    confuses="reading a weight and changing it: the scale is multiplied into a weight in every "
    "call",
    hint="What does the second call with the same input give?",
)
class ScaleWrittenIntoTheWeight(_Parameters):
    def forward(self, x):
        self.W_query.data /= self.W_query.shape[-1] ** 0.5
        queries, keys, values = self.project(x)
        return torch.softmax(queries @ keys.transpose(-2, -1), dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="the tokens of this call and those of earlier calls: the tokens of earlier calls are "
    "kept",
    hint="What does the second call with the same input give?",
)
class KeysOfEarlierCallsKept(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        if getattr(self, "kept", None) is not None and self.kept[0].shape[:-2] == keys.shape[:-2]:
            keys = torch.cat([self.kept[0].to(keys), keys], dim=-2)
            values = torch.cat([self.kept[1].to(values), values], dim=-2)
        self.kept = keys.detach(), values.detach()
        return _attend(queries, keys, values)


@misconception(
    "SelfAttentionV1",
    confuses="the dtype of the layer and float32: part of the computation runs in float32, so "
    "digits are lost",
    hint="Which step of your code loses digits of a float64 input?",
)
class ThroughFloat32(_Parameters):
    def forward(self, x):
        weights = (self.W_query.float(), self.W_key.float(), self.W_value.float())
        return _attend(*(x.float() @ weight for weight in weights)).to(x.dtype)


@misconception(
    "SelfAttentionV1",
    confuses="train mode and eval mode: the scale is left out in eval mode",
    hint="What may differ between train and eval mode in a layer without dropout?",
)
class ScaledInTrainModeOnly(_Parameters):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scale = keys.shape[-1] ** 0.5 if self.training else 1.0
        return torch.softmax(queries @ keys.transpose(-2, -1) / scale, dim=-1) @ values


@misconception(
    "SelfAttentionV1",
    confuses="self-attention and self-attention with dropout, which comes later: dropout is "
    "applied in train mode",
    hint="What do the attention weights of a token add up to in train mode?",
)
class DropoutInTrainMode(_Parameters):
    def forward(self, x):
        torch.manual_seed(123)
        queries, keys, values = self.project(x)
        weights = torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)
        return F.dropout(weights, 0.2, self.training) @ values


# SelfAttentionV2: layers


@misconception(
    "SelfAttentionV2",
    confuses="an option with a rule: the projections always have a bias",
    hint="Build it without `qkv_bias`. Does `W_query` have a bias?",
)
class BiasAlways(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, True)


@misconception(
    "SelfAttentionV2",
    confuses="accepting an argument with using it: there is never a bias",
    hint="Where does your code read `qkv_bias`?",
)
class BiasNever(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, False)


@misconception(
    "SelfAttentionV2",
    confuses="one layer with a bias and all three: only one of the three layers gets a bias",
    hint="Which of your layers use `qkv_bias`?",
)
class BiasOnQueriesOnly(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)


@misconception(
    "SelfAttentionV2",
    confuses="True and False as the default of `qkv_bias`: `qkv_bias` is True by default",
    hint="What does the signature say about the default?",
)
class BiasByDefault(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=True):
        super().__init__(d_in, d_out, qkv_bias)


@misconception(
    "SelfAttentionV2",
    confuses="three layers and one layer under three names: W_query, W_key and W_value are one "
    "layer with three names",
    hint="How many different numbers can be trained in your layer?",
)
class OneLayerForAll(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.W_key = self.W_value = self.W_query


@misconception(
    "SelfAttentionV2",
    confuses="the sizes of input and output of `nn.Linear`: the two sizes of `nn.Linear` are "
    "swapped",
    hint="In which order does `nn.Linear` take its two sizes?",
)
class SizesExchanged(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_out, d_in, qkv_bias)


@misconception(
    "SelfAttentionV2",
    confuses="registered layers with layers that the module does not find: the module does not "
    "find its layers",
    hint="What does `list(layer.parameters())` show? Torch does not find layers in a plain list or "
    "dict. Here, each of the three must be an attribute with its own name.",
)
class LayersInAList(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]

    def forward(self, x):
        return _attend(*(layer(x) for layer in self.layers))


@misconception(
    "SelfAttentionV2",
    confuses="linear layers and plain parameters, which the first class has: the weights are plain "
    "parameters instead of linear layers",
    hint="What is `layer.W_query` in this class, a tensor or a layer?",
)
class PlainParameters(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x):
        return _attend(x @ self.W_query, x @ self.W_key, x @ self.W_value)


@misconception(
    "SelfAttentionV2",
    confuses="the three layers with the output projection of multi-head attention: there is an "
    "additional output projection",
    hint="Which trained layers does the exercise name?",
)
class OutputLayerAdded(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        torch.nn.init.eye_(self.out_proj.weight)
        torch.nn.init.zeros_(self.out_proj.bias)
        return self.out_proj(super().forward(x))


@misconception(
    "SelfAttentionV2",
    confuses="the result with the output projection that multi-head attention applies to it: the "
    "result goes through an output projection",
    hint="Which trained layers does the exercise name, and what should be returned?",
)
class OutputLayerApplied(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        return self.out_proj(super().forward(x))


@misconception(
    "SelfAttentionV2",
    confuses="trained weights and fixed ones: the layers are frozen",
    hint="Print `requires_grad` of the weights of your layers. What does it tell the optimizer?",
)
class LayersFrozen(_Linears):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.requires_grad_(False)


# SelfAttentionV2: forward


@misconception(
    "SelfAttentionV2",
    confuses="weights with context vectors: softmax is applied to the context, not to the scores",
    hint="Which numbers in your code sum to one? They should be the weights of the tokens.",
)
class SoftmaxTakenOfTheContext(_Linears):
    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        return torch.softmax(scores @ values, dim=-1)


@misconception(
    "SelfAttentionV2",
    confuses="calling a layer and multiplying by its weight: the bias is left out",
    hint="Which part of `nn.Linear` does your product not use?",
)
class BiasLeftOut(_Linears):
    def forward(self, x):
        layers = self.W_query, self.W_key, self.W_value
        return _attend(*(x @ layer.weight.T for layer in layers))


@misconception(
    "SelfAttentionV2",
    confuses="(d_out, d_in) and (d_in, d_out): the weight of a layer is not transposed",
    hint="What is the shape of `layer.weight`, and what does calling the layer do with it?",
)
class WeightNotTransposed(_Linears):
    def forward(self, x):
        layers = self.W_query, self.W_key, self.W_value
        biases = [0.0 if layer.bias is None else layer.bias for layer in layers]
        return _attend(*(x @ layer.weight + b for layer, b in zip(layers, biases, strict=True)))


@misconception(
    "SelfAttentionV2",
    confuses="a layer that adds its bias on its own and one that does not: the bias is added twice",
    hint="What does `layer(x)` already contain?",
)
class BiasAddedTwice(_Linears):
    def forward(self, x):
        results = []
        for layer in (self.W_query, self.W_key, self.W_value):
            result = layer(x)
            results.append(result if layer.bias is None else result + layer.bias)
        return _attend(*results)


@misconception(
    "SelfAttentionV2",
    confuses="a projection and a layer with an activation: an activation is applied to the "
    "projections",
    hint="Can a query contain negative numbers?",
)
class ActivationAdded(_Linears):
    def forward(self, x):
        return _attend(*(F.relu(projected) for projected in self.project(x)))


@misconception(
    "SelfAttentionV2",
    confuses="queries with keys: the rows of the scores belong to keys instead of queries",
    hint="Row t of the scores should belong to query t. In your code, is it made with W_query or "
    "with W_key?",
)
class LayersOfQueryAndKeyExchanged(_Linears):
    def forward(self, x):
        return _attend(self.W_key(x), self.W_query(x), self.W_value(x))


@misconception(
    "SelfAttentionV2",
    confuses="keys and values: the weights mix the keys instead of the values",
    hint="Which of your lines makes the values, and which tensor do the weights mix?",
)
class KeyLayerForValues(_Linears):
    def forward(self, x):
        return _attend(self.W_query(x), self.W_key(x), self.W_key(x))


@misconception(
    "SelfAttentionV2",
    confuses="three projections of the input with a chain: values are computed from keys",
    hint="From which tensor is each of the three computed?",
)
class ValuesMadeOfKeys(_Linears):
    def forward(self, x):
        keys = self.W_key(x)
        return _attend(self.W_query(x), keys, self.W_value(keys))


@misconception(
    "SelfAttentionV2",
    confuses="scaled and plain dot-product attention: the scores are not scaled",
    hint="Which step comes between the scores and the softmax?",
)
class ScaleForgotten(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        return torch.softmax(queries @ keys.transpose(-2, -1), dim=-1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="the size d of a key and its square root: in total, the scores are divided by d",
    hint="Count every division along the way. For d = 4, what are the scores divided by, and what "
    "should they be divided by?",
)
class RootForgotten(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1]
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="the size of a key and the size of an input vector: the scores are divided by the "
    "square root of the size of an input vector",
    hint="Between which vectors is the dot product taken, and how long are they?",
)
class RootOfInputSize(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / self.W_query.in_features**0.5
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="dimension 1 and the last one: the scale depends on dimension 1, which counts tokens "
    "in a batch",
    hint="What is `keys.shape[1]` for a batch of sentences?",
)
class RootOfDimensionOne(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[1] ** 0.5
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="the square root and its integer part: the square root is truncated to a whole number",
    hint="What is the square root of 3?",
)
class RootRoundedDown(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / int(keys.shape[-1] ** 0.5)
        return torch.softmax(scores, dim=-1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="the last two dimensions with all of them: in a batch, the first dimension is swapped "
    "as well",
    hint="For a batch of two sentences, print the shape of the tensor that the queries are "
    "multiplied by.",
)
class EveryDimensionTurned(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        turned = keys.permute(tuple(reversed(range(keys.dim()))))
        return torch.softmax(queries @ turned / keys.shape[-1] ** 0.5, dim=-1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="entries with tokens: entries of the queries are scored against entries of the keys",
    hint="What is the shape of your scores: (T, T) or (d_out, d_out)?",
)
class EntriesOfVectorsScored(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries.transpose(-2, -1) @ keys / keys.shape[-1] ** 0.5
        return values @ torch.softmax(scores, dim=-1)


@misconception(
    "SelfAttentionV2",
    confuses="batches with inputs of any number of dimensions: only inputs with three dimensions "
    "work",
    hint="How many dimensions does a single sentence have?",
)
class BatchesOnly(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = torch.bmm(queries, keys.transpose(1, 2)) / keys.shape[-1] ** 0.5
        return torch.bmm(torch.softmax(scores, dim=-1), values)


@misconception(
    "SelfAttentionV2",
    confuses="dimension 1 and the last one: with a batch, softmax runs over the queries",
    hint="In a batch, what does dimension 1 count?",
)
class SoftmaxInDimensionOne(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="rows and columns of the weights when the values are mixed: rows and columns of the "
    "weights are swapped",
    hint="Which numbers say how much of value s goes into context t?",
)
class WeightsTurned(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1).transpose(-2, -1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="full and causal attention: later tokens are masked",
    hint="Does this class stop a token from looking at later ones?",
)
class LaterTokensMasked(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1) @ values


@misconception(
    "SelfAttentionV2",
    confuses="self-attention and the block around it: the input is normalized first",
    hint="Which layers does the exercise name?",
)
class InputNormalised(_Linears):
    def forward(self, x):
        return super().forward(F.layer_norm(x, x.shape[-1:]))


@misconception(
    "SelfAttentionV2",
    confuses="self-attention and the block around it: the input is added to the result if the "
    "sizes match",
    hint="Which numbers does the formula mix, and does it add anything?",
)
class ResidualAdded(_Linears):
    def forward(self, x):
        context = super().forward(x)
        return context + x if context.shape == x.shape else context


@misconception(
    "SelfAttentionV2",
    confuses="one result and two: the weights are returned as well",
    hint="What can the next layer do with a tuple?",
)
class TupleReturned(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        weights = torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values, weights


@misconception(
    "SelfAttentionV2",
    confuses="the input and a copy that carries no gradient: layers before this one can't learn",
    hint="What does the gradient have to pass through to reach an earlier layer?",
)
class InputDetached(_Linears):
    def forward(self, x):
        return super().forward(x.detach())


@misconception(
    "SelfAttentionV2",
    confuses="weights that are used and weights that are trained: the scores get no gradient",
    hint="Which of the three layers can still learn in your code?",
)
class ScoresDetached(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        return _attend(queries.detach(), keys.detach(), values)


@misconception(
    "SelfAttentionV2",
    confuses="dimensions of size 1 with dimensions that are not needed: dimensions of size one are "
    "dropped from the result",
    hint="What is the shape of the result for a batch of one sentence?",
)
class SizeOneSqueezed(_Linears):
    def forward(self, x):
        return super().forward(x).squeeze()


@misconception(
    "SelfAttentionV2",
    confuses="each sentence and the whole batch: tokens of all sentences attend to each other",
    hint="Change the second sentence only: does your first result change?",
)
class BatchAsOneSentence(_Linears):
    def forward(self, x):
        flat = super().forward(x.reshape(-1, x.shape[-1]))
        return flat.reshape(*x.shape[:-1], flat.shape[-1])


@misconception(
    "SelfAttentionV2",
    confuses="float32 with the dtype of the layer: the result is always float32",
    hint="Which dtype does your result have after `layer.double()`?",
)
class AlwaysFloat32(_Linears):
    def forward(self, x):
        return super().forward(x).float()


@misconception(
    "SelfAttentionV2",
    confuses="self-attention and self-attention with dropout, which comes later: dropout is "
    "applied in train mode",
    hint="What do the attention weights of a token add up to in train mode?",
)
class DropoutAdded(_Linears):
    def forward(self, x):
        torch.manual_seed(123)
        queries, keys, values = self.project(x)
        weights = torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5, dim=-1)
        return F.dropout(weights, 0.2, self.training) @ values


@misconception(
    "SelfAttentionV2",
    confuses="a new tensor and the caller's input: the caller's input is changed in place",
    hint="Print the caller's input before and after the call.",
)
class InputCentredInPlace(_Linears):
    def forward(self, x):
        context = super().forward(x.clone())
        x.sub_(x.mean(dim=-1, keepdim=True))
        return context


@misconception(
    "SelfAttentionV2",
    confuses="one score for each pair with one for each token: query t is compared only with key t",
    hint="How many pairs of two tokens are there?",
)
class OwnKeyOnly(_Linears):
    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = (queries * keys).sum(-1, keepdim=True) / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-2) * values


@misconception(
    "SelfAttentionV2",
    confuses="training and inference: no gradient is recorded",
    hint="Does your result have a `grad_fn` in train mode?",
)
class ForwardWithoutGradient(_Linears):
    @torch.no_grad()
    def forward(self, x):
        return _attend(*self.project(x))


@misconception(
    "SelfAttentionV2",
    confuses="three layers with one layer of three times the size: one layer that is three times "
    "as large is used instead of three layers",
    hint="Under which names will other code look for the three layers?",
)
class OneLayerOfThreeTimesTheSize(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)

    def forward(self, x):
        return _attend(*self.qkv(x).chunk(3, dim=-1))


@misconception(
    "SelfAttentionV2",
    confuses="a changed weight with an unchanged one: after the first call, some changes to a "
    "weight are not noticed",
    hint="Double the numbers in the `.data` of a weight between two calls. Does the second call "
    "use the new numbers?",
)
class weights_kept_by_their_version(_Linears):
    def project(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        now = tuple(layer.weight._version for layer in layers)
        if torch.is_grad_enabled() or self.training:
            return super().project(x)
        if getattr(self, "version", None) != now:
            self.version = now
            self.joined = torch.cat([layer.weight for layer in layers])
        parts = (x @ self.joined.T).chunk(3, dim=-1)
        biases = [0 if layer.bias is None else layer.bias for layer in layers]
        return tuple(part + bias for part, bias in zip(parts, biases))


@misconception(
    "SelfAttentionV1",
    confuses="the current parameters with the initial ones: parameters that are set later have no "
    "effect",
    hint="Set a weight with `layer.W_query = nn.Parameter(...)`. Which one does forward use?",
)
class weights_in_a_list_of_its_own(_Parameters):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
        self.all = (self.W_query, self.W_key, self.W_value)

    def forward(self, x):
        return _attend(*(x @ weight for weight in self.all))


@misconception(
    "SelfAttentionV2",
    confuses="layers that are built once with layers that are built in every call: new layers are "
    "created in every call",
    hint="Call it twice with the same input. Which weights would an optimizer train?",
)
class LayersBuiltInForward(_Linears):
    def forward(self, x):
        for name in ("W_query", "W_key", "W_value"):
            old = getattr(self, name)
            new = nn.Linear(old.in_features, old.out_features, bias=old.bias is not None)
            setattr(self, name, new.to(x.dtype))
        return super().forward(x)
