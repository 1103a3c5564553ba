"""Causal self-attention as a GPT has it: sizes from a config, dropout in two places.

The same computation as multi-head attention with weight split. Input and output have the same
size, so that the layer can be stacked.
"""

import math
from typing import Any

import torch
from torch import nn


class CausalSelfAttention(nn.Module):

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.n_head = config.n_head
        self.key = nn.Linear(config.n_embd, config.n_embd)
        self.query = nn.Linear(config.n_embd, config.n_embd)
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        past = torch.ones(config.block_size, config.block_size).tril()
        self.mask: torch.Tensor
        self.register_buffer('mask', past.view(1, 1, config.block_size, config.block_size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, num_tokens, size = x.shape
        by_head = (batch, num_tokens, self.n_head, size // self.n_head)
        k = self.key(x).view(by_head).transpose(1, 2)
        q = self.query(x).view(by_head).transpose(1, 2)
        v = self.value(x).view(by_head).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(self.mask[:, :, :num_tokens, :num_tokens] == 0, -torch.inf)
        weights = self.attn_drop(torch.softmax(scores, dim=-1))
        context = (weights @ v).transpose(1, 2).reshape(batch, num_tokens, size)
        return self.resid_drop(self.proj(context))
