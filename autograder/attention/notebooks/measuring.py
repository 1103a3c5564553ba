"""Measurements for the notebooks: the time that a program takes, and gradients between blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ...parts import CachedAttention, FeedForward


def seconds(run: Callable[[], Any]) -> float:
    """Return the seconds of processor time that a call takes, without gradients.

    It runs on one core, so that other programs disturb the measurement less.
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


def lengths_of_gradients(pre_norm: bool, blocks: int = 12, size: int = 64) -> torch.Tensor:
    """Return the length of the gradient along the residual path through new blocks.

    Gradients through the sublayers are left out, so only the norms on the path change the gradient.

    Args:
        pre_norm: whether the norms are in front of the sublayers, or after the sums.
        blocks: N, the number of blocks, each with attention and a feed-forward network.
        size: the size of a token.

    Returns:
        (N + 1,): the length in front of each block, as a share of that behind the last one.
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
