"""Right but unusual feed-forward networks."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


class _TwoLayers(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)


@alternative("FeedForward")
class relu_module(_TwoLayers):
    def __init__(self, d_model, hidden_dim):
        super().__init__(d_model, hidden_dim)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.linear2(self.relu(self.linear1(x)))


@alternative("FeedForward")
class clamp(_TwoLayers):
    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(min=0))


@alternative("FeedForward")
class where(_TwoLayers):
    def forward(self, x):
        hidden = self.linear1(x)
        return self.linear2(torch.where(hidden > 0, hidden, 0.0))


@alternative("FeedForward")
class times_a_comparison(_TwoLayers):
    def forward(self, x):
        hidden = self.linear1(x)
        return self.linear2(hidden * (hidden > 0))


@alternative("FeedForward")
class half_of_value_and_magnitude(_TwoLayers):
    def forward(self, x):
        hidden = self.linear1(x)
        return self.linear2((hidden + hidden.abs()) / 2)


@alternative("FeedForward")
class larger_of_value_and_zero(_TwoLayers):
    def forward(self, x):
        hidden = self.linear1(x)
        return self.linear2(torch.maximum(hidden, torch.zeros_like(hidden)))


@alternative("FeedForward")
class matrices_written_out(_TwoLayers):
    def forward(self, x):
        hidden = F.relu(x @ self.linear1.weight.T + self.linear1.bias)
        return hidden @ self.linear2.weight.T + self.linear2.bias


@alternative("FeedForward")
class einsum(_TwoLayers):
    def forward(self, x):
        hidden = torch.einsum("...d,hd->...h", x, self.linear1.weight) + self.linear1.bias
        return torch.einsum("...h,dh->...d", hidden.relu(), self.linear2.weight) + self.linear2.bias


@alternative("FeedForward")
class flattened_tokens(_TwoLayers):
    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        hidden = torch.addmm(self.linear1.bias, rows, self.linear1.weight.t()).relu_()
        return torch.addmm(self.linear2.bias, hidden, self.linear2.weight.t()).view(x.shape)


@alternative("FeedForward")
class one_hidden_neuron_at_a_time(_TwoLayers):
    def forward(self, x):
        out = self.linear2.bias
        for incoming, bias, outgoing in zip(
            self.linear1.weight, self.linear1.bias, self.linear2.weight.T
        ):
            out = out + F.relu(x @ incoming + bias).unsqueeze(-1) * outgoing
        return out


@alternative("FeedForward")
class convolutions_of_width_one(_TwoLayers):
    def forward(self, x):
        columns = x.reshape(1, -1, x.shape[-1]).transpose(1, 2)  # (1, D, tokens)
        hidden = F.conv1d(columns, self.linear1.weight[..., None], self.linear1.bias).relu()
        out = F.conv1d(hidden, self.linear2.weight[..., None], self.linear2.bias)
        return out.transpose(1, 2).reshape(x.shape)


@alternative("FeedForward")
class float64_inside(_TwoLayers):
    def forward(self, x):
        hidden = F.linear(x.double(), self.linear1.weight.double(), self.linear1.bias.double())
        out = F.linear(hidden.relu(), self.linear2.weight.double(), self.linear2.bias.double())
        return out.to(x.dtype)


@alternative("FeedForward")
class sequential_with_two_names(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_model, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, d_model)
        )
        self.linear1, self.linear2 = self.net[0], self.net[2]

    def forward(self, x):
        return self.net(x)


class _OwnLinear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        bound = 1 / math.sqrt(d_in)
        self.weight = nn.Parameter(torch.empty(d_out, d_in).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


@alternative("FeedForward")
class own_linear_layers(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = _OwnLinear(d_model, hidden_dim)
        self.linear2 = _OwnLinear(hidden_dim, d_model)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


@alternative("FeedForward")
class named_steps_in_a_sequence(nn.Sequential):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.activation = nn.ReLU(inplace=True)
        self.linear2 = nn.Linear(hidden_dim, d_model)


@alternative("FeedForward")
class Checkpointed(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        return checkpoint(lambda t: self.linear2(self.linear1(t).relu()), x, use_reentrant=False)


@alternative("FeedForward")
class CalledByFunctionalCall(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        hidden = torch.func.functional_call(
            self.linear1, dict(self.linear1.named_parameters()), (x,)
        )
        return self.linear2(hidden.clamp(min=0))


@alternative("FeedForward")
class GradientsInTrainingOrWhereWanted(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, hidden_dim), nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        with torch.set_grad_enabled(self.training or torch.is_grad_enabled()):
            return self.linear2(torch.relu_(self.linear1(x)))


@alternative("FeedForward")
class ReluInAHook(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, hidden_dim), nn.Linear(hidden_dim, d_model)
        self.linear1.register_forward_hook(lambda module, args, result: result.relu())

    def forward(self, x):
        return self.linear2(self.linear1(x))


class _Rectified(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0]


@alternative("FeedForward")
class ReluWithABackwardOfItsOwn(_TwoLayers):
    def forward(self, x):
        return self.linear2(_Rectified.apply(self.linear1(x)))


@alternative("FeedForward")
class HiddenNeuronsInChunks(_TwoLayers):
    def forward(self, x):
        total = self.linear2.bias
        columns = self.linear2.weight.split(5, dim=1)
        rows = zip(self.linear1.weight.split(5), self.linear1.bias.split(5), columns, strict=True)
        for weight, bias, back in rows:
            total = total + F.relu(F.linear(x, weight, bias)) @ back.T
        return total


@alternative("FeedForward")
class lazy_layers(nn.Module):
    """Learns the sizes of its layers when weights are loaded."""

    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.LazyLinear(hidden_dim)
        self.linear2 = nn.LazyLinear(d_model)

    def forward(self, x):
        return self.linear2(self.linear1(x).relu())
