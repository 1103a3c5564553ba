"""Pictures for the notebooks: a matrix as a heat map, and an answer beside what was expected.

A picture has its own opaque background, so it reads the same in a light and a dark notebook, and it
never fails: an answer that raises is drawn as a quiet panel that says so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize, TwoSlopeNorm
from matplotlib.image import AxesImage

_PAPER = "#ffffff"
_INK = "#222222"
_QUIET = "#6b6b6b"
_PANEL = "#f1f1ee"
#: cells that hold no finite number: -inf, nan
_EMPTY = "#d0d0cc"

#: every colour is said here, whatever style the notebook has chosen
_STYLE: dict[Any, Any] = {  # Any: matplotlib types its keys as one closed list
    "figure.facecolor": _PAPER,
    "savefig.facecolor": _PAPER,
    "savefig.transparent": False,
    "axes.facecolor": _PAPER,
    "axes.edgecolor": _QUIET,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.grid": False,
    "text.color": _INK,
    "text.usetex": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "figure.dpi": 100.0,
}

_LARGEST_WITH_NUMBERS = 10
_LARGEST_WITH_TICKS = 24


def heatmap(
    matrix: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str = "",
) -> None:
    """Draws a matrix as a heat map, with its numbers where there is room.

    Args:
        matrix: (T, S), or (S,) for a single row: a tensor or nested lists, of numbers or booleans.
            A cell that is not finite is grey.
        rows: one label per row, from the top.
        columns: one label per column, from the left.
        title: stands above the picture.

    Raises:
        ValueError: the matrix has more than two dimensions, or no entries.
    """
    values = _matrix(matrix)
    width, height = _panel_size(values)
    with _styled():
        figure, axes = plt.subplots(
            figsize=(width + 1.6, height + 0.9), layout="constrained", squeeze=False
        )
        image = _draw(axes[0, 0], values, rows, columns, *_scale([values]))
        figure.colorbar(image, ax=axes[0, 0], shrink=0.8)
        axes[0, 0].set_title(title)


def beside(
    answer: Callable[[], Any],
    expected: Any,
    title: str = "",
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Draws what an answer gives next to what it should give, in one scale of colours.

    Args:
        answer: called without arguments. Where it raises, its side becomes a quiet panel: "not
            implemented yet" for `NotImplementedError`, the error in one line for another one.
        expected: (T, S) or (S,), as in `heatmap`.
        title: stands above both.
        rows: one label per row.
        columns: one label per column.

    Raises:
        ValueError: `expected` has more than two dimensions, or no entries.
    """
    wanted = _matrix(expected)
    given, excuse = _ask(answer)
    scale = _scale([wanted] if given is None else [wanted, given])
    width, height = _panel_size(wanted)
    with _styled():
        figure, axes = plt.subplots(
            ncols=2, figsize=(2 * width + 2.2, height + 1.1), layout="constrained", squeeze=False
        )
        left, right = axes[0]
        if given is None:
            _draw_excuse(left, excuse, width)
        else:
            _draw(left, given, _fitting(rows, given, 0), _fitting(columns, given, 1), *scale)
        image = _draw(right, wanted, rows, columns, *scale)
        left.set_title("your result")
        right.set_title("expected")
        figure.colorbar(image, ax=[left, right], shrink=0.8)
        figure.suptitle(title)


@contextmanager
def _styled() -> Iterator[None]:
    """Our colours, and afterwards the caller's.

    A notebook's first figure wakes its backend, which turns interactive mode on: unless that stays
    on, no later figure shows.
    """
    with plt.rc_context(_STYLE):
        yield
        interactive = plt.isinteractive()
    matplotlib.interactive(interactive)


def _ask(answer: Callable[[], Any]) -> tuple[np.ndarray | None, str]:
    """The answer's matrix, or None and the reason why there is none to draw."""
    try:
        value = answer()
    except NotImplementedError:
        return None, "not implemented yet"
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
    """A float64 array of two dimensions; raises ValueError that says what the value is instead."""
    if value is None:
        raise ValueError("the result is None: is a `return` missing?")
    if isinstance(value, tuple):
        raise ValueError(f"the result is a tuple of {len(value)}, not one tensor")
    tensor = torch.as_tensor(value).detach().to(device="cpu", dtype=torch.float64)
    if tensor.dim() == 1:
        tensor = tensor[None]  # (1, S)
    if tensor.dim() != 2 or tensor.numel() == 0:
        raise ValueError(f"shape {tuple(tensor.shape)} is no matrix that can be drawn")
    return np.asarray(tensor.tolist(), dtype=np.float64)


def _panel_size(values: np.ndarray) -> tuple[float, float]:
    """Width and height in inches: cells as large as numbers need, within the width of a page."""
    rows, columns = values.shape
    return min(max(0.62 * columns, 1.8), 4.6), min(max(0.46 * rows, 0.6), 4.6)


def _scale(matrices: Sequence[np.ndarray]) -> tuple[Colormap, Normalize]:
    """One scale for all: white to blue if nothing is negative, else blue and red around zero."""
    numbers = np.concatenate([values[np.isfinite(values)] for values in matrices])
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    if low >= 0.0:
        colours, norm = plt.get_cmap("Blues"), Normalize(0.0, high or 1.0)
    else:
        reach = max(-low, high)
        colours, norm = plt.get_cmap("RdBu_r"), TwoSlopeNorm(0.0, -reach, reach)
    return colours.with_extremes(bad=_EMPTY), norm


def _draw(
    axes: Axes,
    values: np.ndarray,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    colours: Colormap,
    norm: Normalize,
) -> AxesImage:
    shown = np.ma.masked_where(~np.isfinite(values), values)
    image = axes.imshow(shown, cmap=colours, norm=norm, aspect="auto", interpolation="nearest")
    _label(axes, values, rows, columns)
    if max(values.shape) <= _LARGEST_WITH_NUMBERS:
        paint = image.to_rgba(shown)  # (rows, columns, 4)
        for (row, column), value in np.ndenumerate(values):
            axes.text(
                column,
                row,
                _number(value),
                color=_ink_on(paint[row, column]),
                fontsize=7.5,
                ha="center",
                va="center",
            )
    return image


def _label(
    axes: Axes, values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str] | None
) -> None:
    _ticks(axes.set_yticks, values.shape[0], rows or _no_label(values), rotation=0)
    _ticks(axes.set_xticks, values.shape[1], columns, rotation=0 if columns is None else 45)
    if columns is not None:
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


def _no_label(values: np.ndarray) -> Sequence[str] | None:
    """A single row needs no number."""
    return [""] if values.shape[0] == 1 else None


def _fitting(labels: Sequence[str] | None, values: np.ndarray, axis: int) -> Sequence[str] | None:
    """The labels, where a result has as many rows or columns as they are."""
    return labels if labels is not None and len(labels) == values.shape[axis] else None


def _draw_excuse(axes: Axes, text: str, width: float) -> None:
    axes.set_facecolor(_PANEL)
    axes.set_xticks([])
    axes.set_yticks([])
    letters = max(int(width / 0.08), 14)  # DejaVu Sans at 9 points: about 0.07 inch a letter
    axes.text(
        0.5,
        0.5,
        textwrap.fill(text, width=letters),
        color=_QUIET,
        style="italic",
        ha="center",
        va="center",
        transform=axes.transAxes,
        parse_math=False,
    )


def _number(value: float) -> str:
    if not np.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e4:
        return str(int(value))
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"


def _ink_on(colour: np.ndarray) -> str:
    """Dark ink on a light cell, white on a dark one."""
    red, green, blue = colour[:3]
    return _INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else _PAPER
