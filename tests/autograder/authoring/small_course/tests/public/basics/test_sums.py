"""Checks."""

import pytest
import torch

from autograder.suite import Expect


@pytest.mark.question("plus_one", points=0)
def test_one_becomes_two(expect: Expect) -> None:
    expect.value("plus_one", [torch.ones(2)], torch.full((2,), 2.0), likely="1 + 1 is 2")


@pytest.mark.question("plus_one", points=0)
def test_shape_stays(expect: Expect) -> None:
    got = expect.result("plus_one", torch.zeros(2, 3))
    expect.that(got.shape == (2, 3), got=str(got.shape), expected="(2, 3)", likely="<b>shape</b>")


@pytest.mark.question("Layer", points=0)
def test_layer_can_be_built(expect: Expect) -> None:
    expect.implementation.build("Layer", [3])
