"""Cross-attention: queries from one sequence, keys and values from another, without padding.

In every mask True means forbidden, as in `causal_mask` and in `nn.MultiheadAttention`'s
`key_padding_mask`.
"""

import math

import torch
from torch import nn


def padding_mask(lengths: torch.Tensor, num_keys: int) -> torch.Tensor:
    """Marks which keys of each sample are padding.

    Args:
        lengths: (B,) int64, from 1 to `num_keys`: the number of real keys of each sample. The real
            keys come first, the padding follows.
        num_keys: S, the number of keys including padding.

    Returns:
        (B, S) bool, on the device of `lengths`: True where a key is padding.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.3; Dive into Deep Learning, section
    11.3.
    """
    raise NotImplementedError


def masked_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Computes scaled dot-product attention over the keys that the mask allows.

    Args:
        queries: (..., T, d).
        keys: (..., S, d).
        values: (..., S, d_v).
        mask: bool, of a shape that broadcasts to (..., T, S): True where query t must not attend
            to key s. Every query may attend to at least one key.

    Returns:
        (..., T, d_v), in the dtype of the arguments: the scores are divided by the square root of
        d, a masked key has weight 0, and the weights of each query sum to one.

    Not allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others), because they are the answer. Threads and processes are not
    allowed either.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), sections 3.2.1 and 3.2.3.
    """
    raise NotImplementedError


class CrossAttention(nn.Module):
    """Multi-head attention from one sequence to another; every query sees all real keys.

    Attributes:
        W_query: `nn.Linear` from d_model to d_model.
        W_key, W_value: `nn.Linear` from d_context to d_model.
        out_proj: `nn.Linear` from d_model to d_model.

    All four have a bias, and there are no other trainable weights.

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).

    Source: Vaswani et al. 2017 (arXiv 1706.03762), sections 3.2.2 and 3.2.3.
    """

    def __init__(self, d_model: int, d_context: int, num_heads: int) -> None:
        """Builds the layers.

        Args:
            d_model: size of a token of `x` and of the result.
            d_context: size of a token of the context.
            num_heads: number of heads H; the head size is d_model / H.

        Raises:
            ValueError: `d_model` is not a multiple of `num_heads`.
        """
        super().__init__()
        raise NotImplementedError

    def forward(
        self,
        x: torch.Tensor,
        context: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Lets every token of `x` attend to the tokens of the context.

        Args:
            x: (B, T, d_model), from which the queries are computed.
            context: (B, S, d_context), from which the keys and values are computed.
            key_padding_mask: (B, S) bool, True where a token of the context is padding. Padding may
                be anywhere; None means that there is none.

        Returns:
            (B, T, d_model), in the dtype of the weights.
        """
        raise NotImplementedError
