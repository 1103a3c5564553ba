"""Draws matrices as heat maps, and answers next to expected results, for the notebooks.

Pictures have no background, and their colors are readable in light and dark notebooks. If an answer
raises an exception, a panel with the reason is drawn instead.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...student.time_limit import SECONDS, CheckTimeout, limited
from .arrows import attention_arrows, dot_product
from .drawing import (
    BOX_INK,
    INK,
    QUIET,
    WIDEST,
    Labels,
    Panel,
    draw_excuse,
    draw_matrix,
    excuse_panel,
    frame,
    has_numbers,
    numbers_of,
    panel_of,
    scale_of,
    styled,
    wrapped,
)

__all__ = ["attention_arrows", "beside", "dot_product", "flow", "heatmap", "side_by_side"]

_TITLE = 0.25  # inches
_PRINTED = 5.5e-3  # expected numbers are often given with two decimals
_FLOW_STEP = 0.62


def heatmap(
    matrix: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str = "",
) -> None:
    """Draw a matrix as a heat map, with its numbers if there is room.

    Args:
        matrix: (T, S), or (S,) for a single row: a tensor or nested lists, of numbers or booleans;
            or a student's answer, a function that is called without arguments (if the call raises
            an exception, a panel with the reason is drawn instead). Infinite cells are gray, and
            nan cells are yellow.
        rows: one label per row, from the top.
        columns: one label per column, from the left.
        title: the text above the picture.

    Raises:
        ValueError: the matrix has more than two dimensions, or no entries.
    """
    labels = Labels(rows, columns)
    given, excuse = _ask(matrix) if callable(matrix) else (_matrix(matrix), "")
    values = np.zeros((1, 6)) if given is None else np.atleast_2d(given)
    panel = excuse_panel(excuse, panel_of(values, labels.fitting(values)))
    bar = 0.0 if has_numbers(values) else 0.7
    with styled():
        size = (panel.outer_width + bar, panel.outer_height + _TITLE)
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        figure.suptitle(wrapped(title, max(size[0], 2.5)))
        if given is None:
            draw_excuse(axes, excuse, panel.width)
            return
        image = draw_matrix(axes, values, labels, panel.slanted, scale_of([values]))
        if bar:
            figure.colorbar(image, ax=axes, shrink=0.8)


def side_by_side(
    answer: Callable[[], Any],
    expected: Any,
    title: str = "",
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    within: float | None = _PRINTED,
) -> None:
    """Draw the result of an answer next to the expected one, with the same color scale.

    Frames mark cells that differ from the expected ones. Cells that count as equal show the same
    digits in both matrices. Small matrices are drawn side by side, wider ones one above the other.

    Args:
        answer: a function that is called without arguments. If the function raises an exception or
            returns a different shape, a panel with the reason is drawn instead of its result; for
            `NotImplementedError`, the reason is "not implemented yet".
        expected: (T, S) or (S,), as for `heatmap`.
        title: the text above both matrices.
        rows: one label per row.
        columns: one label per column.
        within: the largest error at which a cell still counts as equal; use a larger value for
            means of random numbers, or None if `expected` is only an example and nothing is
            compared.

    Raises:
        ValueError: `expected` has more than two dimensions, or no entries.
    """
    wanted, labels = _matrix(expected), Labels(rows, columns)
    shape = wanted.shape
    given, excuse = _ask(answer)
    if given is not None and given.shape != shape:
        excuse = f"shape {given.shape}, expected {shape}"
        given = None
    wanted, given = np.atleast_2d(wanted), None if given is None else np.atleast_2d(given)
    scale = scale_of([wanted] if given is None else [wanted, given])
    panel = panel_of(wanted, labels)
    above = excuse_panel(excuse, panel)
    with styled():
        figure, (first, second) = _two_panels(panel, above, has_numbers(wanted))
        if given is None:
            draw_excuse(first, excuse, above.width)
        else:
            texts = _comparable(given, wanted) if within == _PRINTED else None
            draw_matrix(first, given, labels, panel.slanted, scale, texts)
        heading = "your result" + _framed(first, given, wanted, within)
        image = draw_matrix(second, wanted, labels, panel.slanted, scale)
        first.set_title(wrapped(heading, panel.outer_width))
        meant = "expected" if within is not None else "an example"
        second.set_title(wrapped(f"{meant} {shape}", panel.outer_width))
        if not has_numbers(wanted):
            figure.colorbar(image, ax=[first, second], shrink=0.8)
        figure.suptitle(wrapped(title, max(figure.get_size_inches()[0], 2.5)))


#: the name that notebooks of earlier versions import
beside = side_by_side


def flow(steps: Sequence[tuple[str, str, str]], title: str = "") -> None:
    """Draw steps from top to bottom, each as a box with a shape and the meaning of that shape.

    Args:
        steps: for each step, a name, a shape and the meaning of the shape; the shape and its
            meaning may be empty.
        title: the text above the picture.
    """
    with styled():
        height = _FLOW_STEP * len(steps) + (_TITLE if title else 0.0)
        figure, axes = plt.subplots(figsize=(4.3, height), layout="constrained")
        for place, (name, shape, meaning) in enumerate(steps):
            box = {"boxstyle": "round,pad=0.4", "facecolor": "#dfe8f2", "edgecolor": "#4c78a8"}
            axes.text(0.95, -place, name, ha="center", va="center", bbox=box, color=BOX_INK)
            up = 0.17 if meaning else 0.0
            axes.text(2.05, up - place, shape, va="center", family="monospace")
            axes.text(2.05, -up - place, meaning, va="center", color=QUIET, fontsize=8.0)
            if place:
                arrow = {"arrowstyle": "->", "color": "#4c78a8"}
                axes.annotate("", (0.95, 0.27 - place), (0.95, 0.73 - place), arrowprops=arrow)
        axes.set(xlim=(0, 4.3), ylim=(0.5 - len(steps), 0.5))
        axes.axis("off")
        if title:
            figure.suptitle(wrapped(title, 4.3), color=INK)


def _two_panels(panel: Panel, first: Panel, numbers: bool) -> tuple[Figure, Sequence[Axes]]:
    """Make two panels: side by side if their sizes match and fit on a phone, otherwise stacked."""
    bar = 0.0 if numbers else 0.7
    side_by_side = first == panel and 2 * panel.outer_width + bar <= WIDEST
    heights = [panel.outer_height] if side_by_side else [first.outer_height, panel.outer_height]
    columns = 2 if side_by_side else 1
    figure, axes = plt.subplots(
        len(heights),
        columns,
        figsize=(columns * first.outer_width + bar, sum(heights) + (len(heights) + 1.5) * _TITLE),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    return figure, list(axes.flat)


def _framed(axes: Axes, given: np.ndarray | None, wanted: np.ndarray, within: float | None) -> str:
    """Draw frames around the cells that differ, and return a note that says how many differ."""
    if given is None:
        return ""
    differs = _differing(given, wanted, within)
    frame(axes, differs)
    return f": {int(differs.sum())} of {differs.size} differ" if differs.any() else ""


def _differing(given: np.ndarray, wanted: np.ndarray, within: float | None) -> np.ndarray:
    """Return an array with True for each cell that differs from `wanted` by more than `within`."""
    if within is None:
        return np.zeros_like(wanted, dtype=bool)
    right: np.ndarray = np.isclose(given, wanted, atol=within, rtol=1e-3, equal_nan=True)
    return ~right


def _comparable(given: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return an answer's numbers as text; wrong numbers get enough digits to show the error."""
    differs = _differing(given, wanted, _PRINTED)
    texts = np.where(differs, numbers_of(given), numbers_of(wanted))
    same = differs & (texts == numbers_of(wanted))
    return np.where(same, numbers_of(given, 4), texts)


