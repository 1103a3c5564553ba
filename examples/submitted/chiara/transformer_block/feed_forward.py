"""The feed-forward network of a block: what each token does with what it has gathered.

Attention moves information between tokens; this step works on every token alone.
"""

import torch
from torch import nn


class FeedForward(nn.Module):

    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, d_model))
        self.linear1, self.linear2 = (self.net[0], self.net[2])

    def forward(self, x):
        return self.net(x)
