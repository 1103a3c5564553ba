"""Causal self-attention as in GPT: sizes from a config, dropout in two places.

It is the same computation as multi-head attention with weight split. Input and output have the
same size, so that layers can be stacked.
"""

import math
from typing import Any

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    """Causal multi-head self-attention with a projection and dropout at the end.

    Attributes:
        key, query, value, proj: `nn.Linear` layers from n_embd to n_embd, all with a bias.
        attn_drop: dropout of probability `attn_pdrop` on the attention weights after softmax.
        resid_drop: dropout of probability `resid_pdrop` on the output of `proj`.

    These four linear layers hold all trainable weights. A stored causal mask is not a trainable
    parameter, and it moves with the module to another device.

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).
    """

    def __init__(self, config: Any) -> None:
        """Builds the layers and the causal mask.

        Args:
            config: an object with the attributes `n_embd` (size of a token vector), `n_head`
                (number of heads, divides n_embd), `block_size` (largest number of tokens),
                `attn_pdrop` and `resid_pdrop` (probabilities of dropout).
        """
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes causal attention in all heads at once.

        Args:
            x: (B, T, n_embd) with T <= block_size.

        Returns:
            (B, T, n_embd), in the dtype of the weights.
        """
        raise NotImplementedError
