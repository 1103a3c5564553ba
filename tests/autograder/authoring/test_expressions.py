"""Cells that contain a solution's computation are found, even if steps and names differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.authoring.computations import expressions_in_cells, expressions_of

SOLUTION = """
def attention(queries, keys, values):
    ### BEGIN SOLUTION
    scores = queries @ keys.T
    weights = softmax(scores, dim=-1)
    return weights @ values
    ### END SOLUTION


def mask(num_queries, num_keys):
    ### BEGIN SOLUTION
    everywhere = torch.ones(num_queries, num_keys)
    return everywhere.triu(diagonal=num_keys - num_queries + 1)
    ### END SOLUTION


def angles(positions, speeds):
    ### BEGIN SOLUTION
    return positions[:, None] * speeds
    ### END SOLUTION
"""


def found(tmp_path: Path, *cells: str) -> list[str]:
    """Returns each line in the cells that contains a computation from the solution."""
    path = tmp_path / "attention.py"
    path.write_text(SOLUTION, encoding="utf-8")
    secret = {key for key, _ in expressions_of(path)}
    notebook = {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}
    lines = [line for key, line in expressions_in_cells(json.dumps(notebook)) if key in secret]
    return list(dict.fromkeys(lines))


@pytest.mark.parametrize(
    "cell",
    [
        "picture(lambda: show(queries @ keys.T))",
        "torch.softmax(a.mm(b) / 2, -1)",
        "softmax(x @ y.T, dim=-1) @ z",
        "predict(guess, lambda: torch.triu(torch.ones(1, 5), 1)[0])",
        "dials(places[:, None] * rates)",
    ],
)
def test_a_part_of_the_answer_is_found(tmp_path: Path, cell: str) -> None:
    assert found(tmp_path, cell) == [cell]


def test_other_code_is_allowed(tmp_path: Path) -> None:
    cells = ["picture(scores.softmax(0))", "a @ b", "%matplotlib inline", "x + 1"]
    cells += ["show(torch.ones(2), other.triu())", "x[:, None]", "rows * speeds"]
    assert found(tmp_path, *cells) == []
