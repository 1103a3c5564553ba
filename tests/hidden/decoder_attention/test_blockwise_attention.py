"""Hidden suite of `blockwise_attention`: 16 of the assignment's 100 points."""

from __future__ import annotations

import pytest
import torch

from autograder.attention.suites.low_scores import ScaledScores
from autograder.suite import Draw, Expect, rules_of
from autograder.suite.traits import Size, Tensor, Traits, check_rule, check_trait, normal

ATTEND = "attend_block"
MERGE = "merge_blocks"
BLOCKWISE = "blockwise_attention"

INF = float("inf")
DOUBLE = torch.float64

RULES = rules_of(__file__)
GRADIENT = (
    "the statistics (largest score, sum, log-sum-exp) also depend on queries and keys: do not "
    "detach them or compute them under `no_grad`"
)
LARGE_SCORES = (
    "the exponential of a large score is infinite, and that of a very low score is zero: before "
    "taking exponentials, subtract the largest score of each query (or use `logsumexp` or "
    "`logaddexp`)"
)


def _inputs(
    draw: Draw, *leading: int, tokens: int = 4, keys: int = 6, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Draws queries and keys of size 3 and values of size 5."""
    queries = draw.normal(*leading, tokens, 3, scale=1.5, dtype=dtype)
    return (
        queries,
        draw.normal(*leading, keys, 3, scale=1.5, dtype=dtype),
        draw.normal(*leading, keys, 5, dtype=dtype),
    )


def _with_scores(
    draw: Draw, scores: torch.Tensor, size: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns float64 queries, keys and values whose scaled scores are the given ones, (T, S).

    A query has `size` entries, or as many as there are queries.
    """
    num_tokens, num_keys = scores.shape
    size = size or num_tokens
    queries = torch.eye(num_tokens, size, dtype=DOUBLE) * size**0.5
    keys = torch.zeros(num_keys, size, dtype=DOUBLE)
    keys[:, :num_tokens] = scores.T
    return queries, keys, draw.normal(num_keys, 3, dtype=DOUBLE)


def _two_samples(draw: Draw, scores: torch.Tensor) -> list[torch.Tensor]:
    """Returns a batch of two samples, with the given scores and with their negatives."""
    pairs = zip(_with_scores(draw, scores), _with_scores(draw, -scores), strict=True)
    return [torch.stack(pair) for pair in pairs]


def _varied_scores(draw: Draw, num_keys: int) -> torch.Tensor:
    """Returns rows of scores up to 1000: high, low, rising, falling, shuffled, and two near zero.

    In the last row, the keys after the second one score 13 less: their weights are small, but still
    matter.
    """
    near = draw.uniform(num_keys, low=-2.0, high=2.0, dtype=DOUBLE)
    steps = torch.linspace(-1, 1, num_keys, dtype=DOUBLE)
    wide = 900 * steps[draw.permutation(num_keys)]
    less = near - 13 * (torch.arange(num_keys) > 1)
    return torch.stack([990 + near, -990 + near, 900 * steps, -900 * steps, wide, near, less])


# attend_block: 4 points

BOTH = (
    "return a pair: the attention output, and the logarithm of the sum of the exponentials of the "
    "scores (divided by the square root of d), one number for each query"
)


@pytest.mark.question(ATTEND, points=1)
def test_output_and_log_sum_exp(expect: Expect, draw: Draw) -> None:
    expect.same(ATTEND, *_inputs(draw), likely=BOTH)
    square = [draw.normal(3, 3, 3) for _ in range(3)]
    expect.same(ATTEND, *square, likely=BOTH)


@pytest.mark.question(ATTEND, points=1)
def test_a_block_of_large_scores(expect: Expect, draw: Draw) -> None:
    queries, keys, values = _two_samples(draw, _varied_scores(draw, 6))
    expect.same(ATTEND, queries[:, :1], keys, values, likely=LARGE_SCORES)
    heads = (queries[:, None], keys[:, None], values[:, None])
    expect.same(ATTEND, *heads, likely=LARGE_SCORES)
    # with long vectors, scores must be divided by the square root of their size
    long = _with_scores(draw, _varied_scores(draw, 3), draw.integer(2049, 4096))
    expect.same(ATTEND, *long, likely=LARGE_SCORES)


@pytest.mark.question(ATTEND, points=1)
def test_gradient_of_large_scores_and_no_softmax(expect: Expect, draw: Draw) -> None:
    args = _inputs(draw, 2, tokens=3, keys=4)
    check_rule(expect, ATTEND_TRAITS, RULES[ATTEND])
    expect.same(ATTEND, *args, likely=BOTH)
    expect.gradients(ATTEND, *_with_scores(draw, _varied_scores(draw, 5)), likely=GRADIENT)


# merge_blocks: 6 points

SHARES = (
    "multiply each output by its block's share of the sum of all exponentials, exp(lse_a) / "
    "(exp(lse_a) + exp(lse_b)) for the first block, one share for each query; the new lse is the "
    "logarithm of that sum"
)
EMPTY = (
    "a block without keys has output 0 and an lse of minus infinity: its share is 0, and the "
    "other block is returned unchanged; minus infinity minus minus infinity is not a number"
)


def _blocks(
    draw: Draw,
    *leading: int,
    tokens: int = 4,
    size: int = 3,
    dtype: torch.dtype = torch.float32,
    scale: float = 1.5,
) -> list[torch.Tensor]:
    """Draws two blocks: output and lse of the first, output and lse of the second."""
    blocks: list[torch.Tensor] = []
    for _ in range(2):
        blocks.append(draw.normal(*leading, tokens, size, dtype=dtype))
        blocks.append(draw.normal(*leading, tokens, scale=scale, dtype=dtype))
    return blocks


@pytest.mark.question(MERGE, points=1.5)
def test_two_blocks(expect: Expect, draw: Draw) -> None:
    expect.same(MERGE, *_blocks(draw), likely=SHARES)
    expect.same(MERGE, *_blocks(draw, tokens=7, size=1), likely=SHARES)


@pytest.mark.question(MERGE, points=1)
def test_blocks_of_batches_and_heads(expect: Expect, draw: Draw) -> None:
    # with as many tokens as entries, a share along the wrong dimension raises no error
    for leading, tokens, size in (((2,), 4, 3), ((2, 3), 5, 5), ((2, 1, 3), 1, 4), ((3,), 3, 3)):
        expect.same(MERGE, *_blocks(draw, *leading, tokens=tokens, size=size), likely=SHARES)


@pytest.mark.question(MERGE, points=1)
def test_blocks_of_large_scores(expect: Expect, draw: Draw) -> None:
    levels = torch.tensor([995.0, -995.0, 995.0, -995.0, 0.0], dtype=DOUBLE)
    others = torch.tensor([995.0, -995.0, -995.0, 995.0, 995.0], dtype=DOUBLE)
    one, near, other, also_near = _blocks(draw, tokens=5, dtype=DOUBLE)
    expect.same(MERGE, one, levels + near, other, others + also_near, likely=LARGE_SCORES)


@pytest.mark.question(MERGE, points=1)
def test_an_empty_block_on_either_side(expect: Expect, draw: Draw) -> None:
    for leading, dtype in (((1, 2, 3), torch.float32), ((2,), DOUBLE)):
        one, lse, other, other_lse = _blocks(draw, *leading, dtype=dtype)
        if dtype == DOUBLE:  # even very low scores do not mean an empty block
            levels = torch.tensor([-990.0, 990.0, -300.0, 0.0], dtype=DOUBLE)
            lse, other_lse = lse + levels, other_lse + levels
        nothing, empty = torch.zeros_like(one), torch.full_like(lse, -INF)
        expect.same(MERGE, nothing, empty, other, other_lse, likely=EMPTY)
        expect.same(MERGE, one, lse, nothing, empty, likely=EMPTY)
    # an empty block is recognized by its log-sum-exp, not by an output of zero
    expect.same(MERGE, nothing, lse, other, other_lse, likely=EMPTY)
    expect.same(MERGE, one, lse, nothing, other_lse, likely=EMPTY)
    # the block is empty only for some queries
    some, others = torch.tensor([[True, False, False, True], [False, True, False, False]])
    expect.same(
        MERGE,
        one.masked_fill(some[:, None], 0.0),
        lse.masked_fill(some, -INF),
        other.masked_fill(others[:, None], 0.0),
        other_lse.masked_fill(others, -INF),
        likely=EMPTY,
    )


@pytest.mark.question(MERGE, points=0.5)
def test_gradient_beside_an_empty_block_and_no_softmax(expect: Expect, draw: Draw) -> None:
    args = _blocks(draw, 2, dtype=DOUBLE)
    check_rule(expect, MERGE_TRAITS, RULES[MERGE])
    expect.same(MERGE, *args, likely=SHARES)
    nothing, empty = torch.zeros_like(args[0]), torch.full_like(args[1], -INF)
    in_single = [arg[0].float() for arg in (nothing, empty, *args[2:])]
    expect.gradients(
        MERGE, *in_single, likely=f"gradients stay finite if a block is empty; {EMPTY}"
    )
    expect.gradients(
        MERGE,
        *args[:2],
        nothing,
        empty,
        likely=f"gradients stay finite if a block is empty; {EMPTY}",
    )
    # the block is empty only for some queries, and the others have scores far apart
    some, levels = torch.tensor([[0, 1, 0, 0], [-990, 990, 0, 990]])
    one, lse, other, other_lse = args
    other_lse = (other_lse - levels).masked_fill(some.bool(), -INF)
    heads = [arg[:, None] for arg in (one, lse + levels, other, other_lse)]
    expect.gradients(MERGE, *heads, likely=LARGE_SCORES)


# blockwise_attention: 6 points

EXACT = (
    "working block by block gives the same numbers as using all keys at once, even if the last "
    "block is shorter: when the largest score grows, multiply the sums so far by exp(old - new), "
    "and divide by the sum of exponentials at the end"
)


@pytest.mark.question(BLOCKWISE, points=2)
def test_blocks_with_and_without_a_rest(expect: Expect, draw: Draw) -> None:
    square = [draw.normal(4, 4, 4) for _ in range(3)]
    expect.same(BLOCKWISE, *square, 2, likely=EXACT)
    for keys, block_size in ((6, 3), (7, 3), (8, 2), (9, 5), (6, 3), (35, 17)):
        expect.same(BLOCKWISE, *_inputs(draw, 2, keys=keys), block_size, likely=EXACT)


@pytest.mark.question(BLOCKWISE, points=1)
def test_the_smallest_and_the_largest_blocks(expect: Expect, draw: Draw) -> None:
    for keys, block_size in ((5, 1), (5, 5), (5, 9), (1, 1), (1, 4), (128, 16), (4, 10_000)):
        expect.same(BLOCKWISE, *_inputs(draw, keys=keys), block_size, likely=EXACT)


@pytest.mark.question(BLOCKWISE, points=1)
def test_large_scores_in_any_order(expect: Expect, draw: Draw) -> None:
    args = _two_samples(draw, _varied_scores(draw, 7))
    heads = [arg[:, None] for arg in args]
    alone = [args[0][0, :1], args[1][0], args[2][0]]
    # different numbers of dimensions, a single query, and one block with all keys
    for inputs, block_size in ((args, 2), (heads, 3), (alone, 1), (args, 8)):
        expect.same(BLOCKWISE, *inputs, block_size, likely=f"{EXACT}; {LARGE_SCORES}")


@pytest.mark.question(BLOCKWISE, points=1)
def test_gradient_of_large_scores_in_blocks_and_no_softmax(expect: Expect, draw: Draw) -> None:
    args = (*_inputs(draw, 2, keys=5, dtype=DOUBLE), 2)
    check_rule(expect, BLOCKWISE_TRAITS, RULES[BLOCKWISE])
    expect.same(BLOCKWISE, *args, likely=EXACT)
    expect.gradients(BLOCKWISE, *_with_scores(draw, _varied_scores(draw, 5)), 2, likely=GRADIENT)


# general properties, tested from declarations

ATTEND_TRAITS = Traits(
    ATTEND,
    [Tensor("... T d"), Tensor("... S d"), Tensor("... S d_v")],
    loops="T*S*d+T*S*d_v",
    factors=(32, 1 / 8, 32),
    root=ScaledScores("d"),
    own={"float64": "test_a_block_of_large_scores"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(ATTEND, shared=1)
@pytest.mark.parametrize("trait", ATTEND_TRAITS.tested)
def test_attend_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, ATTEND_TRAITS, trait)


MERGE_TRAITS = Traits(
    MERGE,
    [Tensor("... T d"), Tensor("... T"), Tensor("... T d"), Tensor("... T")],
    loops="T*d",
    factors=(32, 32, 32, 32),
    own={"float64": "test_blocks_of_large_scores"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(MERGE, shared=1)
@pytest.mark.parametrize("trait", MERGE_TRAITS.tested)
def test_merge_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, MERGE_TRAITS, trait)


def _high_scoring(draw: Draw, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draws inputs whose scores, in float64, are far above zero and close to each other.

    With such scores, float32 loses digits in every draw, and no weight is negligible.
    """
    made = normal(draw, shape, dtype)
    if dtype == DOUBLE:
        made[..., 0] = 20.0 + made[..., 0] / 20.0
    return made


BLOCKWISE_TRAITS = Traits(
    BLOCKWISE,
    [
        Tensor("... T d", _high_scoring),
        Tensor("... S d", _high_scoring),
        Tensor("... S d_v"),
        Size("n"),
    ],
    loops="T*S*d+T*S*d_v",
    sizes={"n": 3},
    factors=(1, 1, 32),
    root=ScaledScores("d"),
    own={"float64": "test_large_scores_in_any_order"},
    without={"errors": "none is promised", "chance": "nothing is random"},
)


@pytest.mark.question(BLOCKWISE, shared=1)
@pytest.mark.parametrize("trait", BLOCKWISE_TRAITS.tested)
def test_blockwise_in_general(expect: Expect, trait: str) -> None:
    check_trait(expect, BLOCKWISE_TRAITS, trait)
