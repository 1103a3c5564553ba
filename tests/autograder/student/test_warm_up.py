"""The warm-up confirms correct lines, gives hints about wrong lines, and ignores empty ones."""

from __future__ import annotations

import pytest
import torch

from autograder.student.warm_up import a, b, c, warm_up


def test_right_lines_are_confirmed(capsys: pytest.CaptureFixture[str]) -> None:
    warm_up(
        row_sums=a.sum(-1, keepdim=True),
        scaled=a * b[:, None],
        differences=b[:, None] - c,
        column_sums=torch.einsum("ij->j", a),
        products=torch.einsum("i,j->ij", b, c),
    )
    assert capsys.readouterr().out.count("✓") == 5


def test_wrong_lines_get_a_nudge(capsys: pytest.CaptureFixture[str]) -> None:
    warm_up(row_sums=a.sum(-1), scaled=a, differences=3, column_sums=None)
    printed = capsys.readouterr().out
    assert printed.count("!") == 3
    assert "the shape is (2,), expected (2, 1)" in printed and "keepdim" in printed
    assert "differences: got the type int, expected a tensor" in printed
    assert "○ column_sums: replace None" in printed
