"""Public checks of `dropout`."""

from __future__ import annotations

import pytest
import torch

from autograder.attention.suites.chance import dependence_problem, rate_problem
from autograder.suite import Expect, difference, rules_of
from autograder.suite.compare import describe
from autograder.suite.traits import CustomInput, Tensor, Traits, check_by_itself, rows

X = torch.tensor([[1.5, -2.0, 0.5], [3.0, 0.0, -1.0]])
WEIGHTS = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
VALUES = torch.tensor([[4.0, 0.0], [2.0, 8.0], [6.0, -2.0]])

RULES = rules_of(__file__)


@pytest.mark.question("dropout", points=0)
@pytest.mark.by_chance
def test_entries_are_zero_or_larger(expect: Expect) -> None:
    # 3/4 of 1050 is not a whole number, so scaling by the share of kept entries can't give 4
    got = expect.result("dropout", torch.full((50, 21), 3.0), 0.25)
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (50, 21),
        got=str(shape),
        expected="(50, 21)",
        likely="dropout does not change the shape",
    )
    found = sorted({round(value, 4) for value in got.flatten().tolist()})
    expect.that(
        found == [0.0, 4.0],
        got=f"from entries of 3 and p = 0.25, the numbers {found[:6]}",
        expected="[0.0, 4.0], because 3 / (1 - 0.25) is 4",
        likely="in training, every entry is either dropped or made larger; none stays the same",
    )
    zeros = int((got == 0).sum())
    expect.that(
        160 <= zeros <= 365,
        got=f"{zeros} of 1050 entries dropped",
        expected="about 260, a quarter of them",
        likely="p is the probability that an entry is dropped, not that it is kept",
    )


@pytest.mark.question("dropout", points=0)
@pytest.mark.by_chance
def test_two_calls_differ(expect: Expect) -> None:
    ones = torch.ones(30, 30)
    first, second = (expect.result("dropout", ones, 0.4) for _ in range(2))
    fits = isinstance(first, torch.Tensor) and first.shape == ones.shape == second.shape
    expect.that(
        fits and not torch.equal(first, second),
        got="the same result twice" if fits else "a different shape from the input's",
        expected="different zeros in every call",
        likely="draw new random numbers in each call, and set no seed",
    )


@pytest.mark.question("dropout", points=0)
def test_identity_where_nothing_is_to_drop(expect: Expect) -> None:
    likely = "without training, or with p = 0, the result equals the input"
    expect.value("dropout", (X, 0.6, False), X, likely=likely)
    expect.value("dropout", (X, 0.0), X, likely=likely)


@pytest.mark.question("dropout", points=0)
def test_all_is_dropped_at_one(expect: Expect) -> None:
    expect.value(
        "dropout",
        (X, 1.0),
        torch.zeros(2, 3),
        likely="with p = 1, there is no factor 1 / (1 - p): this case needs its own line",
    )


@pytest.mark.question("dropout", points=0)
def test_no_probability(expect: Expect) -> None:
    expect.raises(
        "dropout", X, 3.0, error=ValueError, likely="3 is not a probability: raise a ValueError"
    )


@pytest.mark.question("dropout", points=0)
def test_own_work(expect: Expect) -> None:
    expect.allowed("dropout", X, 0.5, rule=RULES["dropout"])


@pytest.mark.question("dropout_attention_weights", points=0)
def test_context_by_hand(expect: Expect) -> None:
    expect.value(
        "dropout_attention_weights",
        (WEIGHTS, VALUES, 0.7, False),
        torch.tensor([[3.0, 4.0], [4.5, 1.0]]),
        likely="outside training, no weight is dropped: row 0 is halfway between the first two "
        "values",
    )


