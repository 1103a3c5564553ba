"""Diagrams have the right contents and fit the width of a phone."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Annotation

from autograder.attention.notebooks.diagrams import (
    colored,
    curves,
    head_groups,
    lookups,
    one_query,
    product,
    residual_roads,
    shapes_in_attention,
)
from autograder.attention.notebooks.drawing import WIDEST


@pytest.fixture(autouse=True)
def backend() -> Iterator[None]:
    """Selects a backend that needs no screen, and closes the figures afterwards."""
    matplotlib.use("agg")
    yield
    plt.close("all")


def texts() -> list[str]:
    """Returns all text in the current figure."""
    return [text.get_text() for axes in plt.gcf().axes for text in axes.texts]


def test_every_head_is_drawn_once_above_what_it_reads() -> None:
    head_groups(6, 3)
    assert sorted(texts()) == sorted([f"q{h}" for h in range(6)] + [f"k{g} v{g}" for g in range(3)])
    ends = [tuple(np.asarray(line.get_xdata(), float)) for line in plt.gca().lines]
    assert ends == [(h + 0.5, h // 2 * 2 + 1.0) for h in range(6)]
    assert plt.gcf().get_size_inches()[0] <= WIDEST


def test_groups_that_are_not_equal_are_refused() -> None:
    with pytest.raises(ValueError, match="4 query heads cannot be divided evenly among 3"):
        head_groups(4, 3)


def test_every_residual_path_ends_at_its_addition() -> None:
    residual_roads(["x", "norm1", "attention", "+", "out"], [(0, 3)])
    assert [text for text in texts() if text] == ["x", "norm1", "attention", "+", "out"]
    (arrow,) = [text for text in plt.gca().texts if isinstance(text, Annotation)]
    assert arrow.xy[1] == 3


def test_more_than_two_lines_are_named_in_a_list() -> None:
    curves({name: [3.0, 1.0] for name in "abc"}, "steps", "loss", step=50, start=150)
    (axes,) = plt.gcf().axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [150, 200]


def test_one_query_has_key_weight_and_value_for_each_word() -> None:
    one_query(["the", "cat"], 1, [0.25, 0.75])
    (axes,) = plt.gcf().axes
    written = [text.get_text() for text in axes.texts]
    assert {"q1", "k0", "k1", "v0", "v1", "z1", "0.25", "0.75"} <= set(written)


def test_a_table_has_the_colour_of_its_heads() -> None:
    colored([[1, 2, 3]], heads=[[0, 1, 1]], title="two heads")
    assert texts() == ["1", "2", "3"]
    colours = [patch.get_facecolor() for patch in plt.gca().patches]
    assert colours[0] != colours[1] == colours[2]


def test_a_product_shows_three_boxes_of_its_sizes() -> None:
    product(("inputs", 6, 3), ("W", 3, 2), "queries")
    assert [text for text in texts() if "x" in text] == [
        "inputs\n6 x 3",
        "W\n3 x 2",
        "queries\n6 x 2",
    ]
    assert plt.gcf().get_size_inches()[0] <= WIDEST
    with pytest.raises(ValueError, match="3 columns do not match 2 rows"):
        product(("inputs", 6, 3), ("W", 2, 2), "queries")


def test_each_word_points_to_its_row() -> None:
    lookups(["a", "b", "a"], [1, 0, 1], 3)
    arrows = [text for text in plt.gca().texts if isinstance(text, Annotation)]
    assert [(arrow.xyann[0], arrow.xy[0]) for arrow in arrows] == [(0, 1), (1, 0), (2, 1)]


def test_each_tensor_of_attention_is_drawn_with_its_shape() -> None:
    shapes_in_attention()
    drawn = [text for text in texts() if text]
    assert "queries\n(..., T, d_out)" in drawn and "weights\n(..., T, T)" in drawn
    assert len(drawn) == 6
