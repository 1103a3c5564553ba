"""Hidden suite of `softmax`: 40 of the assignment's 100 points."""

from __future__ import annotations

import pytest
import torch

from autograder.suite import Draw, Expect, Tolerance, rules_of
from autograder.suite.traits import Case, CustomInput, Tensor, Traits, check_rule, check_trait
from autograder.suite.traits import positive as positive_values

INF = float("inf")

GRADIENT = (
    "`.item()`, `.detach()`, `.tolist()` and `torch.tensor(...)` cut the gradient: use only "
    "tensor operations"
)
PRECISION = (
    "a new tensor is float32 unless you give its dtype, and `.float()` loses digits: use the "
    "dtype of the scores in every step"
)
ROWS = (
    "each row has its own sum; a sum that has lost its dimension is matched with the columns "
    "instead of the rows"
)

#: near scores of 1e3, rounding to float32 changes a weight by up to 6e-5 of its value
LARGE = Tolerance(atol=1e-5, rtol=1e-3)

RULES = rules_of(__file__)


def between_float32_numbers(draw: Draw, *shape: int) -> torch.Tensor:
    """Draws float64 scores near 44 that float32 would round by almost half a step.

    The first column is moved up and the others down, so that rounding moves the weights by more
    than the tolerance of float64.
    """
    scores = draw.uniform(*shape, low=44.0, high=44.5).double()
    step = 2.0**-18  # the spacing of float32 between 32 and 64
    scores[..., 0] += 0.45 * step
    scores[..., 1:] -= 0.45 * step
    return scores


def positive(draw: Draw, *shape: int) -> torch.Tensor:
    """Draws scores whose rows have a sum well above zero."""
    return draw.uniform(*shape, low=0.2, high=3.0)


@pytest.mark.question("normalize_by_sum", points=1)
def test_one_row_of_shares(expect: Expect, draw: Draw) -> None:
    likely = "each score is divided by the sum of all scores in its row"
    expect.same("normalize_by_sum", positive(draw, 6), likely=likely)
    expect.same("normalize_by_sum", 100.0 * positive(draw, 3), likely=likely)
    tiny = "divide even by a very small sum: do not add anything to it, and do not clip it"
    small = positive(draw, 3).double()
    expect.same("normalize_by_sum", 1e-7 * small / small.sum(), likely=tiny)
    expect.same("normalize_by_sum", -1e-7 * small / small.sum(), likely=tiny)


@pytest.mark.question("normalize_by_sum", points=2)
def test_each_row_of_a_square_has_its_sum(expect: Expect, draw: Draw) -> None:
    scores = positive(draw, 5, 5)
    scores[1] *= 1.05e-7 / scores[1].sum()  # below the spacing of float32 at 1
    scores[3] *= 1e5
    expect.same("normalize_by_sum", scores, likely=ROWS)


@pytest.mark.question("normalize_by_sum", points=2)
def test_negative_scores_keep_their_sign(expect: Expect, draw: Draw) -> None:
    scores = positive(draw, 4, 7) + 0.3  # sums of the others are at least 6 x 0.5
    scores[:, 2] = -scores[:, 2].clamp(max=2.0)
    scores[3] = -scores[3]
    expect.same(
        "normalize_by_sum",
        scores,
        likely="negative scores count as negative in the sum, and a share may be negative: do not "
        "clip anything or take absolute values",
    )


@pytest.mark.question("normalize_by_sum", points=2)
def test_shares_with_leading_dimensions(expect: Expect, draw: Draw) -> None:
    likely = "the sum runs over the last dimension, however many dimensions come before it"
    expect.same("normalize_by_sum", positive(draw, 4, 4, 4), likely=likely)
    expect.same("normalize_by_sum", positive(draw, 2, 3, 4, 5), likely=likely)
    expect.same("normalize_by_sum", positive(draw, 1, 5, 3).transpose(1, 2), likely=likely)


@pytest.mark.question("normalize_by_sum", points=1)
def test_shares_in_float64(expect: Expect, draw: Draw) -> None:
    # with so many large numbers, some sums lose digits in float32
    scores = positive(draw, 12, 6).double()
    large = draw.uniform(12, low=1000.0, high=3000.0, dtype=torch.float64)
    scores[:, 1] += large
    scores[:, 4] -= large
    expect.same("normalize_by_sum", scores, likely=PRECISION)


