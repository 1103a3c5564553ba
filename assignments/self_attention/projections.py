"""Projections give three trained views of every token: its query, its key and its value."""

import torch


def project_qkv(
    inputs: torch.Tensor,
    W_query: torch.Tensor,
    W_key: torch.Tensor,
    W_value: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Projects each token to its query, key and value, with the weights on the right.

    Args:
        inputs: (..., T, d_in), one row per token.
        W_query: (d_in, d_k).
        W_key: (d_in, d_k).
        W_value: (d_in, d_v).

    Returns:
        The tuple `(queries, keys, values)` of shapes (..., T, d_k), (..., T, d_k) and
        (..., T, d_v), in the dtype of the inputs.
    """
    raise NotImplementedError


def project_qkv_left(
    inputs: torch.Tensor,
    W_query: torch.Tensor,
    W_key: torch.Tensor,
    W_value: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Projects each token as in the formula q = W x, with the weights on the left.

    Args:
        inputs: (..., T, d_in), one row per token.
        W_query: (d_k, d_in), output size first, as `nn.Linear` stores its weight.
        W_key: (d_k, d_in).
        W_value: (d_v, d_in); d_v may differ from d_k.

    Returns:
        The tuple `(queries, keys, values)` of shapes (..., T, d_k), (..., T, d_k) and
        (..., T, d_v), in the dtype of the inputs: tokens are rows again.
    """
    raise NotImplementedError
