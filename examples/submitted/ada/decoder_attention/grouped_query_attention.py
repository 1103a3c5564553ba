import torch
from torch import nn


def _group(queries, keys):
    group, left = divmod(queries.shape[1], keys.shape[1])
    if left or not group:
        raise ValueError(f"{queries.shape[1]} heads in {keys.shape[1]} groups")
    return group


def grouped_query_attention(queries, keys, values):
    group = _group(queries, keys)
    keys, values = (
        x[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2) for x in (keys, values)
    )
    return (queries / queries.size(-1) ** 0.5 @ keys.mT).softmax(3) @ values


class _Layers(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, qkv_bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_kv_heads} groups do not divide {num_heads}")
        self.sizes = (num_heads, num_kv_heads, d_model // num_heads)
        self.W_query = nn.Linear(d_model, d_model, qkv_bias)
        self.W_key = nn.Linear(d_model, d_model * num_kv_heads // num_heads, qkv_bias)
        self.W_value = nn.Linear(d_model, d_model * num_kv_heads // num_heads, qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)


class GroupedQueryAttention(_Layers):
    def forward(self, x):
        heads, kv_heads, size = self.sizes
        q = self.W_query(x).unflatten(-1, (kv_heads, heads // kv_heads, size))
        k = self.W_key(x).unflatten(-1, (kv_heads, size))
        v = self.W_value(x).unflatten(-1, (kv_heads, size))
        scores = torch.einsum("btghd,bsgd->bghts", q, k) * size ** (-0.5)
        place = torch.arange(x.shape[1], device=x.device)
        scores = scores.masked_fill(place > place[:, None], torch.finfo(scores.dtype).min)
        return self.out_proj(torch.einsum("bghts,bsgd->btghd", scores.softmax(-1), v).flatten(2))
