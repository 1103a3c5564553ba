"""Causal attention as a layer: trained projections, the causal mask, dropout on the weights."""

import torch
from torch import nn


class CausalAttention(nn.Module):
    """One head of attention in which no token sees its future.

    Args:
        d_in: size of an input vector.
        d_out: size of a query, a key, a value, and so of a context vector.
        context_length: the longest sequence that the layer takes.
        dropout: the probability that an attention weight is dropped while training.
        qkv_bias: whether the three projections have a bias.

    The layers are `W_query`, `W_key`, `W_value` (each `nn.Linear`) and `dropout`. Nothing else is
    trained. Whatever holds the causal mask goes along when the module is moved to another device.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.3.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Context vectors of a batch of sequences.

        Args:
            x: (B, T, d_in), T at most `context_length`, in the dtype of the weights.

        Returns:
            (B, T, d_out), in the dtype of x: row t depends on the inputs 0 to t only.

        Raises:
            ValueError: T is larger than `context_length`.
        """
        raise NotImplementedError