def _ask(answer: Callable[[], Any]) -> tuple[np.ndarray | None, str]:
    """Return an answer's matrix, or None and the reason why there is nothing to draw."""
    try:
        with limited(SECONDS):
            value = answer()
    except NotImplementedError:
        return None, "not implemented yet"
    except CheckTimeout as slow:
        return None, f"{slow}: is there a loop that never ends?"
    except Exception as error:
        return None, _one_line(error)
    try:
        return _matrix(value), ""
    except (ValueError, TypeError, RuntimeError) as error:
        return None, str(error)


def _one_line(error: Exception) -> str:
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    text = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return textwrap.shorten(text, width=160, placeholder=" ...")


def _matrix(value: Any) -> np.ndarray:
    """Return a float64 array of one or two dimensions; raise `ValueError` for anything else."""
    if value is None:
        raise ValueError("the result is None: is a `return` missing?")
    if isinstance(value, tuple):
        raise ValueError(f"the result is a tuple of {len(value)} values, not one tensor")
    tensor = torch.as_tensor(value).detach().to(device="cpu", dtype=torch.float64)
    if tensor.dim() not in (1, 2) or tensor.numel() == 0:
        raise ValueError(f"a result of shape {tuple(tensor.shape)} can't be drawn as a matrix")
    return np.asarray(tensor.tolist(), dtype=np.float64)
