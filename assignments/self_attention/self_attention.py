"""Self-attention as a layer: the three weight matrices belong to a module and are trained."""

import torch
from torch import nn


class SelfAttentionV1(nn.Module):
    """Self-attention with three plain parameters as weights.

    Each token asks (query), offers (key) and gives (value); all three are computed from its input.
    Parameters, all trained and of shape (d_in, d_out): `W_query`, `W_key`, `W_value`. There is no
    bias, no mask and no dropout.

    Args:
        d_in: size of an input vector.
        d_out: size of queries, keys, values, and therefore of the context vectors.

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the context vector of every token.

        Args:
            x: (..., T, d_in), in the dtype of the weights.

        Returns:
            (..., T, d_out): scaled dot-product attention of the projected tokens.
        """
        raise NotImplementedError


class SelfAttentionV2(nn.Module):
    """Self-attention with three linear layers instead of plain parameters.

    Layers: `W_query`, `W_key`, `W_value`, each an `nn.Linear` from `d_in` to `d_out`. An
    `nn.Linear` stores its weight as (d_out, d_in), starts it at a size that suits `d_in`, and can
    have a bias. There is no mask and no dropout.

    Args:
        d_in: size of an input vector.
        d_out: size of queries, keys, values, and therefore of the context vectors.
        qkv_bias: whether each of the three layers has a trained bias of shape (d_out,).

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the context vector of every token.

        Args:
            x: (..., T, d_in), in the dtype of the weights.

        Returns:
            (..., T, d_out): scaled dot-product attention of the projected tokens.
        """
        raise NotImplementedError
