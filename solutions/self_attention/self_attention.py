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
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        # from documents 000, line 253, and 003, line 315
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the context vector of every token.

        Args:
            x: (..., T, d_in), in the dtype of the weights.

        Returns:
            (..., T, d_out): scaled dot-product attention of the projected tokens.
        """
        ### BEGIN SOLUTION
        queries = x @ self.W_query  # (..., T, d_in) @ (d_in, d_out) -> (..., T, d_out)
        keys = x @ self.W_key  # (..., T, d_out)
        values = x @ self.W_value  # (..., T, d_out)
        scores = queries @ keys.transpose(-2, -1)  # (..., T, T)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)  # (..., T, T)
        return weights @ values  # (..., T, T) @ (..., T, d_out) -> (..., T, d_out)
        ### END SOLUTION


class SelfAttentionV2(nn.Module):
    """Self-attention with three linear layers instead of plain parameters.

    Layers: `W_query`, `W_key`, `W_value`, each an `nn.Linear` from `d_in` to `d_out`. An
    `nn.Linear` stores its weight as (d_out, d_in), starts it at a size that suits `d_in`, and can
    have a bias. There is no mask and no dropout.

    Args:
        d_in: size of an input vector.
        d_out: size of queries, keys, values, and therefore of the context vectors.
        qkv_bias: whether each of the three layers has a trained bias of shape (d_out,).
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        # from documents 000, line 295, and 003, line 364
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes the context vector of every token.

        Args:
            x: (..., T, d_in), in the dtype of the weights.

        Returns:
            (..., T, d_out): scaled dot-product attention of the projected tokens.
        """
        ### BEGIN SOLUTION
        queries = self.W_query(x)  # (..., T, d_in) -> (..., T, d_out)
        keys = self.W_key(x)  # (..., T, d_out)
        values = self.W_value(x)  # (..., T, d_out)
        scores = queries @ keys.transpose(-2, -1)  # (..., T, T)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)  # (..., T, T)
        return weights @ values  # (..., T, T) @ (..., T, d_out) -> (..., T, d_out)
        ### END SOLUTION