@pytest.mark.question("naive_softmax", points=1)
def test_one_row_of_exponentials(expect: Expect, draw: Draw) -> None:
    likely = (
        "first take the exponential of every score, then divide each one by the sum of the "
        "exponentials"
    )
    expect.same("naive_softmax", draw.normal(6), likely=likely)
    expect.same("naive_softmax", draw.normal(3) - 4.0, likely=likely)
    expect.same(
        "naive_softmax",
        draw.normal(3) - 20.0,
        likely="the sum of a row may be very small: do not add anything to it, and do not clip it",
    )
    for middle in (-25.0, 47.0):
        expect.same(
            "naive_softmax",
            middle + draw.uniform(5, low=-1.5, high=1.5),
            likely="scores of this size have a finite exponential: do not clip them",
        )
    one_of_many = draw.normal(2, 128, scale=0.2, dtype=torch.float64)
    one_of_many[:, draw.integer(0, 127)] += 5.0  # outweighs all the others together
    expect.same(
        "naive_softmax",
        one_of_many,
        likely=f"{ROWS}; the base of the exponential has more digits than you can write down: use "
        "`torch.exp`",
    )


@pytest.mark.question("naive_softmax", points=2)
def test_each_row_of_a_square_has_its_exponentials(expect: Expect, draw: Draw) -> None:
    scores = draw.normal(5, 5, scale=2.0) + torch.tensor([[-4.0], [-2.0], [0.0], [2.0], [4.0]])
    expect.same("naive_softmax", scores, likely=ROWS)


@pytest.mark.question("naive_softmax", points=3)
def test_exponentials_with_leading_dimensions(expect: Expect, draw: Draw) -> None:
    likely = "the sum runs over the last dimension, however many dimensions come before it"
    expect.same("naive_softmax", draw.normal(4, 4, 4), likely=likely)
    expect.same("naive_softmax", draw.normal(2, 3, 4, 5), likely=likely)
    expect.same("naive_softmax", draw.strided(1, 3, 5), likely=likely)


@pytest.mark.question("naive_softmax", points=2)
def test_exponentials_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same("naive_softmax", between_float32_numbers(draw, 3, 5), likely=PRECISION)


@pytest.mark.question("softmax", points=1)
def test_rows_by_default(expect: Expect, draw: Draw) -> None:
    likely = (
        "every exponential is divided by the sum of its row; subtracting one number from all "
        "scores of a row changes nothing; without `dim`, use the last dimension"
    )
    expect.same("softmax", draw.normal(6), likely=likely)
    expect.same("softmax", draw.normal(5, 5), likely=likely)
    expect.same("softmax", draw.normal(2, 3, 4), likely=likely)


@pytest.mark.question("softmax", points=3)
def test_every_dimension_of_a_cube(expect: Expect, draw: Draw) -> None:
    scores = draw.normal(4, 4, 4)
    likely = (
        "take both the maximum and the sum along `dim`, and keep that dimension, so that they line "
        "up with the scores"
    )
    for dim in (0, 1, 2, -1, -2, -3):
        expect.same("softmax", scores, dim, likely=likely)


@pytest.mark.question("softmax", points=2)
def test_any_shape_and_dimension(expect: Expect, draw: Draw) -> None:
    likely = "`dim` counts from the front, or from the end if it is negative"
    expect.same("softmax", torch.full((7,), 1.5), 0, likely=likely)  # all scores are equal
    expect.same("softmax", draw.strided(3, 5), 0, likely=likely)
    expect.same("softmax", draw.normal(2, 5, 3, 4), 1, likely=likely)
    expect.same("softmax", draw.normal(3, 2, 2, 4), 0, likely=likely)
    expect.same("softmax", draw.normal(1, 3, 2, 1, 2), -4, likely=likely)


@pytest.mark.question("softmax", points=1)
def test_scores_of_a_few_hundred(expect: Expect, draw: Draw) -> None:
    expect.same(
        "softmax",
        300.0 + draw.normal(3, 4),
        likely="float32 can't hold the exponential of 89 or more; only the differences between "
        "the scores of a row matter for the weights",
        tolerance=LARGE,
    )


@pytest.mark.question("softmax", points=2)
def test_scores_up_to_a_thousand(expect: Expect, draw: Draw) -> None:
    likely = (
        "exp(1000) is too large for any float: before taking exponentials, subtract a number from "
        "every score of a row, which leaves the weights unchanged"
    )
    scores = torch.stack([1000.0 - 2.0 * draw.uniform(5), draw.normal(5), draw.normal(5) - 990.0])
    expect.same("softmax", scores, likely=likely, tolerance=LARGE)
    expect.same("softmax", scores.T, 0, likely=likely, tolerance=LARGE)
    expect.same("softmax", scores[0], likely=likely, tolerance=LARGE)


@pytest.mark.question("softmax", points=2)
def test_scores_far_apart(expect: Expect, draw: Draw) -> None:
    row = torch.tensor([1000.0, 0.0, -1000.0, 998.0, 30.0, -40.0])
    scores = torch.stack([row[draw.permutation(6)], row[draw.permutation(6)] - 950.0])
    scores[1].clamp_(min=-1000.0)
    expect.same(
        "softmax",
        scores,
        likely="a row may contain both very large and very small scores: after the subtraction, "
        "no exponential may be infinite, and at least one must not be zero",
        tolerance=LARGE,
    )


