"""Measures times, attention weights of random words, and gradients of blocks for the notebooks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from ...parts import CachedAttention, FeedForward


def seconds(run: Callable[[], Any]) -> float:
    """Return the seconds of processor time that a call takes with gradients switched off.

    The call runs on one core, so that other programs disturb the measurement less.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        start = time.process_time()
        with torch.no_grad():
            run()
        return time.process_time() - start
    finally:
        torch.set_num_threads(threads)


def weights_of(*scores: float) -> torch.Tensor:
    """Return the softmax weights for one row of scores."""
    return torch.tensor(scores, dtype=torch.float64).softmax(dim=0)


def by_torch(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, *, causal: bool = False
) -> torch.Tensor:
    """Compute attention with torch's own function, which answers in these notebooks must not use.

    Args:
        queries: (..., T, d).
        keys: (..., S, d).
        values: (..., S, d_v).
        causal: whether each query sees only keys up to its own position; then S must equal T.

    Returns:
        (..., T, d_v): the context vectors.
    """
    attend = nn.functional.scaled_dot_product_attention
    return attend(queries, keys, values, is_causal=causal)


def weights_by_size(sizes: Sequence[int], *, scaled: bool) -> torch.Tensor:
    """Return the weights that one random query gives to eight random keys, for each size.

    Args:
        sizes: N sizes d_k of the query and the keys, whose entries have mean 0 and variance 1.
        scaled: whether scores are divided by the square root of the size.

    Returns:
        (N, 8): a row of weights for each size. The query and the keys are the same whether `scaled`
        is true or not.
    """
    generator = torch.Generator().manual_seed(4)
    rows = []
    for size in sizes:
        query = torch.randn(size, generator=generator)
        keys = torch.randn(8, size, generator=generator)
        root = size**0.5 if scaled else 1.0
        rows.append(keys.mv(query).div(root).softmax(dim=0))
    return torch.stack(rows)


def weights_at_the_start(size: int, spread: float) -> torch.Tensor:
    """Return the attention weights of six random words in an untrained layer.

    Args:
        size: the number of entries in a word, a query or a key.
        spread: the standard deviation of the entries in both weight matrices.

    Returns:
        (6, 6): one row for each query.
    """
    generator = torch.Generator().manual_seed(7)
    words = torch.randn(6, size, generator=generator)
    queries, keys = (
        words.mm(torch.randn(size, size, generator=generator).mul(spread)) for _ in range(2)
    )
    return queries.mm(keys.mT).div(size**0.5).softmax(dim=-1)


def lengths_of_gradients(pre_norm: bool, blocks: int = 12, size: int = 64) -> torch.Tensor:
    """Return the length of the gradient along the residual path through untrained blocks.

    Gradients through the sublayers are left out, so only the norms on the path change the gradient.

    Args:
        pre_norm: whether norms come before the sublayers, instead of after the sums.
        blocks: N, the number of blocks, each with attention and a feed-forward network.
        size: the number of entries in a token's vector.

    Returns:
        (N + 1,): the gradient's length before each block and after the last one, divided by the
            length after the last one.
    """
    torch.manual_seed(1)
    inputs = [torch.randn(1, 8, size, requires_grad=True)]
    for _ in range(blocks):
        x = inputs[-1]
        for sublayer in (CachedAttention(size, 4), FeedForward(size, 4 * size)):
            norm = nn.LayerNorm(size)
            y = sublayer(norm(x) if pre_norm else x)
            y = (y[0] if isinstance(y, tuple) else y).detach()
            x = x + y if pre_norm else norm(x + y)
        x.retain_grad()
        inputs.append(x)
    (inputs[-1] * torch.randn(1, 8, size)).sum().backward()  # type: ignore[no-untyped-call]
    lengths = torch.stack([x.grad.norm() for x in inputs if x.grad is not None])
    return lengths / lengths[-1]
