"""The statistics of dropout: independent draws pass, each kind of dependence is named."""

from typing import Any

import pytest
import torch

from autograder.suite.chance import dependence_problem, factor_problem, rate_problem, repeat_problem

P = 0.3
SHAPE = (24, 20, 25)
ORDINALS = ("first", "second", "third")


@pytest.fixture
def generator() -> Any:
    return torch.Generator().manual_seed(7)


def test_independent_draws_pass(generator: torch.Generator) -> None:
    dropped = torch.rand(SHAPE, generator=generator) < P

    assert rate_problem(dropped, P) is None
    assert dependence_problem(dropped) is None


def test_another_rate_is_told(generator: torch.Generator) -> None:
    dropped = torch.rand(SHAPE, generator=generator) < 1 - P

    assert (rate_problem(dropped, P) or "").endswith("as many as should be kept")
    assert (rate_problem(dropped, 0.5) or "").endswith("too many")
    assert (rate_problem(dropped, 0.9) or "").endswith("too few")
    assert (rate_problem(torch.zeros_like(dropped), P) or "").endswith("all or nothing")


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.0, "as they were"),
        (1 / P, "divided by p"),
        (1 - P, "multiplied by 1 - p"),
        (2.0, "doubled"),
        (3.0, "multiplied by 3"),
        (torch.arange(1.0, 6.0), "multiplied by different numbers, from 1 to 5"),
        (torch.nan, "not finite"),
    ],
)
def test_another_factor_is_told(factor: float | torch.Tensor, words: str) -> None:
    before = torch.tensor([1.0, -2.0, 3.0, 0.5, 7.0])

    assert factor_problem(before / (1 - P), before, P) is None
    assert factor_problem(before * factor, before, P) == f"kept entries are {words}"


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_lines_that_share_a_draw_are_told(generator: torch.Generator, dim: int) -> None:
    drawn = list(SHAPE)
    drawn[dim] = 1
    dropped = (torch.rand(drawn, generator=generator) < P).expand(SHAPE)

    problem = dependence_problem(dropped)

    assert problem == f"entries along the {ORDINALS[dim]} of 3 dimensions are dropped together"


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a_fixed_number_in_each_line_is_told(generator: torch.Generator, dim: int) -> None:
    order = torch.rand(SHAPE, generator=generator).argsort(dim)
    fixed = round(P * SHAPE[dim])

    assert "the same number is dropped" in (dependence_problem(order < fixed) or "")


def test_only_what_is_present_counts(generator: torch.Generator) -> None:
    present = torch.ones(64, 8, 8, dtype=torch.bool).tril()
    dropped = torch.rand(64, 8, 8, generator=generator) < P

    assert rate_problem(dropped | ~present, P, present) is None
    assert dependence_problem(dropped | ~present, present) is None


def test_calls_that_repeat_are_told(generator: torch.Generator) -> None:
    first, second = (torch.rand(400, generator=generator) < P for _ in range(2))

    assert repeat_problem([first, second]) is None
    assert "calls 1 and 3 treat 400 of 400" in (repeat_problem([first, second, first]) or "")
    assert "calls 1 and 2 treat 0 of 400" in (repeat_problem([first, ~first]) or "")


def test_a_call_that_drops_all_or_nothing_is_told(generator: torch.Generator) -> None:
    first, second = (torch.rand(400, generator=generator) < P for _ in range(2))

    assert (repeat_problem([first, second, torch.zeros_like(first)]) or "").startswith(
        "a call dropped all"
    )
    assert (repeat_problem([torch.ones_like(first), second]) or "").startswith("a call dropped all")


def test_another_rate_is_no_repetition(generator: torch.Generator) -> None:
    assert repeat_problem([torch.rand(400, generator=generator) < 0.6 for _ in range(6)]) is None


def test_another_rate_is_no_dependence(generator: torch.Generator) -> None:
    assert dependence_problem(torch.rand(SHAPE, generator=generator) < 0.6) is None


def test_a_fixed_number_in_each_call_is_told(generator: torch.Generator) -> None:
    calls = [torch.randperm(400, generator=generator) < 120 for _ in range(6)]

    assert repeat_problem(calls) == "each of 6 calls dropped exactly 120 entries"
