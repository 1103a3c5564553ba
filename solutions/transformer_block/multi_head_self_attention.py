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
        ### BEGIN SOLUTION
        # from document 002, line 380
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model)
        self.W_key = nn.Linear(d_model, d_model)
        self.W_value = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Lets the tokens of each sequence attend to each other.

        Head h uses the columns from h * D/H to (h + 1) * D/H - 1 of the queries, keys, values and
        joint result; its scores are divided by the square root of the head size D/H.

        Args:
            x: (B, T, D), in the dtype of the weights.

        Returns:
            (B, T, D), in the same dtype.
        """
        ### BEGIN SOLUTION
        B, T, D = x.shape
        heads = (B, T, self.num_heads, self.head_dim)
        queries = self.W_query(x).reshape(heads).transpose(1, 2)  # (B, T, D) -> (B, H, T, d)
        keys = self.W_key(x).reshape(heads).transpose(1, 2)  # (B, H, T, d)
        values = self.W_value(x).reshape(heads).transpose(1, 2)  # (B, H, T, d)
        scores = queries @ keys.transpose(-2, -1) / self.head_dim**0.5  # (B, H, T, T)
        weights = torch.softmax(scores, dim=-1)  # (B, H, T, T), every row sums to one
        context = weights @ values  # (B, H, T, T) @ (B, H, T, d) -> (B, H, T, d)
        merged = context.transpose(1, 2).reshape(B, T, D)  # heads side by side: (B, T, D)
        return self.out_proj(merged)  # (B, T, D)
        ### END SOLUTION
