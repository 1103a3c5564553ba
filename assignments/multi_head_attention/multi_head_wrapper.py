"""The plain form of multi-head attention: several causal heads side by side.

Each head is a complete causal attention with its own weights. All heads see the same tokens, but
each may find something different in them; their results are put side by side.
"""

import torch
from torch import nn

from autograder.parts import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    """Several causal heads with their own weights, side by side in the last dimension.

    Attributes:
        heads: `nn.ModuleList` of `num_heads` heads of the part `CausalAttention`. The only
            trainable weights are those of the heads: `heads.0.W_query.weight` and so on.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        """Builds the heads.

        Args:
            d_in: size of an input vector.
            d_out: size of the output of ONE head; the wrapper returns `num_heads * d_out`.
            context_length: the largest number of tokens.
            dropout: probability of dropout on the attention weights of every head.
            num_heads: number of heads.
            qkv_bias: whether the query, key and value layers of the heads have a bias.
        """
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Runs every head on the same tokens.

        Args:
            x: (B, T, d_in) with T <= context_length.

        Returns:
            (B, T, num_heads * d_out), in the dtype of the weights: first the columns of head 0,
            then those of head 1, and so on.
        """
        raise NotImplementedError
