"""A test continues after a failure and records all failures; the first failure counts."""

from typing import Any

import pytest
import torch

from autograder.errors import AnswerRaised
from autograder.suite import Draw, Expect
from autograder.suite.local import LocalImplementation


def _right(x: torch.Tensor) -> Any:
    return x + 1


def _wrong(x: torch.Tensor) -> Any:
    if x.dim() > 1:
        raise IndexError("too many")
    return x


def _expect(*, soft: bool) -> Expect:
    answer, solution = LocalImplementation({"f": _wrong}), LocalImplementation({"f": _right})
    return Expect(answer, solution, Draw(1, "test"), soft)


def test_the_first_failure_is_raised_at_once() -> None:
    expect = _expect(soft=False)

    with pytest.raises(AssertionError, match="first"):
        expect.same("f", torch.ones(2), likely="first")
    with pytest.raises(AnswerRaised, match="IndexError: too many"):
        expect.same("f", torch.ones(2, 2), likely="second")


def test_a_soft_test_continues_and_keeps_the_first_failure() -> None:
    expect = _expect(soft=True)

    expect.same("f", torch.ones(2), likely="first")
    expect.same("f", torch.ones(2, 2), likely="second")
    expect.raises("f", torch.ones(2), error=ValueError, likely="third")

    assert "remember: first" in str(expect.failures.first)


def test_a_property_that_later_code_needs_ends_the_test() -> None:
    with pytest.raises(AssertionError, match="got       a"):
        _expect(soft=True).that(False, got="a", expected="b", likely="")


def test_a_soft_test_of_a_right_answer_has_no_failure() -> None:
    right = LocalImplementation({"f": _right})
    expect = Expect(right, right, Draw(1, "test"), soft=True)

    expect.same("f", torch.ones(2), likely="")

    assert expect.failures.first is None
