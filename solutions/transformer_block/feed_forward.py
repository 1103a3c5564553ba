"""The feed-forward network of a block: each token processes what it has gathered.

Attention moves information between tokens; this step works on each token separately.
"""

import torch
from torch import nn


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for every token.

    Weights: `linear1` is an `nn.Linear(d_model, hidden_dim)`, `linear2` an
    `nn.Linear(hidden_dim, d_model)`, both with bias. They have the only trainable parameters.

    Args:
        d_model: size D of an input token and of an output token.
        hidden_dim: size of the layer in between, often four times D.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.3.
    """

    def __init__(self, d_model: int, hidden_dim: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        # from document 002, line 551
        self.linear1 = nn.Linear(d_model, hidden_dim)
        self.relu = nn.ReLU()
        self.linear2 = nn.Linear(hidden_dim, d_model)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Widens each token, sets negative entries to zero, and narrows it again.

        Args:
            x: (..., D), in the dtype of the weights.

        Returns:
            (..., D), in the same dtype.
        """
        ### BEGIN SOLUTION
        hidden = self.relu(self.linear1(x))  # (..., D) -> (..., hidden)
        return self.linear2(hidden)  # (..., hidden) -> (..., D)
        ### END SOLUTION
