"""Right but unusual ways to compute add and norm, and the encoder block."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


@alternative("add_and_norm")
def root_mean_square_of_the_distances(x, sublayer_output, weight, bias, eps=1e-5):
    centered = x + sublayer_output
    centered = centered - centered.mean(-1, keepdim=True)
    return centered * torch.rsqrt(centered.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


@alternative("add_and_norm")
def mean_of_squares_less_squared_mean(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    mean = total.mean(-1, keepdim=True)
    variance = (total * total).mean(-1, keepdim=True) - mean * mean
    return weight * (total - mean) / (variance + eps) ** 0.5 + bias


@alternative("add_and_norm")
def var_mean_and_addcmul(x, sublayer_output, weight, bias, eps=1e-5):
    total = torch.add(x, sublayer_output)
    variance, mean = torch.var_mean(total, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, weight, (total - mean) / (variance + eps).sqrt())


@alternative("add_and_norm")
def squared_standard_deviation(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    variance = total.std(-1, keepdim=True, correction=0) ** 2
    return (total - total.mean(-1, True)) / (variance + eps).sqrt() * weight + bias


@alternative("add_and_norm")
def centering_matrix(x, sublayer_output, weight, bias, eps=1e-5):
    size = x.shape[-1]
    center = torch.eye(size, dtype=x.dtype, device=x.device) - 1 / size
    centered = (x + sublayer_output) @ center
    variance = torch.einsum("...d,...d->...", centered, centered) / size
    return torch.einsum("...d,...,d->...d", centered, (variance + eps).rsqrt(), weight) + bias


@alternative("add_and_norm")
def token_by_token(x, sublayer_output, weight, bias, eps=1e-5):
    rows = []
    for row in (x + sublayer_output).reshape(-1, x.shape[-1]):
        mean = sum(row) / len(row)
        variance = sum((entry - mean) ** 2 for entry in row) / len(row)
        rows.append((row - mean) / torch.sqrt(variance + eps) * weight + bias)
    return torch.stack(rows).reshape(x.shape)


@alternative("add_and_norm")
def last_dimension_first(x, sublayer_output, weight, bias, eps=1e-5):
    total = (x + sublayer_output).movedim(-1, 0)
    total = (total - total.mean(0)) / torch.sqrt(total.var(0, unbiased=False) + eps)
    return total.movedim(0, -1) * weight + bias


@alternative("add_and_norm")
def float64_inside(x, sublayer_output, weight, bias, eps=1e-5):
    total = x.double() + sublayer_output.double()
    total -= total.mean(-1, keepdim=True)
    total = total / torch.sqrt(total.square().mean(-1, keepdim=True) + eps)
    return (total * weight + bias).to(x.dtype)


@alternative("add_and_norm")
def scale_and_shift_of_every_token(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    scale = weight / torch.sqrt(total.var(-1, keepdim=True, correction=0) + eps)
    return total * scale + (bias - total.mean(-1, keepdim=True) * scale)


@alternative("add_and_norm")
def vmap_over_tokens(x, sublayer_output, weight, bias, eps=1e-5):
    def norm(row):
        row = row - row.mean()
        return weight * row / torch.sqrt(row.dot(row) / row.numel() + eps) + bias

    total = x + sublayer_output
    return torch.vmap(norm)(total.reshape(-1, total.shape[-1])).view(total.shape)


@alternative("add_and_norm")
def eps_in_the_vector_norm(x, sublayer_output, weight, bias, eps=1e-5):
    size = x.shape[-1]
    total = x + sublayer_output
    total = total - total.sum(-1, keepdim=True) / size
    root = torch.full_like(total[..., :1], (eps * size) ** 0.5)
    length = torch.linalg.vector_norm(torch.cat([total, root], dim=-1), dim=-1, keepdim=True)
    return weight * total * size**0.5 / length + bias


class _Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        q, k, v = (
            torch.stack(layer(x).chunk(self.num_heads, dim=-1), dim=1)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
        return self.out_proj(torch.cat((weights @ v).unbind(1), dim=-1))


class _FeedForward(nn.Module):
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, d_model)

    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(min=0))


class _Parts(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.attention = _Attention(d_model, num_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.feed_forward = _FeedForward(d_model, hidden_dim)
        self.norm2 = nn.LayerNorm(d_model)


class _OwnNorm(nn.Module):
    def __init__(self, size, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return self.weight * x / (x.square().mean(-1, keepdim=True) + self.eps).sqrt() + self.bias


@alternative("EncoderBlock")
class own_norms(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.attention = _Attention(d_model, num_heads)
        self.feed_forward = _FeedForward(d_model, hidden_dim)
        self.norm1, self.norm2 = _OwnNorm(d_model), _OwnNorm(d_model)

    def forward(self, x):
        x = self.norm1(self.attention(x) + x)
        return self.norm2(self.feed_forward(x) + x)


@alternative("EncoderBlock")
class functional_norms(_Parts):
    def norm(self, x, norm):
        return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias)

    def forward(self, x):
        after_attention = self.norm(torch.add(x, self.attention(x)), self.norm1)
        after_network = torch.add(after_attention, self.feed_forward(after_attention))
        return self.norm(after_network, self.norm2)


@alternative("EncoderBlock")
class list_of_sublayers_and_norms(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.sublayers = nn.ModuleList(
            [_Attention(d_model, num_heads), _FeedForward(d_model, hidden_dim)]
        )
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(2)])
        self.attention, self.feed_forward = self.sublayers
        self.norm1, self.norm2 = self.norms

    def forward(self, x):
        for sublayer, norm in zip(self.sublayers, self.norms):
            x = norm(x + sublayer(x))
        return x


@alternative("EncoderBlock")
class sequence_by_sequence(_Parts):
    def forward(self, x):
        results = []
        for tokens in x.split(1):
            tokens = self.norm1(tokens + self.attention(tokens))
            results.append(self.norm2(tokens + self.feed_forward(tokens)))
        return torch.cat(results)


@alternative("EncoderBlock")
class flat_tokens_after_attention(_Parts):
    def forward(self, x):
        rows = (x + self.attention(x)).reshape(-1, x.shape[-1])
        rows = self.norm1(rows)
        return self.norm2(rows + self.feed_forward(rows)).reshape(x.shape)


@alternative("EncoderBlock")
class token_by_token_after_attention(_Parts):
    def forward(self, x):
        middle = self.norm1(x + self.attention(x))
        tokens = [self.norm2(t + self.feed_forward(t)) for t in middle.unbind(dim=1)]
        return torch.stack(tokens, dim=1)


@alternative("EncoderBlock")
class vmap_over_the_batch(_Parts):
    def one(self, tokens):
        tokens = self.norm1(tokens + self.attention(tokens[None])[0])
        return self.norm2(tokens + self.feed_forward(tokens))

    def forward(self, x):
        return torch.vmap(self.one)(x)


@alternative("EncoderBlock")
class additions_in_place_on_own_tensors(_Parts):
    def forward(self, x):
        total = self.attention(x)
        total += x
        middle = self.norm1(total)
        total = self.feed_forward(middle)
        total += middle
        return self.norm2(total)


@alternative("EncoderBlock")
class everything_from_the_weights(_Parts):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        self.num_heads = num_heads

    def forward(self, x):
        a, f = self.attention, self.feed_forward
        q, k, v = (
            F.linear(x, layer.weight, layer.bias).unflatten(-1, (self.num_heads, -1))
            for layer in (a.W_query, a.W_key, a.W_value)
        )  # (B, T, H, d)
        weights = torch.einsum("bthd,bshd->bhts", q, k).mul(q.shape[-1] ** -0.5).softmax(-1)
        context = torch.einsum("bhts,bshd->bthd", weights, v).flatten(-2)
        x = self.norm1(x + F.linear(context, a.out_proj.weight, a.out_proj.bias))
        hidden = torch.relu(x @ f.linear1.weight.T + f.linear1.bias)
        return self.norm2(x + hidden @ f.linear2.weight.T + f.linear2.bias)


@alternative("EncoderBlock")
class torch_encoder_layer_on_loan(_Parts):
    """Runs torch's own layer with this layer's weights."""

    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__(d_model, num_heads, hidden_dim)
        # in a list, so that its weights are not registered in this module
        self.loan = [
            nn.TransformerEncoderLayer(
                d_model, num_heads, hidden_dim, dropout=0.0, batch_first=True, norm_first=False
            )
        ]

    def forward(self, x):
        a, f = self.attention, self.feed_forward
        own = {
            "self_attn.in_proj_weight": [a.W_query.weight, a.W_key.weight, a.W_value.weight],
            "self_attn.in_proj_bias": [a.W_query.bias, a.W_key.bias, a.W_value.bias],
            "self_attn.out_proj.weight": [a.out_proj.weight],
            "self_attn.out_proj.bias": [a.out_proj.bias],
        }
        for name, part in (
            ("linear1", f.linear1),
            ("linear2", f.linear2),
            ("norm1", self.norm1),
            ("norm2", self.norm2),
        ):
            own[f"{name}.weight"], own[f"{name}.bias"] = [part.weight], [part.bias]
        own = {name: torch.cat(parts) for name, parts in own.items()}
        return torch.func.functional_call(self.loan[0].train(), own, (x,))


@alternative("add_and_norm")
def moments_in_double(x, sublayer_output, weight, bias, eps=1e-5):
    total = x.double() + sublayer_output.double()
    centred = total - total.mean(-1, keepdim=True)
    normed = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
    return (normed * weight.double() + bias.double()).to(x.dtype)


@alternative("add_and_norm")
def checkpointed_norm(x, sublayer_output, weight, bias, eps=1e-5):
    def norm(total):
        variance, mean = torch.var_mean(total, dim=-1, correction=0, keepdim=True)
        return (total - mean) / torch.sqrt(variance + eps)

    return torch.addcmul(bias, checkpoint(norm, x + sublayer_output, use_reentrant=False), weight)


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, total, weight, bias, eps):
        centred = total - total.mean(-1, keepdim=True)
        scale = (centred.square().mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(centred * scale, scale, weight)
        return centred * scale * weight + bias

    @staticmethod
    def backward(ctx, gradient):
        normed, scale, weight = ctx.saved_tensors
        inner = gradient * weight
        mean = inner.mean(-1, keepdim=True)
        along = (inner * normed).mean(-1, keepdim=True)
        rows = gradient.reshape(-1, len(weight))
        to_weight = (rows * normed.reshape(-1, len(weight))).sum(0)
        return scale * (inner - mean - normed * along), to_weight, rows.sum(0), None


@alternative("add_and_norm")
def backward_of_its_own(x, sublayer_output, weight, bias, eps=1e-5):
    total = x + sublayer_output
    return _Norm.apply(total, weight, bias, eps)


@alternative("add_and_norm")
def tokens_in_chunks(x, sublayer_output, weight, bias, eps=1e-5):
    total = (x + sublayer_output).reshape(-1, x.shape[-1])
    parts = []
    for rows in total.split(4):
        variance, mean = torch.var_mean(rows, dim=-1, correction=0, keepdim=True)
        parts.append((rows - mean) / torch.sqrt(variance + eps) * weight + bias)
    return torch.cat(parts).view(x.shape)


class _OwnAttention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.W_query, self.W_key, self.W_value, self.out_proj = (
            nn.Linear(size, size) for _ in range(4)
        )

    def forward(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        parts = zip(*(layer(x).chunk(self.heads, -1) for layer in layers), strict=True)
        heads = [(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v for q, k, v in parts]
        return self.out_proj(torch.cat(heads, -1))


class _OwnFeedForward(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(size, hidden), nn.Linear(hidden, size)

    def forward(self, x):
        return self.linear2(self.linear1(x).relu())


@alternative("EncoderBlock")
class own_classes_in_place_of_parts(nn.Module):
    def __init__(self, d_model, num_heads, hidden_dim):
        super().__init__()
        self.attention = _OwnAttention(d_model, num_heads)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = _OwnFeedForward(d_model, hidden_dim)

    def forward(self, x):
        x = self.norm1(x + checkpoint(self.attention, x, use_reentrant=False))
        return self.norm2(x + checkpoint(self.feed_forward, x, use_reentrant=False))


@alternative("add_and_norm")
def number_by_number(x, sublayer_output, weight, bias, eps=1e-5):
    if x.dim() > 1:
        pairs = zip(x, sublayer_output, strict=True)
        return torch.stack([number_by_number(a, b, weight, bias, eps) for a, b in pairs])
    sums = [a + b for a, b in zip(x, sublayer_output, strict=True)]
    mean = sum(sums) / len(sums)
    variance = sum((one - mean) ** 2 for one in sums) / len(sums)
    scale = torch.sqrt(variance + eps)
    parts = zip(sums, weight, bias, strict=True)
    return torch.stack([(one - mean) / scale * w + b for one, w, b in parts])
