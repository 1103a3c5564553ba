import torch
from torch import nn


def padding_mask(lengths, num_keys):
    mask = torch.zeros(lengths.shape[0], num_keys, dtype=torch.bool)
    for row, length in enumerate(lengths):
        mask[row, length:] = True
    return mask


def masked_attention(queries, keys, values, mask):
    scores = queries / queries.shape[-1] ** 0.5 @ keys.mT
    low = torch.tensor(-torch.inf, dtype=scores.dtype)
    return torch.where(mask, low, scores).softmax(dim=-1) @ values


class _Layers(nn.Module):
    def __init__(self, d_model, d_context, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model is not a multiple of num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_context, d_model)
        self.W_value = nn.Linear(d_context, d_model)
        self.out_proj = nn.Linear(d_model, d_model)


class CrossAttention(_Layers):
    def forward(self, x, context, key_padding_mask=None):
        q, k, v = (
            layer(source).unflatten(-1, (self.num_heads, -1))
            for layer, source in ((self.W_query, x), (self.W_key, context), (self.W_value, context))
        )
        scores = torch.einsum("bthd,bshd->bhts", q, k) / q.shape[-1] ** 0.5
        if key_padding_mask is not None:
            lowest = torch.finfo(scores.dtype).min
            added = scores.new_zeros(key_padding_mask.shape).masked_fill(key_padding_mask, lowest)
            scores = scores + added[:, None, None]
        return self.out_proj(torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v).flatten(2))
