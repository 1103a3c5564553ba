"""Hidden."""

import pytest
import torch

from autograder.suite import Draw, Expect


@pytest.mark.question("plus_one", points=3)
def test_adds_one_to_every_entry(expect: Expect, draw: Draw) -> None:
    expect.value(
        "plus_one",
        [torch.tensor([0.1234, 0.5678])],
        torch.tensor([1.1234, 1.5678]),
        likely="every entry of the input grows by one, the last one too",
    )


@pytest.mark.question("plus_one", points=1.5)
@pytest.mark.parametrize("size", [1, 2])
def test_any_size_is_fine(expect: Expect, draw: Draw, size: int) -> None:
    expect.same("plus_one", draw.normal(size, 4), likely="no size is written down in the code")


@pytest.mark.question("Layer", points=4)
def test_layer_scales_by_its_weight(expect: Expect, draw: Draw) -> None:
    expect.layer("Layer", 3).same(draw.normal(2, 3), likely="each column has a weight of its own")
