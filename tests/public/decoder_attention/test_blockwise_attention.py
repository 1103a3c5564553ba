"""Public checks of `blockwise_attention`."""

from __future__ import annotations

import math

import pytest
import torch

from autograder.suite import Draw, Expect, rules_of
from autograder.suite.traits import Size, Tensor, Traits, check_by_itself

#: the notebook's example: a query whose three scaled scores are 0, ln 3 and ln 12
QUERY = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
KEYS = torch.tensor([[0.0, 0, 0, 0], [math.log(3), 0, 0, 0], [math.log(12), 0, 0, 0]])
VALUES = torch.tensor([[4.0], [8.0], [15.0]])

RULES = rules_of(__file__)


@pytest.mark.question("attend_block", points=0)
def test_a_block_of_two_keys(expect: Expect) -> None:
    expect.value(
        "attend_block",
        (QUERY, KEYS[:2], VALUES[:2]),
        (torch.tensor([[7.0]]), torch.tensor([math.log(4)])),
        likely="the exponentials of the scaled scores are 1 and 3, their sum is 4: the output is "
        "(1 * 4 + 3 * 8) / 4, and the second result is ln 4",
    )


@pytest.mark.question("attend_block", points=0)
def test_a_block_of_one_key(expect: Expect) -> None:
    expect.value(
        "attend_block",
        (QUERY, KEYS[2:], VALUES[2:]),
        (torch.tensor([[15.0]]), torch.tensor([math.log(12)])),
        likely="a single key has weight 1, and the log-sum-exp of a single score is the score "
        "itself",
    )


@pytest.mark.question("attend_block", points=0)
def test_a_block_with_a_score_of_a_thousand(expect: Expect) -> None:
    expect.value(
        "attend_block",
        (torch.tensor([[1.0]]), torch.tensor([[1000.0], [1000.0]]), torch.tensor([[2.0], [4.0]])),
        (torch.tensor([[3.0]]), torch.tensor([1000.0 + math.log(2)])),
        likely="exp(1000) is infinite: subtract the largest score first, or use torch.logsumexp",
    )


@pytest.mark.question("merge_blocks", points=0)
def test_sums_of_four_and_twelve(expect: Expect) -> None:
    expect.value(
        "merge_blocks",
        (
            torch.tensor([[7.0]]),
            torch.tensor([math.log(4)]),
            torch.tensor([[15.0]]),
            torch.tensor([math.log(12)]),
        ),
        (torch.tensor([[13.0]]), torch.tensor([math.log(16)])),
        likely="the sums of the exponentials are 4 and 12, so the shares are 1/4 and 3/4: "
        "7/4 + 45/4 = 13, and the new sum is 16",
    )


@pytest.mark.question("merge_blocks", points=0)
def test_nothing_joined_with_something(expect: Expect) -> None:
    block = (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0.5, -1.5]))
    empty = (torch.zeros(2, 2), torch.full((2,), -torch.inf))
    likely = "a block without keys has a share of 0, and the other block is returned unchanged"
    expect.value("merge_blocks", (*empty, *block), block, likely=likely)
    expect.value("merge_blocks", (*block, *empty), block, likely=likely)


@pytest.mark.question("blockwise_attention", points=0)
def test_blocks_of_any_size(expect: Expect) -> None:
    for block_size in (1, 2, 3, 8):
        expect.value(
            "blockwise_attention",
            (QUERY, KEYS, VALUES, block_size),
            torch.tensor([[13.0]]),
            likely="the exponentials are 1, 3 and 12, whatever the blocks are: "
            "(1 * 4 + 3 * 8 + 12 * 15) / 16 = 13",
        )


@pytest.mark.question("blockwise_attention", points=0)
def test_the_largest_score_comes_first_or_last(expect: Expect) -> None:
    queries = torch.tensor([[1.0], [-1.0]])
    expect.value(
        "blockwise_attention",
        (queries, torch.tensor([[200.0], [0.0], [-200.0]]), torch.tensor([[1.0], [2.0], [3.0]]), 1),
        torch.tensor([[1.0], [3.0]]),
        likely="the scores fall for one query and rise for the other: when the largest score "
        "grows, multiply the sums so far by exp(old - new)",
    )


@pytest.mark.question("attend_block", points=0)
def test_attend_block_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect, Traits("attend_block", [Tensor("... T d"), Tensor("... S d"), Tensor("... S d_v")])
    )


@pytest.mark.question("merge_blocks", points=0)
def test_merge_blocks_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "merge_blocks", [Tensor("... T d"), Tensor("... T"), Tensor("... T d"), Tensor("... T")]
        ),
    )


@pytest.mark.question("blockwise_attention", points=0)
def test_blockwise_attention_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "blockwise_attention",
            [Tensor("... T d"), Tensor("... S d"), Tensor("... S d_v"), Size("n")],
            sizes={"n": 3},
        ),
    )


@pytest.mark.question("merge_blocks", points=0)
def test_sums_that_no_number_can_hold(expect: Expect) -> None:
    ln_3 = math.log(3)
    lse_a = torch.tensor([900.0, -900.0, 5.0], dtype=torch.float64)
    lse_b = lse_a + torch.tensor([ln_3, -ln_3, 0.0], dtype=torch.float64)
    output_a, output_b = torch.full((3, 1), 4.0).double(), torch.full((3, 1), 8.0).double()
    steps = torch.tensor([math.log(4), math.log(4 / 3), math.log(2)], dtype=torch.float64)
    expect.value(
        "merge_blocks",
        (output_a, lse_a, output_b, lse_b),
        (torch.tensor([[7.0], [5.0], [6.0]]).double(), lse_a + steps),
        likely="every query has its own shares, here 1/4, 3/4 and 1/2; exp(900) is infinite and "
        "exp(-900) is 0, so first subtract the larger lse from both",
    )


@pytest.mark.question("blockwise_attention", points=0)
def test_queries_with_scores_far_from_each_other(expect: Expect) -> None:
    queries = torch.tensor([[800.0], [-800.0]], dtype=torch.float64)
    keys = torch.tensor([[-1.0], [-1.0], [-1.2]], dtype=torch.float64)
    expect.value(
        "blockwise_attention",
        (queries, keys, torch.tensor([[2.0], [4.0], [7.0]], dtype=torch.float64), 2),
        torch.tensor([[3.0], [7.0]], dtype=torch.float64),
        likely="all scores of the first query are far below 0, and all of the second far above: "
        "each query has its own largest score, which begins at -inf",
    )


@pytest.mark.question("attend_block", points=0)
def test_attend_block_uses_allowed_calls(expect: Expect, draw: Draw) -> None:
    tensors = [draw.normal(2, 3, 4) for _ in range(3)]
    expect.allowed("attend_block", *tensors, rule=RULES["attend_block"])


@pytest.mark.question("merge_blocks", points=0)
def test_merge_blocks_uses_allowed_calls(expect: Expect, draw: Draw) -> None:
    blocks = [draw.normal(*shape) for shape in ((2, 3, 4), (2, 3)) * 2]
    expect.allowed("merge_blocks", *blocks, rule=RULES["merge_blocks"])


@pytest.mark.question("blockwise_attention", points=0)
def test_blockwise_attention_uses_allowed_calls(expect: Expect, draw: Draw) -> None:
    tensors = [draw.normal(2, 5, 4) for _ in range(3)]
    expect.allowed("blockwise_attention", *tensors, 2, rule=RULES["blockwise_attention"])
