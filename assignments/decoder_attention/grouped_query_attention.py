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

    Raises:
        ValueError: H is not a multiple of G.

    Not allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others), because they are the answer. Threads and processes are not
    allowed either.

    Source: Shazeer 2019 (arXiv 1911.02150), section 3; Ainslie et al. 2023 (arXiv 2305.13245),
    section 2.2.
    """
    raise NotImplementedError


class GroupedQueryAttention(nn.Module):
    """Causal multi-head self-attention whose query heads share keys and values in groups.

    Attributes:
        W_query: `nn.Linear` from d_model to d_model.
        W_key, W_value: `nn.Linear` from d_model to num_kv_heads * head size.
        out_proj: `nn.Linear` from d_model to d_model, with a bias.

    There are no other trainable weights: a stored causal mask is not a parameter.

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).

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

        Raises:
            ValueError: `d_model` is not a multiple of `num_heads`, or `num_heads` not of
                `num_kv_heads`.
        """
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Lets every token attend to itself and to earlier ones, in all heads at once.

        Args:
            x: (B, T, d_model), any T.

        Returns:
            (B, T, d_model), in the dtype of the weights. Heads are blocks of neighboring columns.
        """
        raise NotImplementedError