@pytest.mark.question("dropout_attention_weights", points=0)
@pytest.mark.by_chance
def test_context_is_made_of_the_weights_that_are_kept(expect: Expect) -> None:
    # with values of 1, 10 and 100, each digit of the result shows whether its weight was kept
    values = torch.tensor([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    got = expect.result("dropout_attention_weights", torch.ones(200, 3), values, 0.5)
    shape = tuple(got.shape) if isinstance(got, torch.Tensor) else type(got).__name__
    expect.that(
        shape == (200, 2),
        got=str(shape),
        expected="(200, 2)",
        likely="the result has one context vector for each query",
    )
    found = {round(value / 2, 3) for value in got[:, 0].tolist()}
    expect.that(
        found <= {0, 1, 10, 11, 100, 101, 110, 111} and len(found) > 2,
        got=f"first entries, divided by 2: {sorted(found)[:8]}",
        expected="numbers such as 0, 1, 10, 11 or 111, which are sums of some of the values 1, 10 "
        "and 100",
        likely="drop entries of the weights before they are multiplied by the values; with p = "
        "0.5, the weights that are kept are doubled",
    )
    expect.that(
        bool(torch.allclose(got[:, 1], 2 * got[:, 0])),
        got="one entry of a value, but not the other",
        expected="all entries of a value, or none",
        likely="a dropped weight takes its whole value out of this context vector",
    )


@pytest.mark.question("dropout_attention_weights", points=0)
def test_dropout_attention_weights_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "dropout_attention_weights",
            [
                Tensor("... T S", rows),
                Tensor("... S d"),
                CustomInput(lambda draw, sizes: 0.4),
                CustomInput(lambda draw, sizes: False),
            ],
        ),
    )


@pytest.mark.question("dropout", points=0)
@pytest.mark.by_chance
def test_rows_columns_and_items_are_not_dropped_together(expect: Expect) -> None:
    got = expect.result("dropout", torch.ones(30, 24, 20, dtype=torch.float64), 0.4)
    _check_independence(expect, got, 0.4)


@pytest.mark.question("dropout", points=0)
def test_a_probability_below_zero_is_refused_in_eval_too(expect: Expect) -> None:
    for training in (True, False):
        expect.raises(
            "dropout",
            torch.ones(3),
            -0.25,
            training,
            error=ValueError,
            likely="check both ends of the range, and check p before anything else",
        )


@pytest.mark.question("dropout", points=0)
@pytest.mark.by_chance
def test_what_is_dropped_has_no_gradient_and_the_rest_has(expect: Expect) -> None:
    ones = torch.ones(400, dtype=torch.float64)
    pulled = expect.pulled("dropout", ones, 0.4, cotangent=ones)
    text = difference(pulled.inputs[0], pulled.value)
    expect.that(
        text is None,
        got=f"{text}",
        expected="if x has only ones, the gradient equals the result",
        likely="the same factor multiplies x in the forward pass and the gradient in the "
        "backward pass",
    )


@pytest.mark.question("dropout_attention_weights", points=0)
@pytest.mark.by_chance
def test_weights_are_dropped_one_by_one_and_afresh(expect: Expect) -> None:
    # with unit vectors as values, the result contains the weights
    args = (torch.ones(30, 24, 20), torch.eye(20).repeat(30, 1, 1), 0.4)
    calls = [expect.result("dropout_attention_weights", *args) for _ in range(2)]
    _check_independence(expect, calls[0], 0.4)
    expect.that(
        not torch.equal(*calls),
        got="the same weights in two calls",
        expected="different weights in each call",
        likely="the random numbers are new in each call: set no seed, and keep no pattern",
    )


@pytest.mark.question("dropout_attention_weights", points=0)
def test_nothing_is_left_at_a_probability_of_one(expect: Expect) -> None:
    expect.value(
        "dropout_attention_weights",
        (torch.ones(2, 3), torch.ones(3, 4), 1.0),
        torch.zeros(2, 4),
        likely="zeros, and none of them comes from a division by zero",
    )


def _check_independence(expect: Expect, got: object, p: float) -> None:
    fits = isinstance(got, torch.Tensor) and got.shape == (30, 24, 20)
    expect.that(
        fits,
        got=describe(got),
        expected="shape (30, 24, 20)",
        likely="dropped entries are zeros, and the shape stays the same",
    )
    assert isinstance(got, torch.Tensor)
    problem = dependence_problem(got == 0, p) or rate_problem(got == 0, p)
    expect.that(
        problem is None,
        got=f"{problem}",
        expected=f"each number is dropped independently, with probability {p}",
        likely="how many random numbers does it take, and of which shape?",
    )
