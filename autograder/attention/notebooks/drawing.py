"""Draws the cells, numbers and labels of matrices, in sizes that are readable on any screen.

Sizes are chosen for a phone: on a page 390 pixels wide, a notebook has about 300 pixels for a
picture. A wider picture would be shrunk so much that nobody could read it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, TwoSlopeNorm
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib_inline.config import InlineBackend

#: the color of lines drawn on the page itself, visible on white and on black
INK = "#7a7a7a"
QUIET = "#8a8a8a"
#: the colors of the numbers at the edges. Jupyter puts a white box behind a picture if all of its
#: tick labels are dark, a black one if all are light, and none if they differ; so one of these
#: grays is slightly lighter than the middle, and one slightly darker
_TICKS = ("#828282", "#7d7d7d")
_DARK, _LIGHT = "#222222", "#ffffff"
#: the color of text in a light box
BOX_INK = _DARK
#: the colors of cells with minus or plus infinity, and of cells with nan
_EMPTY, _NAN = "#b8b8b4", "#f2c14e"
#: the color of frames around cells that differ from the expected ones
_FRAME = "#d9480f"

#: sets all colors, whatever style the notebook has chosen
_STYLE: dict[Any, Any] = {  # Any, because matplotlib types its keys as a closed list
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "axes.facecolor": "none",
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.grid": False,
    "text.color": INK,
    "text.usetex": False,
    "xtick.color": _TICKS[0],
    "ytick.color": _TICKS[1],
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "figure.titlesize": 10.0,
    "figure.dpi": 100.0,
}

#: inches; pictures up to this width are readable on a phone
WIDEST = 4.5
_LETTER = 0.078  # the width of a letter of DejaVu Sans at 9 points, in inches
_CELL = (0.48, 0.38)
_LARGEST_PANEL = 3.8
#: the height of a line of text, and the width of a panel for text that needs several lines
_LINE = 0.16
_TEXT_PANEL = 2.9
_SMALLEST_PANEL = (1.5, 0.42)
_LARGEST_WITH_NUMBERS = 10
_LARGEST_WITH_TICKS = 24


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels for rows (from the top) and columns (from the left); None means numbers as labels."""

    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None

    def fitting(self, values: np.ndarray) -> Labels:
        """Return the labels; a list whose length does not match the matrix becomes None."""
        return Labels(_fitting(self.rows, values, 0), _fitting(self.columns, values, 1))


@dataclass(frozen=True, slots=True)
class Panel:
    """A matrix's size in inches, without and with the labels around it."""

    width: float
    height: float
    outer_width: float
    outer_height: float
    slanted: bool


@contextmanager
def styled() -> Iterator[None]:
    """Use the style of these pictures inside a `with` block, then restore the caller's style.

    Interactive mode, without which notebooks show no figures, stays on after the block. A
    notebook's first figure turns this mode on, but the end of the `plt.rc_context` around that
    figure would turn it off again.
    """
    with plt.rc_context(_STYLE):
        if "inline" in matplotlib.get_backend():
            matplotlib.interactive(True)
            _sharpen()
        yield
        interactive = plt.isinteractive()
    matplotlib.interactive(interactive)


def _sharpen() -> None:
    """Double the resolution of pictures, because phones shrink them and readers zoom in.

    If the notebook has chosen a format other than PNG, that format is kept.
    """
    backend = InlineBackend.instance()
    if backend.figure_formats == {"png"}:
        backend.figure_formats = {"retina"}


def panel_of(values: np.ndarray, labels: Labels) -> Panel:
    """Return a panel with cells large enough for their numbers, and with room for labels."""
    rows, columns = values.shape
    width = min(max(_CELL[0] * columns, _SMALLEST_PANEL[0]), _LARGEST_PANEL)
    height = min(max(_CELL[1] * rows, _SMALLEST_PANEL[1]), _LARGEST_PANEL)
    slanted = _longest(labels.columns) * _LETTER > 0.95 * width / columns
    below = 0.2 + (0.7 * _longest(labels.columns) * _LETTER if slanted else 0.0)
    beside = 0.2 if rows == 1 and not labels.rows else max(_longest(labels.rows), 2) * _LETTER + 0.2
    return Panel(width, height, width + beside, height + below, slanted)


def has_numbers(values: np.ndarray) -> bool:
    """Return whether the matrix is small enough for numbers in its cells."""
    return bool(max(values.shape) <= _LARGEST_WITH_NUMBERS)


def wrapped(text: str, inches: float) -> str:
    """Wrap text into lines that are at most `inches` wide."""
    return textwrap.fill(text, width=max(int(inches / _LETTER), 14))


