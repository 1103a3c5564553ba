"""Hidden suite of `dropout`: 30 of the assignment's 100 points.

Random results are tested by properties that every draw has, and by statistics that reject a right
answer less than once in a million runs.
"""

import pytest
import torch

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
from autograder.attention.suites.echoes import echo_problem
from autograder.suite import Draw, Expect, difference, rules_of
from autograder.suite.implementation import GradientOptions
from autograder.suite.traits import CustomInput, Tensor, Traits, check_trait, rows

RULES = rules_of(__file__)
#: ranges of rates at which hardly anything is dropped or kept
LOW_RATES, HIGH_RATES = (0.001, 0.049), (0.951, 0.999)
#: rates that two decimals would round to 0 or 0.01
LOWEST_RATES = (0.001, 0.009)
#: rates below 1 in 256, which random numbers of 8 bits can't represent
RATES_BELOW_8_BITS = (0.001, 0.002)
#: a shape with more than 2 ** 16 entries, so that a repeated pattern of that length is noticed
LARGE_SHAPE = (300, 250)
#: more calls than a stock of 64 patterns would last
MANY_CALLS = 70
ON_ITS_OWN = "each entry is dropped or kept independently of the others"


# dropout: 18 points


def _entries(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Draws entries of both signs, none of them near zero: a zero in the result was dropped."""
    sizes = draw.uniform(*shape, low=0.5, high=2.0, dtype=dtype)
    return torch.where(draw.uniform(*shape) < 0.5, -sizes, sizes)


def _dropped(expect: Expect, got: object, x: torch.Tensor) -> torch.Tensor:
    """Returns which entries were dropped; fails if the result does not have the shape of x."""
    fits = isinstance(got, torch.Tensor) and got.shape == x.shape
    text = None if fits else difference(got, x)
    expect.that(
        fits,
        got=f"{text}",
        expected="a tensor with the shape of x",
        likely="a dropped entry becomes 0 and stays in its place, so the shape does not change",
    )
    assert isinstance(got, torch.Tensor)
    return got.detach() == 0


def _checked_pattern(
    expect: Expect, got: object, x: torch.Tensor, p: float, likely: str
) -> torch.Tensor:
    """Returns which entries were dropped; fails if any other entry is not x / (1 - p)."""
    zeros = _dropped(expect, got, x)
    text = difference(got, torch.where(zeros, torch.zeros_like(x), x / (1 - p)))
    assert isinstance(got, torch.Tensor)
    if text is not None and got.dtype == x.dtype:
        text = factor_problem(got.detach()[~zeros], x[~zeros], p) or text
    expect.that(
        text is None,
        got=f"{text}",
        expected=f"each entry is 0 or x / (1 - p), which is x times {1 / (1 - p):.4g} here",
        likely=likely,
    )
    return zeros


@pytest.mark.question("dropout", points=1.5)
def test_nothing_is_dropped_outside_training(expect: Expect, draw: Draw) -> None:
    likely = "if `training` is False, the result equals x: no entry is dropped, and none is scaled"
    x = _entries(draw, 3, 1, 20)
    dropped = _dropped(expect, expect.result("dropout", x, 0.5, False, likely=likely), x)
    expect.that(
        not bool(dropped.any()),
        got=f"{int(dropped.sum())} of {x.numel()} entries are 0",
        expected="none of them: x has no zeros",
        likely=likely,
    )
    expect.same("dropout", x, 0.5, False, likely=likely)
    expect.same("dropout", draw.strided(2, 5, 9, dtype=torch.float64), 0.2, False, likely=likely)
    expect.same("dropout", draw.normal(3, 4), 1.0, False, likely=likely)


@pytest.mark.question("dropout", points=1)
def test_probability_zero_drops_nothing(expect: Expect, draw: Draw) -> None:
    expect.same(
        "dropout",
        draw.normal(40),
        0,
        True,
        likely="p is the probability of dropping an entry, not of keeping it",
    )


@pytest.mark.question("dropout", points=1)
def test_probability_one_drops_all(expect: Expect, draw: Draw) -> None:
    likely = (
        "if p is 1, all entries are 0, with the shape and dtype of x; 1 / (1 - p) is undefined, "
        "and 0 times infinity is not a number"
    )
    expect.same("dropout", draw.normal(2, 15), 1.0, likely=likely)
    expect.same("dropout", draw.normal(3, 1, 4, dtype=torch.float64), 1.0, likely=likely)
    x = draw.normal(2, 5, dtype=torch.float64)
    expect.gradients(
        "dropout",
        x,
        1.0,
        likely="if p is 1, the gradient is 0, because the result does not depend on x",
    )


@pytest.mark.question("dropout", points=1)
def test_probability_outside_its_range_raises(expect: Expect, draw: Draw) -> None:
    likely = "a probability is between 0 and 1, inclusive: raise a ValueError for any other p"
    x = draw.normal(4, 3)
    expect.raises("dropout", x, -0.0001, error=ValueError, likely=likely)
    expect.raises("dropout", x, 1 + 1e-10, error=ValueError, likely=likely)
    expect.raises("dropout", draw.normal(1), -1e-10, error=ValueError, likely=likely)
    expect.same("dropout", x, 0.0, likely=likely)


@pytest.mark.question("dropout", points=1)
def test_probability_is_checked_outside_training_too(expect: Expect, draw: Draw) -> None:
    likely = "check p first: an invalid p is a ValueError even if `training` is False"
    x = draw.normal(4, 3)
    expect.raises("dropout", x, 2, False, error=ValueError, likely=likely)
    expect.raises("dropout", x, -1, False, error=ValueError, likely=likely)
    for p in (1.3, -0.4):  # these rates would be valid if they were rounded
        expect.raises("dropout", draw.normal(1, 1), p, False, error=ValueError, likely=likely)
    expect.same("dropout", x, 0.5, False, likely=likely)


@pytest.mark.question("dropout", points=2)
def test_kept_entries_grow_by_one_over_one_minus_p(expect: Expect, draw: Draw) -> None:
    likely = (
        "a kept entry is multiplied by 1 / (1 - p), which is 2 only if p is 0.5; a dropped entry "
        "becomes exactly 0"
    )
    for (low, high), x in (
        ((0.101, 0.299), _entries(draw, 1200)),
        ((0.601, 0.799), _entries(draw, 2, 1, 540, 1)),
        ((0.301, 0.449), _entries(draw, 2, 36, 15, dtype=torch.float64).transpose(1, 2)),
        (LOWEST_RATES, _entries(draw, 3, 100, 100)),
        (HIGH_RATES, _entries(draw, 3, 100, 100)),
    ):
        p = drawn_rate(draw, low, high)
        # `training` decides whether entries are dropped, even if gradients are off
        got = expect.result("dropout", x, p, likely=likely, no_grad=low == 0.101)
        dropped = _checked_pattern(expect, got, x, p, likely)
        expect.that(
            bool(dropped.any()) and not bool(dropped.all()),
            got=f"{int(dropped.sum())} of {x.numel()} entries were dropped",
            expected=f"about {p:.1%} of them",
            likely="in training (the default), entries are dropped at random",
        )


@pytest.mark.question("dropout", points=2)
def test_share_of_dropped_entries_is_p(expect: Expect, draw: Draw) -> None:
    likely = (
        "each entry is dropped with probability p and kept with probability 1 - p, not the other "
        "way around"
    )
    # not a whole percentage, so random numbers with a hundred values can't give this rate
    for (low, high), shape in (
        ((0.151, 0.249), (50, 100)),
        ((0.851, 0.949), (50, 100)),
        (LOW_RATES, (3, 100, 100)),
        (HIGH_RATES, (3, 100, 100)),
    ):
        p = drawn_rate(draw, low, high)
        x = _entries(draw, *shape)
        got = expect.result("dropout", x, p, likely=likely)
        dropped = _dropped(expect, got, x)
        problem = rate_problem(dropped, p)
        expect.that(
            problem is None, got=f"{problem}", expected=f"about {p:.1%} of them", likely=likely
        )
        problem = dependence_problem(dropped, p) or neighbours_problem(dropped, p)
        expect.that(
            problem is None,
            got=f"{problem}",
            expected="each entry dropped independently",
            likely=likely,
        )
    # 8-bit random numbers are below such a rate in one of 256 cases
    p = drawn_rate(draw, *RATES_BELOW_8_BITS)
    x = _entries(draw, *LARGE_SHAPE)
    problem = rate_problem(_dropped(expect, expect.result("dropout", x, p, likely=likely), x), p)
    expect.that(problem is None, got=f"{problem}", expected=f"about {p:.1%} of them", likely=likely)


@pytest.mark.question("dropout", points=3)
def test_every_entry_is_dropped_on_its_own(expect: Expect, draw: Draw) -> None:
    likely = (
        "draw one random number for each entry of x, not one for a whole row, column or item of "
        "the batch, and do not fix the number of dropped entries"
    )
    for p, shape in ((0.5, (24, 20, 25)), (0.07, (4, 2, 2, 12, 75))):
        # even equal samples of a batch have different patterns
        x = _entries(draw, 1, *shape[1:]).expand(shape) if p == 0.5 else _entries(draw, *shape)
        got = expect.result("dropout", x, p, likely=likely)
        dropped = _dropped(expect, got, x)
        problem = dependence_problem(dropped, p) or rate_problem(dropped, p)
        expect.that(problem is None, got=f"{problem}", expected=ON_ITS_OWN, likely=likely)
    # two entries may determine a third, and a pattern may be repeated far away
    p = drawn_rate(draw, 0.301, 0.449)
    x = _entries(draw, *LARGE_SHAPE)
    dropped = _dropped(expect, expect.result("dropout", x, p, likely=likely), x)
    problem = rate_problem(dropped, p) or neighbours_problem(dropped, p) or echo_problem([dropped])
    expect.that(problem is None, got=f"{problem}", expected=ON_ITS_OWN, likely=likely)


@pytest.mark.question("dropout", points=2)
def test_every_call_drops_afresh(expect: Expect, draw: Draw) -> None:
    likely = (
        "draw new random numbers in every call: set no seed and keep no pattern; the number of "
        "dropped entries is random, too"
    )
    x = -_entries(draw, 80, 75).abs()  # negative entries must be dropped, too
    small = _entries(draw, 20, 20)
    calls = []
    for turn in range(7):
        got = expect.result("dropout", x, 0.3, likely=likely, no_grad=turn > 3)
        calls.append(_dropped(expect, got, x))
    problem = repeat_problem(calls) or groups_problem(torch.stack(calls[:3], -1).view(-1, 3), 0.3)
    expected = "seven independent calls"
    expect.that(problem is None, got=f"{problem}", expected=expected, likely=likely)
    # enough calls to use up a stock of patterns
    calls = [
        _dropped(expect, expect.result("dropout", small, 0.3, likely=likely), small)
        for _ in range(MANY_CALLS)
    ]
    problem = copied_problem(calls)
    expected = f"{MANY_CALLS} independent calls"
    expect.that(problem is None, got=f"{problem}", expected=expected, likely=likely)


@pytest.mark.question("dropout", points=0.5)
def test_gradient_reaches_kept_entries(expect: Expect, draw: Draw) -> None:
    likely = (
        "a kept entry and its gradient are multiplied by 1 / (1 - p); a dropped entry has gradient "
        "0"
    )
    for shape, dtype in (((40, 36), torch.float64), ((3, 2, 8, 30), torch.float32)):
        x = _entries(draw, *shape, dtype=dtype)
        expect.gradients("dropout", x, 0.4, False, likely=likely)
        cotangent = draw.normal(*shape, dtype=dtype)
        way = GradientOptions(results=dtype == torch.float64)
        pulled = expect.pulled("dropout", x, 0.4, cotangent=cotangent, likely=likely, options=way)
        dropped = _checked_pattern(expect, pulled.value, x, 0.4, likely)
        expect.that(
            bool(dropped.any()) and not bool(dropped.all()),
            got=f"{int(dropped.sum())} of {x.numel()} entries were dropped",
            expected="about 40% of them",
            likely=likely,
        )
        text = difference(pulled.inputs[0], cotangent.masked_fill(dropped, 0.0) / 0.6)
        expected = "the gradient with respect to x, as shown above"
        expect.that(text is None, got=f"{text}", expected=expected, likely=likely)


@pytest.mark.question("dropout", points=1)
def test_it_is_built_without_dropout_of_torch(expect: Expect, draw: Draw) -> None:
    x = draw.normal(5, 6)
    long = draw.normal(2, 1, 3, draw.integer(40, 128))
    for arguments in ((x, 0.3), (x, 0.3, False), (x, 0.0), (x, 1.0), (long, 0.3)):
        expect.allowed("dropout", *arguments, rule=RULES["dropout"], backward=False)
    expect.allowed("dropout", x, 0.4, rule=RULES["dropout"], backward=True)
    _dropped(expect, expect.result("dropout", x, 0.3), x)  # the call must have done something


# dropout_attention_weights: 12 points


def _weights(draw: Draw, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Draws weights that are not near zero, whose rows do not sum to one."""
    return draw.uniform(*shape, low=0.5, high=1.5, dtype=dtype)


def _dropped_weights(
    expect: Expect, got: object, weights: torch.Tensor, values: torch.Tensor, likely: str
) -> torch.Tensor:
    """Returns which weights were dropped.

    The values have more columns than rows, so the weights can be computed from the context vectors.
    Fails if no weights give these context vectors.
    """
    shape = (*weights.shape[:-1], values.shape[-1])
    fits = isinstance(got, torch.Tensor) and got.shape == shape and got.dtype == values.dtype
    text = None if fits else difference(got, torch.zeros(shape, dtype=values.dtype))
    expect.that(
        fits,
        got=f"{text}",
        expected="shape (..., T, d), with the dtype of the values",
        likely=likely,
    )
    assert isinstance(got, torch.Tensor)
    used = got.detach() @ torch.linalg.pinv(values)  # (..., T, S)
    if difference(got, used @ values) is not None:
        zeros, whole = got == 0, weights @ values
        what = "context vectors that no weights with dropout can produce"
        if float(zeros.double().mean()) > 0.15:
            what = "context vectors in which many entries are 0"
            if bool((zeros | (got.abs() > whole.abs())).all()):
                what += ", and the others are larger than without dropout"
        expect.that(
            False,
            got=what,
            expected="sums of value vectors, each multiplied as a whole by one weight",
            likely=likely,
        )
    return used.abs() < 1e-3


def _checked_weights(
    expect: Expect,
    got: object,
    weights: torch.Tensor,
    values: torch.Tensor,
    p: float,
    likely: str,
) -> torch.Tensor:
    """Returns which weights were dropped; fails if another weight is not divided by 1 - p."""
    dropped = _dropped_weights(expect, got, weights, values, likely)
    text = difference(got, weights.masked_fill(dropped, 0.0) / (1 - p) @ values)
    if text is not None and isinstance(got, torch.Tensor):
        used = got.detach() @ torch.linalg.pinv(values)
        text = factor_problem(used[~dropped], weights[~dropped], p) or text
        text += _unchanged_sums(used, weights)
    expect.that(
        text is None,
        got=f"{text}",
        expected="sums of the values whose weights are kept, each times its weight / (1 - p)",
        likely=likely,
    )
    return dropped


def _unchanged_sums(used: torch.Tensor, weights: torch.Tensor) -> str:
    """Describes rows of weights whose sums are 1, or the same as before dropout."""
    sums = used.sum(dim=-1)
    if torch.allclose(sums, torch.ones_like(sums), atol=1e-6):
        return "; the weights of each row sum to 1"
    kept = sums > 1e-6
    if torch.allclose(sums[kept], weights.sum(dim=-1)[kept], atol=1e-6):
        return "; each row of weights has the same sum as before dropout"
    return ""


@pytest.mark.question("dropout_attention_weights", points=1)
def test_context_outside_training(expect: Expect, draw: Draw) -> None:
    likely = (
        "outside training, no weight is changed: the result is weights (T, S) times values (S, d)"
    )
    expect.same(
        "dropout_attention_weights",
        _weights(draw, 5, 7),
        draw.normal(7, 3),
        0.5,
        False,
        likely=likely,
    )
    expect.same(
        "dropout_attention_weights",
        draw.strided(4, 4, dtype=torch.float64),
        draw.strided(4, 6, dtype=torch.float64),
        0.2,
        False,
        likely=likely,
    )


@pytest.mark.question("dropout_attention_weights", points=1)
def test_context_without_dropout(expect: Expect, draw: Draw) -> None:
    expect.same(
        "dropout_attention_weights",
        _weights(draw, 2, 3, 5, 4),
        draw.normal(2, 3, 4, 6),
        0.0,
        True,
        likely="with probability 0, no weight is dropped, not even in training",
    )


@pytest.mark.question("dropout_attention_weights", points=1)
def test_all_weights_dropped(expect: Expect, draw: Draw) -> None:
    expect.same(
        "dropout_attention_weights",
        _weights(draw, 2, 5, 4),
        draw.normal(2, 4, 3),
        1.0,
        likely="with probability 1, every weight is dropped, and every context vector is zero",
        no_grad=True,
    )


@pytest.mark.question("dropout_attention_weights", points=2)
def test_kept_weights_grow_by_one_over_one_minus_p(expect: Expect, draw: Draw) -> None:
    likely = (
        "dropout is applied to the weights before they are multiplied by the values, not to the "
        "values or the result; rows are not normalized again"
    )
    for p, leading, queries in ((0.07, (3, 1, 1), 60), (0.62, (60,), 1)):
        weights = _weights(draw, *leading, queries, 12, dtype=torch.float64)
        values = draw.normal(*leading, 12, 16, dtype=torch.float64)
        arguments = (weights, values, p)
        no_grad = p == 0.62  # only `training` decides whether weights are dropped
        got = expect.result("dropout_attention_weights", *arguments, likely=likely, no_grad=no_grad)
        dropped = _checked_weights(expect, got, weights, values, p, likely)
        expect.that(
            bool(dropped.any()) and not bool(dropped.all()),
            got=f"{int(dropped.sum())} of {weights.numel()} weights were dropped",
            expected=f"about {p:.0%} of them",
            likely="in training (the default), weights are dropped at random",
        )
        problem = dependence_problem(dropped, p)
        expect.that(
            problem is None,
            got=f"{problem}",
            expected="each weight dropped independently",
            likely=likely,
        )
    for (low, high), shape in ((RATES_BELOW_8_BITS, LARGE_SHAPE), (HIGH_RATES, (150, 200))):
        p = drawn_rate(draw, low, high)
        dropped = _pattern_in_identity(expect, draw, p, shape, likely)
        problem = (
            rate_problem(dropped, p)
            or dependence_problem(dropped, p)
            or neighbours_problem(dropped, p)
        )
        expect.that(
            problem is None,
            got=f"{problem}",
            expected="each weight dropped independently",
            likely=likely,
        )


def _pattern_in_identity(
    expect: Expect,
    draw: Draw,
    p: float,
    shape: tuple[int, int],
    likely: str,
    no_grad: bool = False,
) -> torch.Tensor:
    """Returns which weights were dropped, computed from values that are unit vectors."""
    weights = _weights(draw, *shape)
    arguments = (weights, torch.eye(shape[1]), p)
    got = expect.result("dropout_attention_weights", *arguments, likely=likely, no_grad=no_grad)
    dropped = _dropped(expect, got, weights)
    text = difference(got, weights.masked_fill(dropped, 0.0) / (1 - p))
    expected = "each weight is either 0 or divided by 1 - p"
    expect.that(text is None, got=f"{text}", expected=expected, likely=likely)
    return dropped


@pytest.mark.question("dropout_attention_weights", points=2)
def test_every_weight_is_dropped_on_its_own(expect: Expect, draw: Draw) -> None:
    likely = (
        "each of the T x S weights is dropped independently, not a whole value, query or matrix"
    )
    weights = _weights(draw, 4, 3, 25, 10)
    # orthonormal rows, from which weights can be computed even in float32
    values = torch.linalg.qr(draw.normal(4, 3, 14, 14)).Q[..., :10, :].contiguous()
    got = expect.result("dropout_attention_weights", weights, values, 0.3, likely=likely)
    dropped = _checked_weights(expect, got, weights, values, 0.3, likely)
    problem = dependence_problem(dropped, 0.3) or rate_problem(dropped, 0.3)
    expect.that(
        problem is None,
        got=f"{problem} (dimensions: batch, head, query, key)",
        expected="each weight dropped with probability 0.3, independently of the others",
        likely=likely,
    )
    # two entries may determine a third, and a pattern may be repeated far away
    p = drawn_rate(draw, 0.301, 0.449)
    dropped = _pattern_in_identity(expect, draw, p, LARGE_SHAPE, likely)
    problem = rate_problem(dropped, p) or neighbours_problem(dropped, p) or echo_problem([dropped])
    expect.that(problem is None, got=f"{problem}", expected=ON_ITS_OWN, likely=likely)


@pytest.mark.question("dropout_attention_weights", points=1)
def test_a_value_is_used_whole(expect: Expect, draw: Draw) -> None:
    likely = "whole weights are dropped, never single entries of a value or of the result"
    for samples, keys in ((12, 10), (80, 1)):
        # query t sees only value t
        weights = torch.eye(keys, dtype=torch.float64).repeat(samples, 1, 1)
        values = _entries(draw, samples, keys, 3, dtype=torch.float64)
        got = expect.result("dropout_attention_weights", weights, values, 0.3, likely=likely)
        fits = isinstance(got, torch.Tensor) and got.shape == values.shape
        text = None if fits else difference(got, values)
        expect.that(fits, got=f"{text}", expected="(..., T, d)", likely=likely)
        assert isinstance(got, torch.Tensor)
        gone = (got == 0).all(dim=-1, keepdim=True)
        expect.that(
            bool(gone.any()),
            got="no value was dropped",
            expected="about 30% of them dropped, even if a query has only one key",
            likely=likely,
        )
        text = difference(got, (values / 0.7).masked_fill(gone, 0.0))
        expect.that(
            text is None,
            got=f"{text}",
            expected="each context vector is 0 or its value / (1 - p), as shown above",
            likely=likely,
        )


@pytest.mark.question("dropout_attention_weights", points=1)
def test_every_call_drops_other_weights(expect: Expect, draw: Draw) -> None:
    likely = "draw new random numbers in every call: set no seed and keep no pattern"
    calls = [
        _pattern_in_identity(expect, draw, 0.4, (80, 75), likely, no_grad=turn > 3)
        for turn in range(7)
    ]
    groups = torch.stack(calls[:3], -1).view(-1, 3)
    problem = (
        repeat_problem(calls) or dependence_problem(calls[0], 0.4) or groups_problem(groups, 0.4)
    )
    expected = "seven independent calls"
    expect.that(problem is None, got=f"{problem}", expected=expected, likely=likely)
    # enough calls to use up a stock of patterns
    problem = copied_problem(
        [_pattern_in_identity(expect, draw, 0.4, (20, 20), likely) for _ in range(MANY_CALLS)]
    )
    expected = f"{MANY_CALLS} independent calls"
    expect.that(problem is None, got=f"{problem}", expected=expected, likely=likely)


@pytest.mark.question("dropout_attention_weights", points=1)
def test_gradient_reaches_weights_and_values(expect: Expect, draw: Draw) -> None:
    likely = (
        "gradients reach weights and values: `.detach()`, `.item()`, `.data` and "
        "`torch.tensor(...)` cut them"
    )
    for leading, dtype, frozen in (
        ((), torch.float64, ()),
        ((2, 3), torch.float32, ()),
        ((), torch.float64, (0,)),  # one of the two arguments may need no gradient
        ((), torch.float64, (1,)),
    ):
        weights = _weights(draw, *leading, 12, 4, dtype=dtype)
        # orthonormal rows, from which weights can be computed even in float32
        values = torch.linalg.qr(draw.normal(*leading, 6, 6, dtype=dtype)).Q[..., :4, :]
        way = GradientOptions(frozen, results=bool(leading))
        _check_gradient(expect, weights, values.contiguous(), likely, way)


def _check_gradient(
    expect: Expect,
    weights: torch.Tensor,
    values: torch.Tensor,
    likely: str,
    options: GradientOptions,
) -> None:
    cotangent = expect.draw.normal(*weights.shape[:-1], 6, dtype=weights.dtype)
    arguments = (weights, values, 0.3)
    pulled = expect.pulled(
        "dropout_attention_weights", *arguments, cotangent=cotangent, likely=likely, options=options
    )
    dropped = _checked_weights(expect, pulled.value, weights, values, 0.3, likely)
    to_weights = (cotangent @ values.mT).masked_fill(dropped, 0.0) / 0.7
    to_values = weights.masked_fill(dropped, 0.0).mT @ cotangent / 0.7
    for place, name, expected in ((0, "weights", to_weights), (1, "values", to_values)):
        if place in options.frozen:
            continue
        text = difference(pulled.inputs[place], expected)
        expect.that(
            text is None,
            got=f"{text}",
            expected=f"the gradient with respect to {name}, as shown above",
            likely=likely,
        )


# general properties, tested from declarations

# outside training, unless everything is dropped
RATE = CustomInput(lambda draw, sizes: sizes.rate or 0.4)
TRAINING = CustomInput(lambda draw, sizes: sizes.rate == 1)
DROPOUT = Traits(
    "dropout",
    [Tensor("... S"), RATE, TRAINING],
    factors=(32,),
    own={
        "float64": "test_nothing_is_dropped_outside_training",
        "errors": "test_probability_outside_its_range_raises",
        "chance": "test_every_entry_is_dropped_on_its_own",
    },
)


@pytest.mark.question("dropout", shared=2)
@pytest.mark.parametrize("trait", DROPOUT.tested)
def test_dropout_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, DROPOUT, trait)


DROPOUT_WEIGHTS = Traits(
    "dropout_attention_weights",
    [Tensor("... T S", rows), Tensor("... S d"), RATE, TRAINING],
    factors=(1, 32),
    own={
        "float64": "test_context_outside_training",
        "chance": "test_every_weight_is_dropped_on_its_own",
    },
    without={"errors": "none is promised"},
)


@pytest.mark.question("dropout_attention_weights", shared=2)
@pytest.mark.parametrize("trait", DROPOUT_WEIGHTS.tested)
def test_dropout_attention_weights_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, DROPOUT_WEIGHTS, trait)
