"""Computes the answers to guesses that code in the notebook itself would give away.

In the notebooks, students guess results. If a guess is about a line of code, the same cell compares
it with the result of that line. The functions here are for guesses about numbers that students work
out themselves.
"""

from __future__ import annotations

import math

import torch
from torch import nn


def score_of_the_longer_word() -> float:
    """Return the score for the query (2, -1) and the word (6, 8)."""
    return 2.0 * 6.0 - 8.0


def mixture_with_a_negative_weight() -> list[float]:
    """Return 2 * (1, 2, 3) - (4, 5, 7)."""
    return [2.0 * a - b for a, b in zip((1, 2, 3), (4, 5, 7), strict=True)]


def rows_of_the_table() -> int:
    """Return the number of rows that a table needs for ids from 0 to 7."""
    return 7 + 1


def row_that_is_forbidden() -> list[float]:
    """Return the softmax of three scores that are all the lowest number of their dtype."""
    return torch.full((3,), torch.finfo(torch.float32).min).softmax(0).tolist()


def names_of_trained_weights(module: nn.Module) -> list[str]:
    """Return the names of the parameters that an optimizer changes."""
    return [name for name, weight in module.named_parameters() if weight.requires_grad]


def kept_entry() -> float:
    """Return what an entry of 6 becomes if dropout with p = 0.9 keeps it."""
    return 6.0 / (1.0 - 0.9)


def trained_numbers() -> int:
    """Return the number of parameters in four 6 x 6 matrices and one bias of size 6."""
    return 4 * 6 * 6 + 6


def numbers_with_all_biases() -> int:
    """Return the number of parameters in four linear layers from 6 to 6, each with a bias."""
    return 4 * (6 * 6 + 6)


def without_relu() -> int:
    """Return the value at x = 10 of the straight line through (1, 3) and (2, 5)."""
    return 3 + (5 - 3) * (10 - 1)


def speed_of_the_second_pair() -> float:
    """Return the angle in radians by which pair 1 turns per position, for d = 4 and base 16."""
    return float(16.0 ** (-2 / 4))


def start_of_the_mixture(weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return the first three numbers of the mixture of values for the first row of weights."""
    return (weights @ values)[0, :3]


def sum_of_two_equal_blocks() -> float:
    """Return the log-sum-exp of two blocks together if each block has a log-sum-exp of 0."""
    return math.log(1.0 + 1.0)
