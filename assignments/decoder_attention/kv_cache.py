"""The key-value cache: keys and values of earlier tokens are stored, not computed again.

This exercise has masks for queries that are the last of many positions, attention that continues
from a past, and a layer that uses both. All state is in `past`: the pair of the keys and the values
of all positions so far.
"""

import math

import torch
from torch import nn

from autograder.parts import apply_rotary, rotary_angles


def decoding_mask(num_queries: int, num_keys: int) -> torch.Tensor:
    """Marks which keys each query must not see if the queries are the last positions.

    Args:
        num_queries: T, at least 1.
        num_keys: S, at least T; the queries are the positions S - T to S - 1.

    Returns:
        (T, S), bool: True where the key comes after the query's own position. If T = S, this is
        the causal mask.

    Source: Dao 2023 (arXiv 2307.08691), `flash_attn_func` in its code.
    """
    raise NotImplementedError


def sliding_window_mask(num_queries: int, num_keys: int, window: int) -> torch.Tensor:
    """Marks the same keys as `decoding_mask`, and also those that are too far back.

    Args:
        num_queries: T, at least 1.
        num_keys: S, at least T.
        window: the number of positions that a query sees: its own and the `window - 1` before it,
            or fewer at the beginning of the sequence.

    Returns:
        (T, S), bool: True where attention is forbidden.

    Raises:
        ValueError: `window` is below 1.

    Source: Beltagy et al. 2020 (arXiv 2004.05150), section 3.1; Jiang et al. 2023 (arXiv
    2310.06825), section 2.
    """
    raise NotImplementedError


def cached_attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    past: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """Computes causal attention of new positions over themselves and over a past.

    Args:
        queries: (B, H, T, d), those of the T new positions.
        keys: (B, H, T, d), those of the new positions.
        values: (B, H, T, d_v), those of the new positions.
        past: the pair (keys, values) of (B, H, P, d), (B, H, P, d_v) that an earlier call
            returned, or None at the beginning of a sequence. It is not changed.

    Returns:
        The pair (context, present). context: (B, H, T, d_v), every new position sees itself and
        all before it. present: the pair (keys, values) of all P + T positions, the past first,
        each unchanged.

    Not allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others), because they are the answer. Threads and processes are not
    allowed either.

    Source: Shazeer 2019 (arXiv 1911.02150), section 2.4.
    """
    raise NotImplementedError


class CachedAttention(nn.Module):
    """Causal multi-head self-attention with rotary positions; it can continue from a past.

    Attributes:
        W_query, W_key, W_value, out_proj: `nn.Linear` layers from d_model to d_model, with bias.
            The outputs of head h begin at `h * d_model / num_heads`.

    The module keeps nothing from a call: all state is in `past`.

    Allowed: torch's attention functions and layers (`F.scaled_dot_product_attention`,
    `nn.MultiheadAttention` and others).

    Source: Su et al. 2021 (arXiv 2104.09864), section 3.4.2.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        """Builds the layers.

        Args:
            d_model: size of a token, a multiple of num_heads.
            num_heads: number of heads; the size of a head is even.
        """
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: torch.Tensor, past: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Lets each new token attend to itself and to all tokens before it.

        Queries and keys (not values) are rotated by the angles of the positions P, ..., P + T - 1,
        with base 10000.

        Args:
            x: (B, T, d_model), the new tokens.
            past: the pair that an earlier call returned, each of (B, H, P, d), or None.

        Returns:
            The pair (output, present). output: (B, T, d_model). present: the pair of the rotated
            keys and the values of all P + T positions, each of (B, H, P + T, d).
        """
        raise NotImplementedError
