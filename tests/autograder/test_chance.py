"""The statistics of dropout: independent draws pass, each kind of dependence is named."""

import pytest
import torch

from autograder.suite.chance import dependence_problem, rate_problem, repeat_problem

P = 0.3
SHAPE = (24, 20, 25)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(7)


def test_independent_draws_pass(generator):
    dropped = torch.rand(SHAPE, generator=generator) < P

    assert rate_problem(dropped, P) is None
    assert dependence_problem(dropped, P) is None


def test_another_rate_is_told(generator):
    dropped = torch.rand(SHAPE, generator=generator) < 1 - P

    assert "entries were dropped, 7" in rate_problem(dropped, P)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_lines_that_share_a_draw_are_told(generator, dim):
    drawn = list(SHAPE)
    drawn[dim] = 1
    dropped = (torch.rand(drawn, generator=generator) < P).expand(SHAPE)

    problem = dependence_problem(dropped, P)

    assert problem == f"entries along dimension {dim} of 3 are dropped together"


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a_fixed_number_in_each_line_is_told(generator, dim):
    order = torch.rand(SHAPE, generator=generator).argsort(dim)
    fixed = round(P * SHAPE[dim])

    assert "the same number of entries" in dependence_problem(order < fixed, fixed / SHAPE[dim])


def test_only_what_is_present_counts(generator):
    present = torch.ones(64, 8, 8, dtype=torch.bool).tril()
    dropped = torch.rand(64, 8, 8, generator=generator) < P

    assert rate_problem(dropped | ~present, P, present) is None
    assert dependence_problem(dropped | ~present, P, present) is None


def test_calls_that_repeat_are_told(generator):
    first, second = (torch.rand(400, generator=generator) < P for _ in range(2))

    assert repeat_problem([first, second], P) is None
    assert repeat_problem([first, second, first], P) == "call 3 dropped what call 1 dropped"
    assert repeat_problem([first, ~first], 0.5) == "call 2 dropped what call 1 kept"


def test_a_fixed_number_in_each_call_is_told(generator):
    calls = [torch.randperm(400, generator=generator) < 120 for _ in range(6)]

    assert repeat_problem(calls, P) == "each of 6 calls dropped exactly 120 entries"
