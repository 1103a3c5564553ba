"""Pictures of sequences have the right contents, and unreadable sizes are rejected."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from autograder.attention.notebooks.drawing import WIDEST
from autograder.attention.notebooks.sequences import blocks_in_turn, cache_growth, dials


@pytest.fixture(autouse=True)
def backend() -> Iterator[None]:
    """Selects a backend that needs no screen, and closes the figures afterwards."""
    matplotlib.use("agg")
    yield
    plt.close("all")


def _axes() -> Axes:
    return plt.gcf().axes[0]


def _colours(row: int) -> list[str]:
    """Returns the colors of the cells in a row, from the left."""
    cells = [patch for patch in _axes().patches if isinstance(patch, Rectangle)]
    return [to_hex(cell.get_facecolor()) for cell in cells if round(cell.get_y()) == -row]


def test_a_dials_hand_points_in_the_direction_of_its_angle() -> None:
    dials([math.pi / 2], 2, title="angles")

    right, up = (np.diff(np.asarray(line.get_xydata()), axis=0)[0] for line in _axes().lines)
    assert right[0] > 0.3 and abs(right[1]) < 1e-6
    assert up[1] > 0.3 and abs(up[0]) < 1e-6


def test_without_a_cache_everything_is_recomputed_in_every_step() -> None:
    cache_growth(3, 2, cached=False)
    assert [len(set(_colours(call))) for call in range(3)] == [1, 1, 1]
    plt.close("all")

    cache_growth(3, 2, cached=True)
    first, second, third = (_colours(call) for call in range(3))
    assert len(set(first)) == 1 and len(first) == 3
    assert second[-1] == third[-1] == first[0]
    assert len(set(third[:-1])) == 1 and third[0] != first[0]


def test_the_last_block_may_be_shorter() -> None:
    blocks_in_turn(2, 5, 2)

    shades = _colours(0)
    assert shades[0] == shades[1] != shades[2] == shades[3] != shades[4]
    assert [text.get_text() for text in _axes().texts] == ["block 0", "block 1", "block 2"]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: dials([1.0, 0.1], 11),
        lambda: dials([], 3),
        lambda: cache_growth(8, 4, cached=True),
        lambda: blocks_in_turn(2, 11, 2),
        lambda: blocks_in_turn(2, 5, 0),
    ],
)
def test_sizes_that_would_be_unreadable_are_refused(draw: Any) -> None:
    with pytest.raises(ValueError, match="can be drawn|1 to 10 positions"):
        draw()


def test_pictures_fit_a_phone() -> None:
    dials([0.0] * 4, 8)
    cache_growth(4, 5, cached=True)
    blocks_in_turn(4, 8, 3)

    assert all(plt.figure(number).get_figwidth() <= WIDEST for number in plt.get_fignums())
