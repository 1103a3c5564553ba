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
    """

    def __init__(self, config: Any) -> None:
        """Builds the layers and the causal mask.

        Args:
            config: an object with the attributes `n_embd` (size of a token vector), `n_head`
                (number of heads, divides n_embd), `block_size` (largest number of tokens),
                `attn_pdrop` and `resid_pdrop` (probabilities of dropout).
        """
        super().__init__()
        ### BEGIN SOLUTION
        # from document 001, line 58
        self.n_head = config.n_head
        self.key = nn.Linear(config.n_embd, config.n_embd)
        self.query = nn.Linear(config.n_embd, config.n_embd)
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        past = torch.ones(config.block_size, config.block_size).tril()  # 1: attention is allowed
        self.mask: torch.Tensor
        self.register_buffer("mask", past.view(1, 1, config.block_size, config.block_size))
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Computes causal attention in all heads at once.

        Args:
            x: (B, T, n_embd) with T <= block_size.

        Returns:
            (B, T, n_embd), in the dtype of the weights.
        """
        ### BEGIN SOLUTION
        batch, num_tokens, size = x.shape
        by_head = (batch, num_tokens, self.n_head, size // self.n_head)
        k = self.key(x).view(by_head).transpose(1, 2)  # (B, H, T, d)
        q = self.query(x).view(by_head).transpose(1, 2)  # (B, H, T, d)
        v = self.value(x).view(by_head).transpose(1, 2)  # (B, H, T, d)

        scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))  # (B, H, T, T)
        scores = scores.masked_fill(self.mask[:, :, :num_tokens, :num_tokens] == 0, -torch.inf)
        weights = self.attn_drop(torch.softmax(scores, dim=-1))  # (B, H, T, T)

        context = (weights @ v).transpose(1, 2).reshape(batch, num_tokens, size)  # (B, T, D)
        return self.resid_drop(self.proj(context))  # (B, T, D)
        ### END SOLUTION
