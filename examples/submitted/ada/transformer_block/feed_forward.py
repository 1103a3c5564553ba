"""The feed-forward network of a block: what each token does with what it has gathered.

Attention moves information between tokens; this step works on every token alone.
"""

import torch
from torch import nn


class FeedForward(nn.Module):

    def __init__(self, d_model: int, hidden_dim: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.relu = nn.ReLU()
        self.linear2 = nn.Linear(hidden_dim, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.relu(self.linear1(x))
        return self.linear2(hidden)
