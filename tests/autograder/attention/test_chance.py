"""The dropout statistics accept independent draws, and say how other draws depend on each other."""

import math
from typing import Any

import pytest
import torch

from autograder.attention.suites import tails
from autograder.attention.suites.chance import (
    copied_problem,
    dependence_problem,
    drawn_rate,
    factor_problem,
    groups_problem,
    neighbours_problem,
    rate_problem,
    repeat_problem,
)
from autograder.suite.arguments import Draw

P = 0.3
SHAPE = (24, 20, 25)
ORDINALS = ("first", "second", "third")


@pytest.fixture
def generator() -> Any:
    return torch.Generator().manual_seed(7)


def test_independent_draws_pass(generator: torch.Generator) -> None:
    dropped = torch.rand(SHAPE, generator=generator) < P

    assert rate_problem(dropped, P) is None
    assert dependence_problem(dropped, P) is None


def test_a_wrong_rate_is_reported(generator: torch.Generator) -> None:
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
def test_a_wrong_factor_is_reported(factor: float | torch.Tensor, words: str) -> None:
    before = torch.tensor([1.0, -2.0, 3.0, 0.5, 7.0])

    assert factor_problem(before / (1 - P), before, P) is None
    assert factor_problem(before * factor, before, P) == f"kept entries are {words}"


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_lines_that_share_a_draw_are_reported(generator: torch.Generator, dim: int) -> None:
    drawn = list(SHAPE)
    drawn[dim] = 1
    dropped = (torch.rand(drawn, generator=generator) < P).expand(SHAPE)

    problem = dependence_problem(dropped, P)

    assert problem == f"entries along the {ORDINALS[dim]} of 3 dimensions are dropped together"


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a_fixed_number_in_each_line_is_reported(generator: torch.Generator, dim: int) -> None:
    order = torch.rand(SHAPE, generator=generator).argsort(dim)
    fixed = round(P * SHAPE[dim])

    assert "the same number of entries is dropped" in (dependence_problem(order < fixed, P) or "")


def test_only_what_is_present_counts(generator: torch.Generator) -> None:
    present = torch.ones(64, 8, 8, dtype=torch.bool).tril()
    dropped = torch.rand(64, 8, 8, generator=generator) < P

    assert rate_problem(dropped | ~present, P, present) is None
    assert dependence_problem(dropped | ~present, P, present) is None


def test_calls_that_repeat_are_reported(generator: torch.Generator) -> None:
    first, second = (torch.rand(400, generator=generator) < P for _ in range(2))

    assert repeat_problem([first, second]) is None
    assert "calls 1 and 3 treat 400 of 400" in (repeat_problem([first, second, first]) or "")
    assert "calls 1 and 2 treat 0 of 400" in (repeat_problem([first, ~first]) or "")


def test_a_call_that_drops_all_or_nothing_is_reported(generator: torch.Generator) -> None:
    first, second = (torch.rand(400, generator=generator) < P for _ in range(2))

    assert (repeat_problem([first, second, torch.zeros_like(first)]) or "").startswith(
        "a call dropped all"
    )
    assert (repeat_problem([torch.ones_like(first), second]) or "").startswith("a call dropped all")


def test_another_rate_is_not_a_repetition(generator: torch.Generator) -> None:
    assert repeat_problem([torch.rand(400, generator=generator) < 0.6 for _ in range(6)]) is None


def test_another_rate_is_not_a_dependence(generator: torch.Generator) -> None:
    assert dependence_problem(torch.rand(SHAPE, generator=generator) < 0.6, P) is None


def test_a_fixed_number_in_each_call_is_reported(generator: torch.Generator) -> None:
    calls = [torch.randperm(400, generator=generator) < 120 for _ in range(8)]

    assert repeat_problem(calls) == "each of 8 calls dropped exactly 120 entries"


@pytest.mark.parametrize("p", [0.001, 0.04, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("total", [20, 400])
def test_a_count_is_as_improbable_as_its_bound_says(p: float, total: int) -> None:
    chances = [math.comb(total, k) * p**k * (1 - p) ** (total - k) for k in range(total + 1)]
    for count in range(total + 1):
        tail = chances[count:] if count >= total * p else chances[: count + 1]
        assert math.fsum(tail) <= math.exp(-tails.of_count(count, total, p)) * (1 + 1e-9)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.8])
def test_squares_are_as_improbable_as_their_bound_says(p: float) -> None:
    # two lines of six draws have few enough outcomes to list them all
    lengths = torch.tensor([6.0, 6.0]).double()
    chances = [math.comb(6, k) * p**k * (1 - p) ** (6 - k) for k in range(7)]
    outcomes = []
    for one in range(7):
        for other in range(7):
            counts = torch.tensor([one, other]).double()
            size = float(((counts - 6 * p) ** 2).sum())
            outcomes.append((size, chances[one] * chances[other], counts))
    for size, _, counts in outcomes:
        above, below = tails.of_squares(counts, lengths, p)
        larger = math.fsum(chance for other, chance, _ in outcomes if other >= size - 1e-9)
        smaller = math.fsum(chance for other, chance, _ in outcomes if other <= size + 1e-9)
        assert larger <= math.exp(-above) * (1 + 1e-9)
        assert smaller <= math.exp(-below) * (1 + 1e-9)


@pytest.mark.parametrize("p", [0.003, 0.3, 0.996])
def test_independent_draws_pass_at_every_rate(generator: torch.Generator, p: float) -> None:
    calls = [torch.rand(60, 500, generator=generator) < p for _ in range(3)]

    assert rate_problem(calls[0], p) is None
    assert dependence_problem(calls[0], p) is None
    assert neighbours_problem(calls[0], p) is None
    assert groups_problem(torch.stack(calls, -1).view(-1, 3), p) is None


def test_two_entries_that_decide_on_a_third_are_reported(generator: torch.Generator) -> None:
    drawn = torch.rand(30_000, generator=generator)
    drawn[2::3] = (drawn[0::3] + drawn[1::3]) % 1

    problem = neighbours_problem(drawn < P, P) or ""
    assert "adjacent entries: " in problem
    assert " of 10000 groups of 3 are " in problem
    assert dependence_problem((drawn < P).view(100, 300), P) is None


def test_one_draw_for_two_entries_is_noticed_at_small_rates(generator: torch.Generator) -> None:
    dropped = (torch.rand(15_000, generator=generator) < 0.01).repeat_interleave(2)

    assert "groups of 2" in (neighbours_problem(dropped, 0.01) or "")


def test_a_pattern_repeated_far_away_is_reported(generator: torch.Generator) -> None:
    calls = [torch.rand(400, generator=generator) < P for _ in range(70)]

    assert copied_problem(calls) is None
    problem = copied_problem([*calls, calls[5]])
    assert problem == "call 71 drops exactly the entries that call 6 drops"


def test_drawn_rates_are_not_whole_percentages() -> None:
    draw = Draw(1, "rates")
    rates = [drawn_rate(draw, 0.001, 0.049) for _ in range(200)]

    assert all(0.001 <= rate <= 0.049 and round(1000 * rate) % 10 for rate in rates)
    assert min(rates) < 0.005 and max(rates) > 0.045
