"""Solutions and supplied parts give the same numbers as torch's own layers and functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder import parts
from autograder.suite import load_module

SOLUTIONS = Path(__file__).parents[3] / "solutions"
Past = tuple[torch.Tensor, torch.Tensor]


def solution(assignment: str, exercise: str, name: str) -> Any:
    """Returns a class of a solution."""
    return getattr(load_module(SOLUTIONS / assignment / f"{exercise}.py"), name)


def loaded(layer: nn.MultiheadAttention, source: Any) -> nn.MultiheadAttention:
    """Copies our weights into torch's attention, which keeps three projections in one tensor."""
    layers = (source.W_query, source.W_key, source.W_value)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([part.weight for part in layers]))
        layer.in_proj_bias.copy_(torch.cat([part.bias for part in layers]))
        layer.out_proj.load_state_dict(source.out_proj.state_dict())
    return layer


@pytest.mark.parametrize(
    "made",
    [
        parts.MultiHeadSelfAttention,
        solution("transformer_block", "multi_head_self_attention", "MultiHeadSelfAttention"),
    ],
    ids=["part", "solution"],
)
def test_self_attention_is_that_of_torch(made: Any) -> None:
    own, x = made(12, 3), torch.randn(2, 5, 12)
    torchs = loaded(nn.MultiheadAttention(12, 3, batch_first=True), own)
    torch.testing.assert_close(own(x), torchs(x, x, x, need_weights=False)[0])


def test_the_encoder_block_is_torchs_encoder_layer() -> None:
    own = solution("transformer_block", "encoder_block", "EncoderBlock")(12, 3, 20)
    torchs = nn.TransformerEncoderLayer(12, 3, 20, dropout=0.0, batch_first=True)
    loaded(torchs.self_attn, own.attention)
    for one, other in (
        (torchs.linear1, own.feed_forward.linear1),
        (torchs.linear2, own.feed_forward.linear2),
        (torchs.norm1, own.norm1),
        (torchs.norm2, own.norm2),
    ):
        nn.init.normal_(other.bias)
        one.load_state_dict(other.state_dict())
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(own(x), torchs(x))


def decoder_of_torch(block: Any, x: torch.Tensor, past: Past | None, heads: int) -> Any:
    """Computes our decoder block with torch's functions, and the rotation with complex numbers."""
    attention, size = block.attention, x.shape[-1] // heads
    seen = 0 if past is None else past[0].shape[2]
    normed = F.layer_norm(x, x.shape[-1:], block.norm1.weight, block.norm1.bias)
    q, k, v = (
        F.linear(normed, part.weight, part.bias).unflatten(-1, (heads, size)).transpose(1, 2)
        for part in (attention.W_query, attention.W_key, attention.W_value)
    )
    places = torch.arange(seen, seen + x.shape[1], dtype=x.dtype)[:, None]
    angles = places * 10000.0 ** (-torch.arange(0, size, 2, dtype=x.dtype) / size)

    def turned(vectors: torch.Tensor) -> torch.Tensor:
        pairs = torch.complex(*vectors.chunk(2, dim=-1))
        pairs = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([pairs.real, pairs.imag], dim=-1)

    keys, values = turned(k), v
    if past is not None:
        keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
    visible = torch.ones(x.shape[1], keys.shape[2], dtype=torch.bool).tril(seen)
    context = F.scaled_dot_product_attention(turned(q), keys, values, attn_mask=visible)
    out = attention.out_proj
    h = x + F.linear(context.transpose(1, 2).flatten(2), out.weight, out.bias)
    normed = F.layer_norm(h, h.shape[-1:], block.norm2.weight, block.norm2.bias)
    first, second = block.feed_forward.linear1, block.feed_forward.linear2
    hidden = F.linear(normed, first.weight, first.bias).relu()
    return h + F.linear(hidden, second.weight, second.bias), (keys, values)


@pytest.mark.parametrize(
    "made",
    [parts.DecoderBlock, solution("decoder_attention", "decoder_block", "DecoderBlock")],
    ids=["part", "solution"],
)
def test_the_decoder_block_gives_the_numbers_of_torchs_functions(made: Any) -> None:
    block = made(12, 3, 20)
    past: Past | None = None
    for num_tokens in (4, 1):
        x = torch.randn(2, num_tokens, 12)
        expected, present = decoder_of_torch(block, x, past, 3)
        out, past = block(x, past)
        assert past is not None
        torch.testing.assert_close((out, *past), (expected, *present))
