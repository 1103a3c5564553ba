"""Hidden suite of `beside`."""

from __future__ import annotations

import pytest

from autograder.suite import Draw, Expect


@pytest.mark.question("neighbour", points=2)
def test_half(expect: Expect, draw: Draw) -> None:
    expect.same("neighbour", draw.normal(3, 4), likely="half")
