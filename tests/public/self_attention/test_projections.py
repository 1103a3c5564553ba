"""Public checks of `projections`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from autograder.suite import Expect
from autograder.suite.compare import FROM_PRINTED
from autograder.suite.traits import Tensor, Traits, check_by_itself

#: one row for each word of "Your journey starts with one step"
INPUTS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
#: weights of shape (d_in, d_out) = (3, 2), and their projections of the second word
W_QUERY = torch.tensor([[-0.1115, 0.1204], [-0.3696, -0.2404], [-1.1969, 0.2093]])
W_KEY = torch.tensor([[-0.9724, -0.7550], [0.3239, -0.1085], [0.2103, -0.3908]])
W_VALUE = torch.tensor([[0.2350, 0.6653], [0.3528, 0.9728], [-0.0386, -0.8861]])
SECOND_WORD = (
    torch.tensor([[-1.1729, -0.0048]]),
    torch.tensor([[-0.1142, -0.7676]]),
    torch.tensor([[0.4107, 0.6274]]),
)
#: "My shoes are small, my feet are big." in two dimensions
SHOES = torch.tensor(
    [
        [0.3374, -0.1778],
        [0.1794, 1.8951],
        [0.3486, 0.6603],
        [0.4954, 0.2692],
        [0.6984, -1.4097],
        [0.7671, -1.1925],
        [0.3486, 0.6603],
        [-0.2196, -0.3792],
    ]
)
#: weights of shape (d_out, d_in) = (3, 2), (3, 2) and (4, 2)
LEFT_QUERY = torch.tensor([[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]])
LEFT_KEY = torch.tensor([[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]])
LEFT_VALUE = torch.tensor([[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274], [0.3821, 0.6605]])
SHOES_PROJECTED = (
    torch.tensor(
        [
            [0.0081, -0.0375, -0.1291],
            [1.0321, 1.3501, 1.6555],
            [0.4443, 0.5424, 0.5980],
            [0.2858, 0.3100, 0.2699],
            [-0.5214, -0.7949, -1.1699],
            [-0.3889, -0.6280, -0.9766],
            [0.4443, 0.5424, 0.5980],
            [-0.2609, -0.3164, -0.3448],
        ]
    ),
    torch.tensor(
        [
            [0.0279, -0.0671, -0.0158],
            [0.2187, 1.4097, 1.3587],
            [0.1153, 0.5439, 0.5636],
            [0.0953, 0.2867, 0.3412],
            [-0.0491, -0.8956, -0.7485],
            [-0.0174, -0.7251, -0.5775],
            [0.1153, 0.5439, 0.5636],
            [-0.0689, -0.3159, -0.3298],
        ]
    ),
    torch.tensor(
        [
            [-0.0094, 0.0353, -0.1071, 0.0115],
            [0.3862, 0.8181, 1.5893, 1.3203],
            [0.1562, 0.3756, 0.5877, 0.5693],
            [0.0904, 0.2649, 0.2815, 0.3671],
            [-0.2244, -0.3454, -1.0836, -0.6643],
            [-0.1765, -0.2364, -0.8957, -0.4945],
            [0.1562, 0.3756, 0.5877, 0.5693],
            [-0.0912, -0.2218, -0.3398, -0.3344],
        ]
    ),
)


def _shapes(got: Any) -> list[tuple[int, ...]]:
    """Returns the shapes of the tensors in a tuple or list, and [] for anything else."""
    items = got if isinstance(got, tuple | list) else []
    return [tuple(item.shape) for item in items if isinstance(item, torch.Tensor)]


@pytest.mark.question("project_qkv", points=0)
def test_two_tokens_by_hand(expect: Expect) -> None:
    expect.value(
        "project_qkv",
        (
            torch.tensor([[1.0, 2.0], [0.0, 3.0]]),
            torch.tensor([[1.0, 0.0], [4.0, 1.0]]),
            torch.tensor([[0.0, 2.0], [1.0, 0.0]]),
            torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]]),
        ),
        (
            torch.tensor([[9.0, 2.0], [12.0, 3.0]]),
            torch.tensor([[2.0, 2.0], [3.0, 0.0]]),
            torch.tensor([[1.0, 3.0, 4.0], [0.0, 3.0, 6.0]]),
        ),
        likely="the first query is (1*1 + 2*4, 1*0 + 2*1) = (9, 2): the token times each column "
        "of the weight",
    )


@pytest.mark.question("project_qkv", points=0)
def test_second_word_of_the_sentence(expect: Expect) -> None:
    expect.value(
        "project_qkv",
        (INPUTS[1:2], W_QUERY, W_KEY, W_VALUE),
        SECOND_WORD,
        likely="queries, keys and values of one word, in this order",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("project_qkv", points=0)
def test_shapes_of_a_batch(expect: Expect) -> None:
    got = expect.result("project_qkv", torch.stack([INPUTS, -INPUTS]), W_QUERY, W_KEY, W_VALUE)
    shapes = _shapes(got)
    expect.that(
        shapes == [(2, 6, 2)] * 3,
        got=f"tensors of shapes {shapes}",
        expected="three tensors of shape (2, 6, 2)",
        likely="two sentences of six words stay two sentences of six words; the last dimension "
        "changes from 3 to 2",
    )


@pytest.mark.question("project_qkv_left", points=0)
def test_two_tokens_by_hand_weights_left(expect: Expect) -> None:
    expect.value(
        "project_qkv_left",
        (
            torch.tensor([[1.0, 2.0], [0.0, 3.0]]),
            torch.tensor([[1.0, 0.0], [4.0, 1.0]]),
            torch.tensor([[0.0, 2.0], [1.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]),
        ),
        (
            torch.tensor([[1.0, 6.0], [0.0, 3.0]]),
            torch.tensor([[4.0, 1.0], [6.0, 0.0]]),
            torch.tensor([[1.0, 3.0, 4.0], [0.0, 3.0, 6.0]]),
        ),
        likely="the first query is (1*1 + 0*2, 4*1 + 1*2) = (1, 6): the token times each row of "
        "the weight",
    )


@pytest.mark.question("project_qkv_left", points=0)
def test_sentence_of_the_shoes(expect: Expect) -> None:
    expect.value(
        "project_qkv_left",
        (SHOES, LEFT_QUERY, LEFT_KEY, LEFT_VALUE),
        SHOES_PROJECTED,
        likely="eight words: queries and keys of shape (8, 3), values of shape (8, 4)",
        tolerance=FROM_PRINTED,
    )


@pytest.mark.question("project_qkv_left", points=0)
def test_shapes_of_a_batch_weights_left(expect: Expect) -> None:
    got = expect.result(
        "project_qkv_left", torch.stack([SHOES, -SHOES, SHOES]), LEFT_QUERY, LEFT_KEY, LEFT_VALUE
    )
    shapes = _shapes(got)
    expect.that(
        shapes == [(3, 8, 3), (3, 8, 3), (3, 8, 4)],
        got=f"tensors of shapes {shapes}",
        expected="tensors of shapes (3, 8, 3), (3, 8, 3), (3, 8, 4)",
        likely="three sentences of eight words stay three sentences of eight words",
    )


@pytest.mark.question("project_qkv", points=0)
def test_project_qkv_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "project_qkv",
            [Tensor("... T d_in"), Tensor("d_in d_k"), Tensor("d_in d_k"), Tensor("d_in d_v")],
        ),
    )


@pytest.mark.question("project_qkv_left", points=0)
def test_project_qkv_left_called_in_other_ways(expect: Expect) -> None:
    check_by_itself(
        expect,
        Traits(
            "project_qkv_left",
            [Tensor("... T d_in"), Tensor("d_k d_in"), Tensor("d_k d_in"), Tensor("d_v d_in")],
        ),
    )