@pytest.mark.question("softmax", points=2)
def test_minus_infinity_gets_no_weight(expect: Expect, draw: Draw) -> None:
    likely = (
        "exp(-inf) is 0: an entry of -inf gets no weight, and the others share the weight as usual"
    )
    scores = draw.normal(4, 4, scale=2.0)
    hidden = torch.ones(4, 4).triu(1).bool()
    expect.same("softmax", scores.masked_fill(hidden, -INF), likely=likely)
    expect.same("softmax", scores.masked_fill(hidden.T, -INF), 0, likely=likely)
    for largest in (-900.0, -999.0):
        large = torch.tensor([-INF, largest, largest - 1.0, -INF, -INF])
        expect.same("softmax", large, likely=likely, tolerance=LARGE)


@pytest.mark.question("softmax", points=2)
def test_precision_of_float64(expect: Expect, draw: Draw) -> None:
    scores = draw.normal(3, 5, dtype=torch.float64)
    expect.same("softmax", scores + 990.0, likely=PRECISION)
    expect.same("softmax", 40.0 + draw.normal(2, 3, 4, 2, dtype=torch.float64), 1, likely=PRECISION)


@pytest.mark.question("softmax", points=1)
def test_gradient_along_any_dimension(expect: Expect, draw: Draw) -> None:
    positive = 0.1 + draw.normal(2, 3, 4, dtype=torch.float64).abs()
    expect.gradients("softmax", positive, 1, likely=GRADIENT)
    likely = (
        "if the value is finite, the gradient must be finite, too: 0 times infinity is not a number"
    )
    # the smallest weight is zero, but exp() of the largest score is finite; other tests check
    # larger scores
    padded = [-INF, -INF, 1.0, -INF, 2.0]
    rows = torch.tensor([[200.0, 0.0, -600.0, 199.0, 1.0], padded], dtype=torch.float64)
    narrow = torch.tensor([[80.0, 0.0, -300.0, 79.0, 1.0], padded])
    for scores in (rows, narrow, rows[1]):
        expect.gradients("softmax", scores, likely=likely)


@pytest.mark.question("softmax", points=2)
def test_built_without_the_softmax_of_torch(expect: Expect, draw: Draw) -> None:
    sizes = [draw.integer(4, 9) for _ in range(4)]
    row, rows = draw.normal(sizes[0]), draw.normal(*sizes[:2])
    cube = draw.normal(*sizes[1:], dtype=torch.float64)
    expect.allowed("softmax", row, rule=RULES["softmax"], backward=False)
    expect.allowed("softmax", rows, rule=RULES["softmax"], backward=True)
    check_rule(expect, SOFTMAX, RULES["softmax"])
    expect.allowed("softmax", cube, 1, rule=RULES["softmax"], backward=False)
    # an answer that does nothing breaks no rule, so the result is checked as well
    expect.same(
        "softmax", row, likely="take the exponentials, and divide each one by the sum of its row"
    )


# general properties, tested from declarations

_SHARES = "the sum depends on every number, even if it is 1 already: do not skip the division"

NORMALIZE = Traits(
    "normalize_by_sum",
    [Tensor("... S", positive_values)],
    factors=(-16,),
    case=Case(
        lambda draw: [16 * positive(draw, 2, 3).double()],
        "numbers of any size and of either sign have a gradient: do not clip them",
    ),
    own={"float64": "test_shares_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("normalize_by_sum", shared=2)
@pytest.mark.parametrize("trait", NORMALIZE.tested)
def test_normalize_by_sum_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, NORMALIZE, trait)
    if trait == "gradients":
        shares = torch.softmax(expect.draw.normal(3, 4, dtype=torch.float64), dim=-1)
        expect.gradients("normalize_by_sum", shares, likely=_SHARES)


NAIVE = Traits(
    "naive_softmax",
    [Tensor("... S")],
    factors=(8,),
    own={"float64": "test_exponentials_in_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("naive_softmax", shared=2)
@pytest.mark.parametrize("trait", NAIVE.tested)
def test_naive_softmax_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, NAIVE, trait)


SOFTMAX = Traits(
    "softmax",
    [
        Tensor("... S"),
        CustomInput(lambda draw, sizes: draw.integer(-1 - len(sizes.leading), len(sizes.leading))),
    ],
    factors=(8,),  # rows of a one and zeros have no gradient
    own={"float64": "test_precision_of_float64"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question("softmax", shared=2)
@pytest.mark.parametrize("trait", SOFTMAX.tested)
def test_softmax_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, SOFTMAX, trait)
