"""Public checks of `softmax`."""

from __future__ import annotations

import math

import pytest
import torch

from autograder.suite import Draw, Expect, Tolerance, rules_of
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import Tensor, Traits, check_by_itself, positive

#: the scores of "journey" with the words of "Your journey starts with one step"
SCORES = torch.tensor([0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865])
SHARES = torch.tensor([0.1455, 0.2278, 0.2249, 0.1285, 0.1077, 0.1656])
WEIGHTS = torch.tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581])

#: exp(LOG_3) is 3 and exp(LOG_4) is 4, so the exponentials of TABLE are 1, 3, 4 and 3, 1, 1
LOG_3, LOG_4 = 1.0986123, 1.3862944
TABLE = torch.tensor([[0.0, LOG_3, LOG_4], [LOG_3, 0.0, 0.0]])
ROWS = torch.tensor([[0.125, 0.375, 0.5], [0.6, 0.2, 0.2]])
COLUMNS = torch.tensor([[0.25, 0.75, 0.8], [0.75, 0.25, 0.2]])

RULES = rules_of(__file__)


def _numbers(tensor: torch.Tensor) -> str:
    """Returns the numbers of a tensor in one row, with four digits each."""
    return ", ".join(f"{number:.4g}" for number in tensor.flatten().tolist())


@pytest.mark.question("normalize_by_sum", points=0)
def test_shares_of_two_rows_by_hand(expect: Expect) -> None:
    expect.value(
        "normalize_by_sum",
        (torch.tensor([[1.0, 3.0, 4.0], [2.0, 1.0, 1.0]]),),
        torch.tensor([[0.125, 0.375, 0.5], [0.5, 0.25, 0.25]]),
        likely="the first row sums to 8, the second to 4: each is divided by its own number",
    )


