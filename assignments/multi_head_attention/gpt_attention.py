"""Causal self-attention as a GPT has it: sizes from a config, dropout in two places.

The same computation as multi-head attention with weight split. Input and output have the same
size, so that the layer can be stacked.
"""

import math
from typing import Any

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    """Causal multi-head self-attention with a projection and dropout at its end.

    Attributes:
        key, query, value, proj: `nn.Linear` layers from n_embd to n_embd, all with a bias.
        attn_drop: dropout of probability `attn_pdrop` on the attention weights after softmax.
        resid_drop: dropout of probability `resid_pdrop` on what `proj` returns.

    These four linear layers hold all trainable weights. Whatever holds the causal mask is no
    trainable parameter and goes along when the module is moved to another device.
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
        """Attends in all heads at once.

        Args:
            x: (B, T, n_embd) with T <= block_size.

        Returns:
            (B, T, n_embd), in the dtype of the weights.
        """
        raise NotImplementedError