def scale_of(matrices: Sequence[np.ndarray]) -> tuple[Colormap, Normalize]:
    """Return one color scale for all matrices.

    The scale goes from white to blue or, if any number is negative, from blue to red.
    """
    numbers = np.concatenate([values[np.isfinite(values)] for values in matrices])
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    if low >= 0.0:
        colors, norm = plt.get_cmap("Blues"), Normalize(0.0, high or 1.0)
    else:
        reach = max(-low, high)
        colors, norm = plt.get_cmap("RdBu_r"), TwoSlopeNorm(0.0, -reach, reach)
    return colors.with_extremes(bad=_EMPTY), norm


def draw_matrix(
    axes: Axes,
    values: np.ndarray,
    labels: Labels,
    slanted: bool,
    scale: tuple[Colormap, Normalize],
    texts: np.ndarray | None = None,
) -> AxesImage:
    """Draw a matrix, with its numbers (or other `texts`) if there is room."""
    shown = np.ma.masked_where(~np.isfinite(values), values)
    colors, norm = scale
    image = axes.imshow(shown, cmap=colors, norm=norm, aspect="auto", interpolation="nearest")
    _label(axes, values, labels, slanted)
    _fill(axes, np.isnan(values), _NAN)
    if has_numbers(values):
        paint = image.to_rgba(shown)  # (rows, columns, 4)
        style: dict[str, Any] = {"fontsize": 8.0, "ha": "center", "va": "center"}
        texts = numbers_of(values) if texts is None else texts
        for (row, column), value in np.ndenumerate(values):
            ink = _DARK if np.isnan(value) else _ink_on(paint[row, column])
            axes.text(column, row, str(texts[row, column]), color=ink, **style)
    return image


def frame(axes: Axes, cells: np.ndarray) -> None:
    """Draw a frame around each cell that is True."""
    for row, column in np.argwhere(cells):
        corner = (column - 0.46, row - 0.44)
        axes.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, edgecolor=_FRAME, linewidth=1.8))


def _fill(axes: Axes, cells: np.ndarray, color: str) -> None:
    for row, column in np.argwhere(cells):
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color=color, linewidth=0))


def numbers_of(values: np.ndarray, digits: int = 2) -> np.ndarray:
    """Return a matrix's numbers as text, without decimals if all are whole."""
    finite = values[np.isfinite(values)]
    whole = bool(finite.size) and bool((finite == finite.round()).all()) and digits == 2
    texts = [_number(value, 0 if whole else digits) for value in values.flat]
    return np.array(texts, dtype=object).reshape(values.shape)


def excuse_panel(text: str, panel: Panel) -> Panel:
    """Return the panel, or a larger one if `text` would not fit into it."""
    if _height_of(text, panel.width) <= panel.height:
        return panel
    width = max(panel.width, _TEXT_PANEL)
    height = max(panel.height, _height_of(text, width))
    return replace(
        panel,
        width=width,
        height=height,
        outer_width=panel.outer_width + width - panel.width,
        outer_height=panel.outer_height + height - panel.height,
    )


def _height_of(text: str, width: float) -> float:
    lines = wrapped(text, width).count("\n") + 1
    return (lines + 0.5) * _LINE


def draw_excuse(axes: Axes, text: str, width: float) -> None:
    """Draw a panel with `text`, which explains why there is no matrix."""
    for side in axes.spines.values():
        side.set_linestyle((0, (3, 3)))
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(
        0.5,
        0.5,
        wrapped(text, width),
        color=QUIET,
        style="italic",
        ha="center",
        va="center",
        transform=axes.transAxes,
        parse_math=False,
    )


def _label(axes: Axes, values: np.ndarray, labels: Labels, slanted: bool) -> None:
    rows = labels.rows or ([""] if values.shape[0] == 1 else None)  # a single row needs no number
    _ticks(axes.set_yticks, values.shape[0], rows, rotation=0)
    _ticks(axes.set_xticks, values.shape[1], labels.columns, rotation=45 if slanted else 0)
    if slanted:
        plt.setp(axes.get_xticklabels(), ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)


def _ticks(
    put: Callable[..., Any], size: int, labels: Sequence[str] | None, rotation: float
) -> None:
    if labels is not None and len(labels) == size:
        put(range(size), labels=[str(label) for label in labels], rotation=rotation)
    elif size <= _LARGEST_WITH_TICKS:
        put(range(size), labels=[str(index) for index in range(size)])
    else:
        put([])


def _fitting(labels: Sequence[str] | None, values: np.ndarray, axis: int) -> Sequence[str] | None:
    return labels if labels is not None and len(labels) == values.shape[axis] else None


def _longest(labels: Sequence[str] | None) -> int:
    return max((len(str(label)) for label in labels), default=0) if labels else 0


def _number(value: float, digits: int) -> str:
    if not np.isfinite(value):
        return str(value)
    if abs(value) >= 100:
        return f"{value:.4g}"
    return f"{round(float(value), digits) + 0.0:.{digits}f}"  # avoids -0.00


def _ink_on(color: np.ndarray) -> str:
    """Return the color of text in a cell: dark in a light cell, white in a dark one."""
    red, green, blue = color[:3]
    return _DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else _LIGHT
