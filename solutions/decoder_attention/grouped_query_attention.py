"""Grouped-query attention: several query heads share one head of keys and values.

While a model generates text, it stores keys and values, but not queries. With fewer heads of keys
and values it needs less memory, and its results are almost as good.
"""

import math

import torch
from torch import nn


def grouped_query_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Computes unmasked attention in H query heads that share G heads of keys and values.

    Args:
        queries: (B, H, T, d).
        keys: (B, G, S, d).
        values: (B, G, S, d_v).

    Returns:
        (B, H, T, d_v), in the dtype of the arguments: query head h reads key-value head
        h // (H / G), so neighboring query heads share one. The scores are divided by the square
        root of d.

    Source: Shazeer 2019 (arXiv 1911.02150), section 3; Ainslie et al. 2023 (arXiv 2305.13245),
    section 2.2.
    """
    ### BEGIN SOLUTION
    num_heads, num_kv_heads = queries.shape[1], keys.shape[1]
    if num_heads % num_kv_heads != 0:
        raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} heads of keys")
    group = num_heads // num_kv_heads  # query heads for each head of keys
    keys = keys.repeat_interleave(group, dim=1)  # (B, H, S, d)
    values = values.repeat_interleave(group, dim=1)  # (B, H, S, d_v)
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])  # (B, H, T, S)
    return torch.softmax(scores, dim=-1) @ values  # (B, H, T, d_v)
    ### END SOLUTION


class GroupedQueryAttention(nn.Module):
    """Causal multi-head self-attention whose query heads share keys and values in groups.

    Attributes:
        W_query: `nn.Linear` from d_model to d_model.
        W_key, W_value: `nn.Linear` from d_model to num_kv_heads * head size.
        out_proj: `nn.Linear` from d_model to d_model, with a bias.

    There are no other trainable weights: a stored causal mask is not a parameter.

    Source: Ainslie et al. 2023 (arXiv 2305.13245), section 2.2.
    """

    def __init__(
        self, d_model: int, num_heads: int, num_kv_heads: int, qkv_bias: bool = False
    ) -> None:
        """Builds the layers.

        Args:
            d_model: size of an input token and of an output token.
            num_heads: number of query heads H; the head size is d_model / H.
            num_kv_heads: number of heads G of keys and values.
            qkv_bias: whether `W_query`, `W_key` and `W_value` have a bias.
        """
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} columns can't be shared equally by {num_heads} heads")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} heads of keys")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=qkv_bias)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=qkv_bias)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=qkv_bias)
        self.out_proj = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Lets every token attend to itself and to earlier ones, in all heads at once.

        Args:
            x: (B, T, d_model), any T.

        Returns:
            (B, T, d_model), in the dtype of the weights. Heads are blocks of neighboring columns.
        """
        ### BEGIN SOLUTION
        batch, num_tokens, d_model = x.shape
        by_head = (batch, num_tokens, -1, self.head_dim)
        queries = self.W_query(x).view(by_head).transpose(1, 2)  # (B, H, T, d)
        keys = self.W_key(x).view(by_head).transpose(1, 2)  # (B, G, T, d)
        values = self.W_value(x).view(by_head).transpose(1, 2)  # (B, G, T, d)

        group = self.num_heads // self.num_kv_heads
        keys = keys.repeat_interleave(group, dim=1)  # (B, H, T, d)
        values = values.repeat_interleave(group, dim=1)  # (B, H, T, d)

        scores = queries @ keys.transpose(-2, -1) / math.sqrt(self.head_dim)  # (B, H, T, T)
        future = torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)  # (B, H, T, T)

        heads = weights @ values  # (B, H, T, d)
        merged = heads.transpose(1, 2).reshape(batch, num_tokens, d_model)  # (B, T, d_model)
        return self.out_proj(merged)  # (B, T, d_model)
        ### END SOLUTION
