"""Multi-head self-attention of an encoder: several attentions side by side, and nothing masked.

The model size is cut into heads. Every head compares all tokens with all tokens in its own slice
of the queries and keys, and a last linear layer mixes what the heads found.
"""

import torch
from torch import nn


class MultiHeadSelfAttention(nn.Module):
    """Self-attention with several heads, every token seeing every token.

    Weights: `W_query`, `W_key`, `W_value` and `out_proj`, each an `nn.Linear(d_model, d_model)`
    with bias. They are the only trainable parameters.

    Args:
        d_model: size D of a token, going in and coming out.
        num_heads: number of heads H. It divides `d_model`; what happens otherwise is not judged.

    Any way to compute the result is allowed, torch's own attention too.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Lets the tokens of each sequence look at each other.

        Head h owns the columns from h * D/H to (h + 1) * D/H of queries, keys, values and of the
        heads' joint result; its scores are divided by the square root of the head size D/H.

        Args:
            x: (B, T, D), in the dtype of the weights.

        Returns:
            (B, T, D), in the same dtype.
        """
        raise NotImplementedError
