"""Repeated dropout patterns are reported, and independent ones are not."""

from __future__ import annotations

import pytest
import torch

from autograder.attention.suites.echoes import echo_problem

SIZE = 2000


def _patterns(seed: int, count: int, p: float = 0.3, size: int = SIZE) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(size, generator=generator) < p for _ in range(count)]


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("size", [600, 2000])
def test_independent_patterns_are_let_through(p: float, size: int) -> None:
    assert all(echo_problem(_patterns(seed, 4, p, size)) is None for seed in range(40))


def test_a_repetition_among_absent_entries_is_reported() -> None:
    present = torch.ones(10, 20, 20).tril().bool().flatten()
    calls = _patterns(1, 3, 0.3, present.numel())
    assert echo_problem(calls, present) is None
    repeated = [call[:1500].repeat(3)[: present.numel()] for call in calls]
    problem = echo_problem([torch.where(present, call, False) for call in repeated], present)
    assert problem is not None
    assert "repeats itself moved by" in problem


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_independent_patterns_with_entries_that_do_not_count(p: float) -> None:
    present = torch.ones(20, 10, 10).tril().bool().flatten()
    assert all(
        echo_problem(_patterns(seed, 3, p, present.numel()), present) is None for seed in range(20)
    )


def _half_kept(one: torch.Tensor, other: torch.Tensor) -> list[torch.Tensor]:
    half = torch.arange(SIZE) % 2 == 0
    return [one, torch.where(half, one, other)]


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (_half_kept, "repeats that of call 1"),
        (lambda one, other: [one, one.roll(7)], "moved by 7 entries"),
        (lambda one, other: [one, one.flip(0)], "reversed"),
        (lambda one, other: [torch.cat([one[:1000], one[:1000]])], "repeats itself moved by 1000"),
        (lambda one, other: [one, ~one], "is the opposite of that of call 1"),
    ],
)
def test_repeated_patterns_are_reported(spoil, what: str) -> None:  # type: ignore[no-untyped-def]
    one, other = _patterns(1, 2, 0.5)
    problem = echo_problem(spoil(one, other))
    assert problem is not None
    assert what in problem
