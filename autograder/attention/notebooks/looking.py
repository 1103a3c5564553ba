"""Uses the layers of a student's decoder blocks to compute where each head looks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from ...parts import apply_rotary, rotary_angles


@torch.no_grad()
def block_looks(blocks: Sequence[nn.Module], x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Return every head's attention weights for a text, of shape (number of blocks, H, T, T).

    Args:
        blocks: decoder blocks, from the first to the last.
        x: (T, D), the embedded text.
        num_heads: the number of heads in each block.
    """
    found = []
    for block in blocks:
        found.append(_weights(block, x, num_heads))
        x = block(x[None])[0][0]
    return torch.stack(found)


def _weights(block: nn.Module, x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Return a block's attention weights, (H, T, T); layers must be named as in the exercises."""
    attention = block.get_submodule("attention")
    normed = block.get_submodule("norm1")(x)
    queries, keys = (
        attention.get_submodule(name)(normed).unflatten(-1, (num_heads, -1)).transpose(0, 1)
        for name in ("W_query", "W_key")
    )
    angles = rotary_angles(torch.arange(float(len(x))), queries.shape[-1])
    fit = torch.einsum("htd,hsd->hts", apply_rotary(queries, angles), apply_rotary(keys, angles))
    places = torch.arange(len(x))
    allowed = places[:, None] >= places
    return torch.where(allowed, fit / queries.shape[-1] ** 0.5, -torch.inf).softmax(dim=-1)


def copying(looks: torch.Tensor, tokens: Sequence[str], chosen: Sequence[str]) -> torch.Tensor:
    """Return how much each head looks at what followed a token's first occurrence: (blocks, H).

    Args:
        looks: (blocks, H, T, T), as `block_looks` returns them.
        tokens: the T tokens.
        chosen: the tokens that count, such as the syllables of names; the result is the mean over
            all positions where one of them occurs again.
    """
    first: dict[str, int] = {}
    found = []
    for place, token in enumerate(tokens):
        if token in first and token in chosen:
            found.append(looks[:, :, place, first[token] + 1])
        first.setdefault(token, place)
    return torch.stack(found).mean(dim=0)
