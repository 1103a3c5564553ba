"""The block of a decoder: cached attention and feed-forward, each after a norm (pre-norm).

Its two sublayers are parts: finished classes that do what the exercises of the same names ask for.
"""

import torch
from torch import nn

from autograder.parts import CachedAttention, FeedForward


class DecoderBlock(nn.Module):
    """One block of a transformer decoder, with a norm before each sublayer (pre-norm).

    Submodules: `norm1`, `attention` (a `CachedAttention`), `norm2` and `feed_forward` (a
    `FeedForward`). The norms have a `weight` and a `bias` of shape (d_model,) and eps 1e-5;
    torch's `nn.LayerNorm` may be used. There is no dropout, and there are no other
    trainable weights.

    Args:
        d_model: size of an input token and of an output token.
        num_heads: number of heads of the attention; it divides `d_model`, and the head size is
            even.
        hidden_dim: size of the layer inside the feed-forward network.

    Source: Xiong et al. 2020 (arXiv 2002.04745), section 3; Vaswani et al. 2017 (arXiv 1706.03762),
    section 3.1.
    """

    def __init__(self, d_model: int, num_heads: int, hidden_dim: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: torch.Tensor, past: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Computes h = x + attention(norm1(x)), then h + feed_forward(norm2(h)).

        Args:
            x: (B, T, d_model), the new tokens, in the dtype of the weights.
            past: the second result of an earlier call: the pair (keys, values), each of
                (B, H, P, d); None at the beginning of a sequence.

        Returns:
            The pair (out, present): out is (B, T, d_model), present the pair (keys, values), each
            of (B, H, P + T, d), that the attention returned.
        """
        raise NotImplementedError
