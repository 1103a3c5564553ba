"""The encoder block: attention and feed-forward, each added to its input and normalized.

The attention and the feed-forward network are parts: finished classes that do what the two previous
exercises ask for, so that this module needs no other answer.
"""

import torch
from torch import nn

from autograder.parts import FeedForward, MultiHeadSelfAttention


def add_and_norm(
    x: torch.Tensor,
    sublayer_output: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float = 1e-5,
) -> torch.Tensor:
    """Adds a sublayer's output to its input and normalizes every token of the sum.

    Each token is normalized to mean 0 and variance 1 over its D entries, then multiplied by
    `weight` and shifted by `bias`, entry by entry. The variance is the biased one (divided by D,
    not by D - 1), and `eps` is added to it before the root is taken.

    Args:
        x: (..., D), the input of the sublayer.
        sublayer_output: (..., D), the output of the sublayer.
        weight: (D,).
        bias: (D,).
        eps: prevents a division by zero for a constant token.

    Returns:
        (..., D), in the dtype of `x`.

    Not allowed: torch's norms (`nn.LayerNorm`, `F.layer_norm`, and group, instance, batch and RMS
    norm), because they are the answer. Mean, variance and square root are allowed. Threads and
    processes are not allowed either.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.1; Ba et al. 2016 (arXiv 1607.06450).
    """
    raise NotImplementedError


class EncoderBlock(nn.Module):
    """One block of a transformer encoder, with the norms after the sums (post-norm).

    Submodules: `attention` (a `MultiHeadSelfAttention`), `norm1`, `feed_forward` (a `FeedForward`)
    and `norm2`. The norms have a `weight` and a `bias` of shape (D,) and eps 1e-5; torch's
    `nn.LayerNorm` may be used here. There is no dropout.

    Args:
        d_model: size D of an input token and of an output token.
        num_heads: number of heads of the attention; it divides `d_model`.
        hidden_dim: size of the layer inside the feed-forward network.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.1.
    """

    def __init__(self, d_model: int, num_heads: int, hidden_dim: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Applies attention, add and norm, feed-forward, add and norm.

        Args:
            x: (B, T, D), in the dtype of the weights.

        Returns:
            (B, T, D), in the same dtype.
        """
        raise NotImplementedError