@pytest.mark.question("normalize_by_sum", points=0)
def test_shares_of_the_second_word(expect: Expect) -> None:
    expect.value(
        "normalize_by_sum",
        (SCORES,),
        SHARES,
        likely="a single row has only one dimension, which is also the last",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("normalize_by_sum", points=0)
def test_shares_of_a_batch(expect: Expect) -> None:
    scores = torch.tensor([[[1.0, 1.0, 2.0], [3.0, 1.0, 4.0]], [[6.0, 3.0, 1.0], [2.0, 5.0, 1.0]]])
    got = expect.result("normalize_by_sum", scores)
    sums = got.sum(-1) if isinstance(got, torch.Tensor) and got.shape == scores.shape else None
    expect.that(
        sums is not None and bool(torch.allclose(sums, torch.ones(2, 2))),
        got=f"row sums {_numbers(sums)}"
        if sums is not None
        else "a different shape from the scores",
        expected="four rows that sum to one each",
        likely="with a batch in front, rows are still along the last dimension",
    )


@pytest.mark.question("naive_softmax", points=0)
def test_exponentials_of_two_rows_by_hand(expect: Expect) -> None:
    expect.value(
        "naive_softmax",
        (TABLE,),
        ROWS,
        likely="the exponentials of the first row are 1, 3 and 4, those of the second 3, 1 and 1",
    )


@pytest.mark.question("naive_softmax", points=0)
def test_weights_of_the_second_word(expect: Expect) -> None:
    expect.value(
        "naive_softmax",
        (SCORES,),
        WEIGHTS,
        likely="compare with the plain shares: the exponentials make large scores count more",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("naive_softmax", points=0)
def test_negative_scores_get_positive_weights(expect: Expect) -> None:
    got = expect.result("naive_softmax", torch.tensor([[[-2.0, 0.5, -1.0], [3.0, -3.0, 0.0]]]))
    right_shape = isinstance(got, torch.Tensor) and got.shape == (1, 2, 3)
    expect.that(
        right_shape and bool((got > 0).all()),
        got="weights that are zero or negative" if right_shape else "a different shape",
        expected="shape (1, 2, 3) and only positive weights",
        likely="an exponential is positive for every score",
    )
    expect.that(
        bool(torch.allclose(got.sum(-1), torch.ones(1, 2))),
        got=f"row sums {_numbers(got.sum(-1))}",
        expected="1 for each of the two rows",
        likely="the denominator belongs to one row only",
    )


@pytest.mark.question("softmax", points=0)
def test_rows_of_a_table_by_hand(expect: Expect) -> None:
    expect.value(
        "softmax",
        (TABLE,),
        ROWS,
        likely="when `dim` is not given, each row is normalized",
    )


@pytest.mark.question("softmax", points=0)
def test_columns_of_a_table_by_hand(expect: Expect) -> None:
    expect.value(
        "softmax",
        (TABLE, 0),
        COLUMNS,
        likely="with `dim=0` each column is normalized: look at every place where a dimension "
        "is named",
    )


@pytest.mark.question("softmax", points=0)
def test_stable_weights_of_the_second_word(expect: Expect) -> None:
    expect.value(
        "softmax",
        (SCORES, 0),
        WEIGHTS,
        likely="for moderate scores the result is the same as that of the naive form",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("softmax", points=0)
def test_huge_scores_by_hand(expect: Expect) -> None:
    expect.value(
        "softmax",
        (torch.tensor([600.0, 600.0]),),
        torch.tensor([0.5, 0.5]),
        likely="two equal scores share the weight equally, however large they are; a result of nan "
        "means that infinity was divided by infinity",
    )


@pytest.mark.question("softmax", points=0)
def test_a_forbidden_place_by_hand(expect: Expect) -> None:
    expect.value(
        "softmax",
        (torch.tensor([LOG_3, -torch.inf, 0.0]),),
        torch.tensor([0.75, 0.0, 0.25]),
        likely="a later assignment uses a score of -inf to hide a position: its weight is zero",
    )


@pytest.mark.question("softmax", points=0)
def test_no_softmax_of_torch(expect: Expect) -> None:
    expect.result("softmax", SCORES)
    expect.allowed("softmax", SCORES, rule=RULES["softmax"])


@pytest.mark.question("normalize_by_sum", points=0)
def test_normalize_by_sum_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("normalize_by_sum", [Tensor("... S", positive)]))


@pytest.mark.question("naive_softmax", points=0)
def test_naive_softmax_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("naive_softmax", [Tensor("... S")]))


@pytest.mark.question("softmax", points=0)
def test_softmax_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(expect, Traits("softmax", [Tensor("... S")]))


@pytest.mark.question("normalize_by_sum", points=0)
def test_shares_of_scores_with_signs(expect: Expect) -> None:
    expect.value(
        "normalize_by_sum",
        (torch.tensor([6.0, -2.0, 4.0]),),
        torch.tensor([0.75, -0.25, 0.5]),
        likely="6 - 2 + 4 is 8, and the share of -2 is below zero",
    )


@pytest.mark.question("softmax", points=0)
def test_columns_of_scores_that_lie_far_from_each_other(expect: Expect) -> None:
    ln3 = 1.0986123
    levels = torch.tensor([[-800.0, 0.0, 900.0]], dtype=torch.float64)
    columns = torch.cat([levels, levels + ln3])
    expect.value(
        "softmax",
        (columns, 0),
        torch.tensor([[0.25] * 3, [0.75] * 3]).double(),
        likely="every column has its own largest score; the rest of the table does not matter",
        tolerance=Tolerance(atol=1e-6, rtol=0.0),
    )


@pytest.mark.question("softmax", points=0)
def test_the_second_of_four_dimensions(expect: Expect, draw: Draw) -> None:
    scores = draw.normal(2, 3, 4, 5)
    got = expect.result("softmax", scores, 1)
    alone = expect.result("softmax", scores[1, :, 2, 3])
    fits = isinstance(got, torch.Tensor) and got.shape == scores.shape
    expect.that(
        fits and torch.allclose(got[1, :, 2, 3], alone, atol=1e-6),
        got="weights that differ from those of the same numbers alone",
        expected="the same, in the same place",
        likely="the other dimensions keep their order",
    )


@pytest.mark.question("naive_softmax", points=0)
def test_exponentials_of_minus_seven_and_seven(expect: Expect) -> None:
    share = 1 / (1 + math.exp(14.0))
    expect.value(
        "naive_softmax",
        (torch.tensor([-7.0, 7.0], dtype=torch.float64),),
        torch.tensor([share, 1 - share], dtype=torch.float64),
        likely="`torch.exp` computes with all digits of e",
        tolerance=Tolerance(atol=0.0, rtol=1e-6),
    )
