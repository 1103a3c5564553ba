"""Pictures can be drawn for any input, and fit the width of a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import _fetch_figure_metadata
from matplotlib_inline.config import InlineBackend

from autograder.attention.notebooks import pictures
from autograder.attention.notebooks.drawing import WIDEST, styled
from autograder.attention.notebooks.pictures import (
    attention_arrows,
    beside,
    dot_product,
    flow,
    heatmap,
    side_by_side,
)

WORDS = ["Your", "journey", "starts", "with", "one", "step"]


@pytest.fixture(autouse=True)
def backend() -> Iterator[None]:
    """Selects a backend that needs no screen, and closes the figures afterwards."""
    matplotlib.use("agg")
    yield
    plt.close("all")


def drawn() -> Figure:
    """Returns the current figure after drawing it, so that the layout is final."""
    figure = plt.gcf()
    figure.canvas.draw()
    return figure


def texts(figure: Figure) -> set[str]:
    """Returns all text in the panels."""
    return {text.get_text() for axes in figure.axes for text in axes.texts}


@pytest.mark.parametrize("columns", [1, 2, 3, 6, 10, 64])
def test_a_comparison_fits_on_a_phone(columns: int) -> None:
    side_by_side(lambda: torch.rand(6, columns), torch.rand(6, columns), "title", rows=WORDS)
    assert drawn().get_size_inches()[0] <= WIDEST + 0.9  # 0.9 is for the color bar and labels


def test_small_panels_are_side_by_side_and_wide_ones_stacked() -> None:
    side_by_side(lambda: torch.rand(6, 3), torch.rand(6, 3), rows=WORDS)
    left, right = (axes.get_position() for axes in drawn().axes)
    assert left.x1 < right.x0
    side_by_side(lambda: torch.rand(6, 6), torch.rand(6, 6), rows=WORDS, columns=WORDS)
    upper, lower = (axes.get_position() for axes in drawn().axes)
    assert upper.y0 > lower.y1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (NotImplementedError(), "not implemented yet"),
        (ValueError("no\nsecond line"), "ValueError: no"),
        (None, "the result is None: is a\n`return` missing?"),
        (torch.rand(2, 2, 2), "a result of shape (2, 2,\n2) can't be drawn as a\nmatrix"),
        ((1, 2), "the result is a tuple of\n2 values, not one tensor"),
    ],
)
@pytest.mark.parametrize("draw", [side_by_side, heatmap])
def test_a_panel_says_why_an_answer_gives_no_matrix(draw: Any, answer: Any, reason: str) -> None:
    def ask() -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    draw(ask, *([torch.rand(1, 4)] if draw is side_by_side else []))
    assert reason.replace("\n", " ") in {text.replace("\n", " ") for text in texts(drawn())}


@pytest.mark.parametrize("draw", [side_by_side, heatmap])
@pytest.mark.parametrize("columns", [1, 3, 6])
def test_the_reason_stays_inside_its_panel(draw: Any, columns: int) -> None:
    def ask() -> torch.Tensor:
        raise RuntimeError("the size of tensor a (6) must match the size of tensor b (3) " * 2)

    draw(ask, *([torch.rand(1, columns)] if draw is side_by_side else []))
    panel = drawn().axes[0]
    (reason,) = panel.texts
    inner, outer = reason.get_window_extent(), panel.get_window_extent()
    assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1
    assert outer.y0 <= inner.y0 and inner.y1 <= outer.y1


def test_numbers_are_written_in_cells_if_there_is_room() -> None:
    heatmap(torch.tensor([[0.25, -torch.inf]]), title="one row")
    assert texts(drawn()) == {"0.25", "-inf"}
    heatmap(torch.rand(30, 30))
    assert texts(drawn()) == set()


def test_zero_has_no_minus_sign() -> None:
    heatmap(torch.tensor([[0.25, -0.0, -0.004], [-0.006, 1.0, 2.0]]))
    assert texts(drawn()) == {"0.25", "0.00", "-0.01", "1.00", "2.00"}


def test_the_notebooks_own_style_is_restored() -> None:
    before = dict(plt.rcParams)
    heatmap(torch.rand(2, 2))
    assert dict(plt.rcParams) == before


def test_a_flow_names_its_steps_and_shapes() -> None:
    flow([("input", "(2, 6)", "words, numbers"), ("split", "(2, 3, 2)", "")], title="how")
    assert {"input", "(2, 6)", "words, numbers", "split", "(2, 3, 2)"} <= texts(drawn())
    assert drawn().get_size_inches()[0] <= WIDEST


def frames(figure: Figure) -> int:
    return sum(not patch.get_fill() for patch in figure.axes[0].patches)


def test_cells_that_differ_have_a_frame_and_are_counted() -> None:
    wanted = torch.tensor([[0.25, 0.5], [0.75, 1.0]])
    side_by_side(lambda: wanted + torch.tensor([[0.0, 0.1], [0.0, 0.0]]), wanted)
    assert frames(drawn()) == 1
    assert "1 of 4 differ" in drawn().axes[0].get_title().replace("\n", " ")


def test_equal_numbers_look_equal_and_different_ones_different() -> None:
    side_by_side(lambda: torch.tensor([[0.94501, 0.5061]]), torch.tensor([[0.9450, 0.5]]))
    mine, expected = ([text.get_text() for text in axes.texts] for axes in drawn().axes)
    assert mine[0] == expected[0]
    assert mine[1] != expected[1]


def test_a_wrong_shape_is_named_and_not_drawn() -> None:
    side_by_side(lambda: torch.rand(6, 3), torch.rand(6))
    shown = " ".join(texts(drawn())).replace("\n", " ")
    assert "shape (6, 3), expected (6,)" in shown


def test_a_single_row_keeps_its_shape() -> None:
    side_by_side(lambda: torch.rand(1, 6), torch.rand(6))
    found = " ".join(texts(drawn())).replace("\n", " ")
    assert "shape (1, 6), expected (6,)" in found
    assert drawn().axes[1].get_title() == "expected (6,)"


def test_nan_and_infinity_have_special_colours() -> None:
    heatmap(torch.tensor([[torch.nan, -torch.inf, 1.0]]))
    assert len(drawn().axes[0].patches) == 1
    assert {"nan", "-inf", "1"} == texts(drawn())


def test_a_picture_takes_the_background_of_its_page() -> None:
    heatmap(torch.rand(2, 2))
    assert to_rgba(drawn().get_facecolor())[3] == 0


@pytest.mark.parametrize(
    "draw",
    [
        lambda: heatmap(torch.rand(2, 2)),
        lambda: heatmap(torch.rand(12, 12)),
        lambda: heatmap([1.0, 2.0]),
        lambda: side_by_side(lambda: 1 / 0, [1.0, 2.0]),
        lambda: attention_arrows([0.5, 0.5], ["a", "b"], query=1),
        lambda: flow([("a", "(T, d)", "words")]),
    ],
    ids=["heat map", "without numbers", "one row", "excuse", "arrows", "flow"],
)
def test_jupyter_puts_no_box_behind_a_picture(draw: Callable[[], None]) -> None:
    draw()
    assert _fetch_figure_metadata(drawn()) is None


def test_arrows_show_one_query_and_angles_two_vectors() -> None:
    attention_arrows([0.1, 0.2, 0.3, 0.2, 0.1, 0.1], WORDS, query=1)
    assert {*WORDS, "0.30"} <= texts(drawn())
    dot_product([2.0, 1.0], [1.0, 2.0])
    assert any("37" in text for text in texts(drawn()))
    assert drawn().get_size_inches()[0] <= WIDEST


def test_the_old_name_still_works() -> None:
    assert beside is side_by_side


def test_random_numbers_are_marked_only_where_they_are_far_off() -> None:
    side_by_side(lambda: [0.31, 0.5], [0.3, 0.3], within=0.06)
    assert "1 of 2 differ" in drawn().axes[0].get_title().replace("\n", " ")
    assert {"0.31", "0.50"} <= texts(drawn())


def test_an_example_is_not_compared() -> None:
    side_by_side(lambda: [0.0, 1.0], [1.0, 0.0], within=None)
    yours, other = (axes.get_title() for axes in drawn().axes)
    assert yours == "your result"
    assert "an example" in other


def test_a_panel_says_that_an_answer_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "SECONDS", 0.2)

    def answer() -> torch.Tensor:
        while True:
            pass

    pictures.side_by_side(answer, torch.ones(2, 2))
    texts = [text.get_text() for axes in plt.gcf().axes for text in axes.texts]
    assert any("loop that never ends" in " ".join(text.split()) for text in texts)


def test_pictures_in_a_notebook_have_twice_the_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    formats = InlineBackend.instance()
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "inline")
    for chosen, shown in (({"png"}, {"retina"}), ({"svg"}, {"svg"})):
        formats.figure_formats = chosen
        with styled():
            assert formats.figure_formats == shown
    InlineBackend.clear_instance()
