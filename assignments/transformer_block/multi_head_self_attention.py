"""Multi-head self-attention of an encoder: several heads side by side, without a mask.

The model size is split into heads. Each head compares all tokens with each other in its slice of
the queries and keys, and a final linear layer mixes the results of the heads.
"""

import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    """Self-attention with several heads, in which every token sees every token.

    Weights: `W_query`, `W_key`, `W_value` and `out_proj`, each an `nn.Linear(d_model, d_model)`
    with bias. They have the only trainable parameters.

    Args:
        d_model: size D of an input token and of an output token.
        num_heads: number of heads H. It divides `d_model`; other numbers are not tested.

    Any way to compute the result is allowed, including torch's own attention.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Lets the tokens of each sequence attend to each other.

        Head h uses the columns from h * D/H to (h + 1) * D/H - 1 of the queries, keys, values and
        joint result; its scores are divided by the square root of the head size D/H.

        Args:
            x: (B, T, D), in the dtype of the weights.

        Returns:
            (B, T, D), in the same dtype.
        """
        raise NotImplementedError
