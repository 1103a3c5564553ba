"""The feed-forward network of a block: what each token does with what it has gathered.

Attention moves information between tokens; this step works on every token alone.
"""

import torch
from torch import nn


class FeedForward(nn.Module):

    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(d_model, hidden_dim, bias=False)
        self.linear2 = nn.Linear(hidden_dim, d_model, bias=False)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))
