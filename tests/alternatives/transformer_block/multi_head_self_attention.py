"""Right but unusual ways to compute multi-head self-attention."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.suite import alternative


class _FourLayers(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, self.head_dim)).movedim(-2, 1)  # (B, H, T, d)

    def project(self, x):
        return [self.split(layer(x)) for layer in (self.W_query, self.W_key, self.W_value)]

    def merge(self, context):
        return context.movedim(1, -2).flatten(-2)  # (B, T, D)


@alternative("MultiHeadSelfAttention")
class fused_attention(_FourLayers):
    def forward(self, x):
        context = F.scaled_dot_product_attention(*self.project(x))
        return self.out_proj(self.merge(context))


@alternative("MultiHeadSelfAttention")
class torch_multi_head_function(_FourLayers):
    def forward(self, x):
        tokens_first = x.transpose(0, 1)
        layers = (self.W_query, self.W_key, self.W_value)
        out, _ = F.multi_head_attention_forward(
            tokens_first,
            tokens_first,
            tokens_first,
            self.d_model,
            self.num_heads,
            None,
            torch.cat([layer.bias for layer in layers]),
            None,
            None,
            False,
            0.0,
            self.out_proj.weight,
            self.out_proj.bias,
            need_weights=False,
            use_separate_proj_weight=True,
            q_proj_weight=self.W_query.weight,
            k_proj_weight=self.W_key.weight,
            v_proj_weight=self.W_value.weight,
        )
        return out.transpose(0, 1)


@alternative("MultiHeadSelfAttention")
class loop_over_heads(_FourLayers):
    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        results = []
        for start in range(0, self.d_model, self.head_dim):
            own = slice(start, start + self.head_dim)
            scores = queries[..., own] @ keys[..., own].mT
            results.append(F.softmax(scores / math.sqrt(self.head_dim), -1) @ values[..., own])
        return self.out_proj(torch.cat(results, dim=-1))


@alternative("MultiHeadSelfAttention")
class einsum_without_transposing(_FourLayers):
    def forward(self, x):
        B, T, _ = x.shape
        shape = (B, T, self.num_heads, self.head_dim)
        q, k, v = (f(x).view(shape) for f in (self.W_query, self.W_key, self.W_value))
        weights = torch.einsum("bthd,bshd->bhts", q, k).div(self.head_dim**0.5).softmax(3)
        return self.out_proj(torch.einsum("bhts,bshd->bthd", weights, v).reshape(B, T, -1))


@alternative("MultiHeadSelfAttention")
class one_product_for_all_three(_FourLayers):
    def forward(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        q, k, v = map(self.split, F.linear(x, weight, bias).chunk(3, dim=-1))
        scores = (q * self.head_dim**-0.25) @ (k * self.head_dim**-0.25).transpose(2, 3)
        return self.out_proj(self.merge(torch.log_softmax(scores, -1).exp() @ v))


@alternative("MultiHeadSelfAttention")
class heads_folded_into_the_batch(_FourLayers):
    def fold(self, x):
        return self.split(x).reshape(-1, x.shape[1], self.head_dim)  # (B*H, T, d)

    def forward(self, x):
        q, k, v = self.fold(self.W_query(x)), self.fold(self.W_key(x)), self.fold(self.W_value(x))
        weights = torch.bmm(q / self.head_dim**0.5, k.transpose(1, 2)).softmax(dim=-1)
        context = torch.bmm(weights, v).view(x.shape[0], self.num_heads, x.shape[1], -1)
        return self.out_proj(context.permute(0, 2, 1, 3).contiguous().view(x.shape))


@alternative("MultiHeadSelfAttention")
class heads_before_the_batch(_FourLayers):
    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (
            layer(x).view(B, T, self.num_heads, self.head_dim).permute(2, 0, 1, 3)  # (H, B, T, d)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        context = (q @ k.mT * self.head_dim**-0.5).softmax(-1) @ v
        return self.out_proj(context.permute(1, 2, 0, 3).reshape(B, T, D))


@alternative("MultiHeadSelfAttention")
class split_after_swapping_tokens_and_columns(_FourLayers):
    def cut(self, x):
        B, T, _ = x.shape
        return x.transpose(1, 2).reshape(B, self.num_heads, self.head_dim, T).transpose(2, 3)

    def forward(self, x):
        q, k, v = self.cut(self.W_query(x)), self.cut(self.W_key(x)), self.cut(self.W_value(x))
        context = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.head_dim), dim=-1) @ v
        return self.out_proj(torch.cat(context.unbind(1), dim=-1))


@alternative("MultiHeadSelfAttention")
class sum_over_heads_of_projected_contexts(_FourLayers):
    def forward(self, x):
        q, k, v = self.project(x)
        context = torch.softmax(q @ k.mT / self.head_dim**0.5, dim=-1) @ v  # (B, H, T, d)
        columns = self.out_proj.weight.split(self.head_dim, dim=1)
        out = self.out_proj.bias
        for head, part in zip(context.unbind(1), columns):
            out = out + head @ part.T
        return out


@alternative("MultiHeadSelfAttention")
class division_after_the_values(_FourLayers):
    def forward(self, x):
        q, k, v = self.project(x)
        scores = q @ k.mT / self.head_dim**0.5
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        return self.out_proj(self.merge(powers @ v / powers.sum(-1, keepdim=True)))


@alternative("MultiHeadSelfAttention")
class one_query_at_a_time(_FourLayers):
    def forward(self, x):
        q, k, v = self.project(x)
        rows = []
        for token in range(x.shape[1]):
            scores = (q[:, :, token, None] * k).sum(-1) / math.sqrt(self.head_dim)  # (B, H, T)
            rows.append((scores.softmax(-1)[..., None] * v).sum(-2).flatten(1))  # (B, D)
        return self.out_proj(torch.stack(rows, dim=1))


@alternative("MultiHeadSelfAttention")
class vmap_over_the_batch(_FourLayers):
    def one(self, tokens):
        heads = [
            torch.stack(layer(tokens).chunk(self.num_heads, dim=-1))
            for layer in (self.W_query, self.W_key, self.W_value)
        ]
        weights = torch.softmax(heads[0] @ heads[1].mT / self.head_dim**0.5, dim=-1)
        return self.out_proj((weights @ heads[2]).transpose(0, 1).flatten(1))

    def forward(self, x):
        return torch.vmap(self.one)(x)


@alternative("MultiHeadSelfAttention")
class einops_patterns(_FourLayers):
    def forward(self, x):
        q, k, v = (
            rearrange(layer(x), "b t (h d) -> b h t d", h=self.num_heads)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        context = (q @ k.mT / self.head_dim**0.5).softmax(-1) @ v
        return self.out_proj(rearrange(context, "b h t d -> b t (h d)"))


@alternative("MultiHeadSelfAttention")
class float64_inside(_FourLayers):
    def forward(self, x):
        q, k, v = (
            self.split(F.linear(x.double(), layer.weight.double(), layer.bias.double()))
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        context = (q @ k.mT / self.head_dim**0.5).softmax(-1) @ v
        return self.out_proj(self.merge(context).to(x.dtype))


@alternative("MultiHeadSelfAttention")
class scale_kept_as_a_tensor(_FourLayers):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        self.scale = torch.sqrt(torch.FloatTensor([self.head_dim]))

    def forward(self, x):
        q, k, v = self.project(x)
        return self.out_proj(self.merge(((q @ k.mT) / self.scale).softmax(-1) @ v))


@alternative("MultiHeadSelfAttention")
class result_filled_head_by_head(_FourLayers):
    def forward(self, x):
        q, k, v = self.project(x)
        context = torch.empty_like(x)
        for head in range(self.num_heads):
            weights = torch.softmax(q[:, head] @ k[:, head].mT / self.head_dim**0.5, dim=-1)
            start = head * self.head_dim
            context[:, :, start : start + self.head_dim] = weights @ v[:, head]
        return self.out_proj(context)


@alternative("MultiHeadSelfAttention")
class without_the_bias_of_the_keys(_FourLayers):
    """Omits the key bias, which would add the same number to all scores of a query."""

    def forward(self, x):
        q, v = self.split(self.W_query(x)), self.split(self.W_value(x))
        k = self.split(x @ self.W_key.weight.T)
        return self.out_proj(self.merge((q @ k.mT / self.head_dim**0.5).softmax(-1) @ v))


@alternative("MultiHeadSelfAttention")
class function_of_torch(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value, self.out_proj = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def forward(self, x, mask=None):
        layers = (self.W_query, self.W_key, self.W_value)
        turned = x.transpose(0, 1)
        out, _ = F.multi_head_attention_forward(
            turned,
            turned,
            turned,
            x.shape[-1],
            self.num_heads,
            torch.cat([layer.weight for layer in layers]),
            torch.cat([layer.bias for layer in layers]),
            None,
            None,
            False,
            0.0,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            need_weights=False,
        )
        return out.transpose(0, 1)


@alternative("MultiHeadSelfAttention")
class checkpointed_heads(_FourLayers):
    def forward(self, x):
        def attend(q, k, v):
            return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v

        context = checkpoint(attend, *self.project(x), use_reentrant=False)
        return self.out_proj(self.merge(context))


@alternative("MultiHeadSelfAttention")
class keys_in_chunks_with_a_running_maximum(_FourLayers):
    def forward(self, x):
        q, k, v = self.project(x)
        top = torch.full_like(q[..., :1], -torch.inf)
        total = out = torch.zeros_like(top)
        for keys, values in zip(k.split(4, dim=2), v.split(4, dim=2), strict=True):
            scores = q @ keys.mT / self.head_dim**0.5
            higher = torch.maximum(top, scores.amax(-1, keepdim=True))
            fade, powers = (top - higher).exp(), (scores - higher).exp()
            total = total * fade + powers.sum(-1, keepdim=True)
            out, top = out * fade + powers @ values, higher
        return self.out_proj(self.merge(out / total))


@alternative("MultiHeadSelfAttention")
class lazy_layers(_FourLayers):
    def __init__(self, d_model, num_heads):
        super().__init__(d_model, num_heads)
        for name in ("W_query", "W_key", "W_value", "out_proj"):
            setattr(self, name, nn.LazyLinear(d_model))

    def forward(self, x):
        queries, keys, values = self.project(x)
        scores = queries @ keys.mT / math.sqrt(self.head_dim)
        return self.out_proj(self.merge(scores.softmax(dim=-1) @ values))
