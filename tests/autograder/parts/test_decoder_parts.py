"""The supplied parts for the decoder behave as the questions with the same names require."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from autograder import parts
from autograder.suite import load_module

SOLUTIONS = Path(__file__).parents[3] / "solutions" / "decoder_attention"


@pytest.mark.parametrize("head_dim", [2, 6, 64])
def test_angles_are_those_of_the_solution(head_dim: int) -> None:
    solution = load_module(SOLUTIONS / "rotary_embedding.py")
    positions = torch.linspace(0, 512, 7, dtype=torch.float64)
    for base in (10000.0, 500000.0):
        one = parts.rotary_angles(positions, head_dim, base)
        torch.testing.assert_close(one, solution.rotary_angles(positions, head_dim, base))
    with pytest.raises(ValueError, match="odd"):
        parts.rotary_angles(positions, head_dim + 1)


@pytest.mark.parametrize("shape", [(5, 6), (2, 3, 5, 6), (2, 1, 3, 5, 2)])
def test_turned_queries_are_those_of_the_solution(shape: tuple[int, ...]) -> None:
    solution = load_module(SOLUTIONS / "rotary_embedding.py")
    x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    angles = torch.randn(5, shape[-1] // 2, dtype=torch.float64)
    one, other = parts.apply_rotary(x, angles), solution.apply_rotary(x, angles)
    torch.testing.assert_close(one, other)
    (gradient,) = torch.autograd.grad((one * one.detach().cos()).sum(), x)
    (expected,) = torch.autograd.grad((other * one.detach().cos()).sum(), x)
    torch.testing.assert_close(gradient, expected)


def test_cached_attention_continues_as_the_solution_does() -> None:
    solution = load_module(SOLUTIONS / "kv_cache.py")
    layer, reference = parts.CachedAttention(12, 3), solution.CachedAttention(12, 3)
    reference.load_state_dict(layer.state_dict())
    past = past_of_reference = None
    for num_tokens in (4, 1, 3):
        x = torch.randn(2, num_tokens, 12)
        output, past = layer(x, past)
        expected, past_of_reference = reference(x, past_of_reference)
        torch.testing.assert_close((output, *past), (expected, *past_of_reference))


def test_feed_forward_is_that_of_the_solution() -> None:
    solution = load_module(SOLUTIONS.parent / "transformer_block" / "feed_forward.py")
    layer, reference = parts.FeedForward(6, 11), solution.FeedForward(6, 11)
    reference.load_state_dict(layer.state_dict())
    x = torch.randn(2, 3, 6)
    torch.testing.assert_close(layer(x), reference(x))


def test_block_is_that_of_the_solution() -> None:
    solution = load_module(SOLUTIONS / "decoder_block.py")
    block, reference = parts.DecoderBlock(8, 2, 11), solution.DecoderBlock(8, 2, 11)
    reference.load_state_dict(block.state_dict())
    past = past_of_reference = None
    for num_tokens in (3, 1):
        x = torch.randn(2, num_tokens, 8)
        out, past = block(x, past)
        expected, past_of_reference = reference(x, past_of_reference)
        torch.testing.assert_close((out, *past), (expected, *past_of_reference))


def test_an_unknown_part_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ImportError, match="there is no part 'rotary'|cannot import name"):
        from autograder.parts import rotation  # noqa: F401
    with pytest.raises(AttributeError, match="parts are .*apply_rotary"):
        parts.rotation  # noqa: B018
