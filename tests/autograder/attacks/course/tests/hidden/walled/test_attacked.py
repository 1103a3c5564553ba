"""Hidden suite of `attacked`."""

from __future__ import annotations

import pytest
import torch

from autograder.suite import Draw, Expect, Forbidden

RULE = Forbidden(
    operators=frozenset({"aten::softmax", "aten::_softmax"}),
    names=frozenset({"softmax"}),
    instead="exponentials, divided by their sum",
)


@pytest.mark.question("first", points=1)
def test_one_more(expect: Expect, draw: Draw) -> None:
    expect.same("first", draw.normal(3, 4), likely="add one")


@pytest.mark.question("target", points=1)
def test_twice(expect: Expect, draw: Draw) -> None:
    expect.same("target", draw.normal(3, 4), likely="twice")


@pytest.mark.question("target", points=1)
def test_twice_in_float64(expect: Expect, draw: Draw) -> None:
    expect.same("target", draw.normal(2, 5, dtype=torch.float64), likely="twice")


@pytest.mark.question("target", points=1)
def test_gradient(expect: Expect, draw: Draw) -> None:
    expect.gradients("target", draw.normal(3, 3), likely="twice")


@pytest.mark.question("Scale", points=1)
def test_layer(expect: Expect, draw: Draw) -> None:
    layer = expect.layer("Scale", 4)
    layer.exact_weights(likely="one weight")
    layer.same(draw.normal(3, 4), likely="scale")


@pytest.mark.question("Scale", points=1)
def test_gradients_of_the_layer(expect: Expect, draw: Draw) -> None:
    expect.layer("Scale", 3).gradients(draw.normal(2, 3), likely="scale")


@pytest.mark.question("ruled", points=1)
def test_rows_sum_to_one(expect: Expect, draw: Draw) -> None:
    expect.same("ruled", draw.normal(3, 4), likely="softmax")


@pytest.mark.question("ruled", points=1)
def test_without_softmax(expect: Expect, draw: Draw) -> None:
    expect.allowed("ruled", draw.normal(3, 4), rule=RULE)


@pytest.mark.question("last", points=1)
def test_one_less(expect: Expect, draw: Draw) -> None:
    expect.same("last", draw.normal(3, 4), likely="subtract one")
