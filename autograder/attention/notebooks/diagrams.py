"""Draws diagrams for the notebooks, such as groups of heads, shapes, and residual paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from .drawing import BOX_INK, INK, QUIET, styled, wrapped

_GROUPS = ("#4c78a8", "#e8a33d", "#59a14f", "#b279a2", "#9c755f", "#e45756", "#72b7b2", "#bab0ac")
_SUBLAYER, _NORM, _ARROW = "#dfe8f2", "#f6e7db", "#4c78a8"
_STEP = 0.62  # the distance between a block's boxes, in inches
_DASHES = ("-", "-", "--", ":")
_MOST_AT_ENDS = 2  # more names at the ends of lines would overlap
_NARROW = 3.5  # inches; a phone hardly shrinks letters in a picture of this width


def head_groups(num_heads: int, num_kv_heads: int, title: str = "") -> None:
    """Draw query heads above the key and value heads that they read.

    Args:
        num_heads: H, the number of query heads; with more than 16, the picture is hard to read.
        num_kv_heads: G, the number of key and value heads.
        title: the text above the picture.

    Raises:
        ValueError: H is not a multiple of G.
    """
    readers, left = divmod(num_heads, num_kv_heads)
    if left:
        raise ValueError(
            f"{num_heads} query heads cannot be divided evenly among {num_kv_heads} key-value heads"
        )
    with styled():
        figure, axes = plt.subplots(figsize=(_NARROW, 1.55), layout="constrained")
        for place in range(num_kv_heads):
            first, middle = place * readers, (place + 0.5) * readers
            color = _GROUPS[place % len(_GROUPS)]
            for reader in range(first, first + readers):
                axes.plot([reader + 0.5, middle], [0.72, 0.3], color=color, zorder=0)
                _head(axes, reader + 0.5, 0.82, f"q{reader}", color)
            _head(axes, middle, 0.2, f"k{place} v{place}", color)
        axes.set(xlim=(0, num_heads), ylim=(0.0, 1.0))
        axes.axis("off")
        if title:
            figure.suptitle(wrapped(title, _NARROW), color=INK)


def _head(axes: Axes, across: float, height: float, text: str, color: str) -> None:
    box = {"boxstyle": "round,pad=0.2", "facecolor": _pale(color), "edgecolor": color}
    axes.text(across, height, text, ha="center", va="center", fontsize=8.0, color=BOX_INK, bbox=box)


def _pale(color: str) -> tuple[float, float, float]:
    """Return a shade of the color that is light enough for dark letters."""
    red, green, blue = to_rgb(color)
    return (0.35 * red + 0.65, 0.35 * green + 0.65, 0.35 * blue + 0.65)


def residual_roads(steps: Sequence[str], roads: Sequence[tuple[int, int]], title: str = "") -> None:
    """Draw the steps of a block from bottom to top, and the paths that skip some of them.

    Args:
        steps: the names of the steps, from input to output; "+" is an addition, and a name that
            begins with "norm" gets the color of norms.
        roads: pairs of positions in `steps`: the value after the first step is added at the second.
        title: the text above the picture.
    """
    with styled():
        figure, axes = plt.subplots(figsize=(3.6, _STEP * len(steps)), layout="constrained")
        last = len(steps) - 1
        axes.plot([0.5, 0.5], [0.3, last - 0.3], color=QUIET, zorder=0)
        for place, name in enumerate(steps):
            _box(axes, place, name, framed=0 < place < last)
        for start, end in roads:
            out = start + 0.42
            axes.plot([0.5, 1.05, 1.05, 0.6], [out, out, end, end], color=_ARROW)
            axes.annotate(
                "", (0.54, end), (0.7, end), arrowprops={"arrowstyle": "->", "color": _ARROW}
            )
        axes.set(xlim=(0, 1.25), ylim=(-0.5, last + 0.5))
        axes.axis("off")
        if title:
            figure.suptitle(wrapped(title, 3.6), color=INK)


def _box(axes: Axes, place: int, name: str, *, framed: bool) -> None:
    color = _NORM if name.startswith("norm") else _SUBLAYER
    shape = "circle,pad=0.2" if name == "+" else "round,pad=0.45"
    frame = {"boxstyle": shape, "facecolor": color, "edgecolor": _ARROW}
    if framed:
        axes.text(0.5, place, name, ha="center", va="center", color=BOX_INK, bbox=frame)
    else:
        axes.text(0.5, place, name, ha="center", va="center", color=INK)


def one_query(words: Sequence[str], query: int, weights: Sequence[float], title: str = "") -> None:
    """Draw how a query is compared with all keys, and how its weights then mix the values.

    Args:
        words: the T words.
        query: the index of the query's word.
        weights: (T,), the query's weight for each word.
        title: the text above the picture.
    """
    last = len(words) - 1
    middle = last / 2
    with styled():
        figure, axes = plt.subplots(figsize=(4.4, 0.46 * len(words) + 0.9), layout="constrained")
        for place, (word, weight) in enumerate(zip(words, weights, strict=True)):
            height = last - place
            axes.plot([0.62, 1.3], [middle, height], color=_GROUPS[1], zorder=0)
            width = 1.0 + 9.0 * weight
            axes.plot([2.95, 3.75], [height, middle], color=_GROUPS[2], lw=width, zorder=0)
            axes.text(2.1, height + 0.3, word, ha="center", fontsize=8.0, color=QUIET)
            _head(axes, 1.5, height, f"k{place}", _GROUPS[0])
            axes.text(2.1, height - 0.12, f"{weight:.2f}", ha="center", color=INK)
            _head(axes, 2.75, height, f"v{place}", _GROUPS[2])
        _head(axes, 0.4, middle, f"q{query}", _GROUPS[1])
        _head(axes, 4.0, middle, f"z{query}", _GROUPS[2])
        axes.text(0.4, middle + 0.5, words[query], ha="center", color=INK)
        axes.text(4.0, middle + 0.5, "context", ha="center", color=INK)
        for across, name in ((1.5, "keys"), (2.1, "weights"), (2.75, "values")):
            axes.text(across, last + 0.75, name, ha="center", color=QUIET)
        axes.set(xlim=(0.0, 4.4), ylim=(-0.5, last + 1.1))
        axes.axis("off")
        if title:
            figure.suptitle(wrapped(title, 4.4), color=INK)


def curves(
    lines: Mapping[str, Sequence[float]],
    across: str,
    up: str,
    title: str = "",
    step: float = 1.0,
    start: float | None = None,
) -> None:
    """Draw lines, with their names at the ends of the lines or, if there are many, in a legend.

    Args:
        lines: a mapping from the name of each line to its values.
        across: the label of the horizontal axis.
        up: the label of the vertical axis, with the unit.
        title: the text above the picture.
        step: the distance between neighboring values on the horizontal axis.
        start: the horizontal position of the first value; `step` by default.
    """
    first = step if start is None else start
    with styled():
        figure, axes = plt.subplots(figsize=(_NARROW, 2.2), layout="constrained")
        named = len(lines) > _MOST_AT_ENDS
        for number, (name, values) in enumerate(lines.items()):
            places = [first + step * count for count in range(len(values))]
            dashes = _DASHES[number % len(_DASHES)]
            axes.plot(places, values, label=name, color=_GROUPS[number], ls=dashes)
            if not named:
                axes.annotate(name, (places[-1], values[-1]), color=INK, ha="right", va="bottom")
        if named:
            axes.legend(frameon=False, labelcolor=INK)
        axes.margins(y=0.15)  # leave room for the name of the highest line
        axes.set(xlabel=across, ylabel=up)
        if title:
            figure.suptitle(title, color=INK)


def colored(
    table: Sequence[Sequence[float]], heads: Sequence[Sequence[int]], title: str = ""
) -> None:
    """Draw a table of numbers, each cell in the color of its head.

    Args:
        table: (T, D), integers.
        heads: (T, D), the index of each number's head, counted from 0.
        title: the text above the picture.
    """
    rows, columns = len(table), len(table[0])
    with styled():
        size = (0.42 * columns + 0.3, 0.42 * rows + 0.45)
        _, axes = plt.subplots(figsize=(max(size[0], 2.0), size[1]), layout="constrained")
        for row, (numbers, owners) in enumerate(zip(table, heads, strict=True)):
            for column, (number, head) in enumerate(zip(numbers, owners, strict=True)):
                color = _pale(_GROUPS[head % len(_GROUPS)])
                axes.add_patch(Rectangle((column, -row), 0.94, 0.94, color=color))
                middle = (column + 0.47, 0.47 - row)
                axes.text(*middle, f"{number}", ha="center", va="center", color=BOX_INK)
        axes.set(xlim=(-0.05, columns), ylim=(-rows + 0.95, 1.0), title=title)
        axes.set_aspect("equal")
        axes.axis("off")


def product(
    left: tuple[str, int, int], right: tuple[str, int, int], result: str, title: str = ""
) -> None:
    """Draw a matrix product as three boxes whose sides have the lengths of the dimensions.

    Args:
        left: the name of the first factor, and its numbers of rows and columns.
        right: the name of the second factor, and its numbers of rows and columns.
        result: the name of the product.
        title: the text above the picture.

    Raises:
        ValueError: the inner sizes differ.
    """
    if left[2] != right[1]:
        raise ValueError(
            f"{left[2]} columns do not match {right[1]} rows: these numbers must be equal"
        )
    grey, blue = "#d0d4d8", _pale(_GROUPS[0])
    boxes = [(left, grey, "@"), (right, blue, "="), ((result, left[1], right[2]), blue, "")]
    with styled():
        _, axes = plt.subplots(figsize=(4.4, 2.3), layout="constrained")
        x = 0.0
        for (name, height, width), color, sign in boxes:
            axes.add_patch(Rectangle((x, -height / 2), width, height, color=color))
            text = f"{name}\n{height} x {width}"
            inside = x + width / 2
            axes.text(inside, 0, text, color=BOX_INK, fontsize=8, ha="center", va="center")
            axes.text(x + width + 0.75, 0, sign, fontsize=14, ha="center", va="center")
            x += width + 1.5
        tallest = max(left[1], right[1]) / 2 + 0.4
        axes.set(xlim=(-0.8, x - 0.7), ylim=(-tallest, tallest), title=title, aspect="equal")
        axes.axis("off")


def lookups(words: Sequence[str], rows: Sequence[int], num_rows: int, title: str = "") -> None:
    """Draw an arrow from each word to the row that the word selects in a table.

    Args:
        words: the T words.
        rows: the index of the row that each word selects.
        num_rows: the number of rows in the table.
        title: the text above the picture.
    """
    with styled():
        _, axes = plt.subplots(figsize=(4.5, 2.6), layout="constrained")
        for column, (word, row) in enumerate(zip(words, rows, strict=True)):
            arrow = {"arrowstyle": "->", "color": _ARROW}
            axes.annotate("", (row, 0.12), (column, 0.88), arrowprops=arrow)
            axes.text(column, 0.98, word, ha="center", fontsize=8.5)
        for row in range(num_rows):
            axes.text(row, 0.0, f"row {row}", ha="center", fontsize=8.5)
        axes.set(xlim=(-0.6, max(num_rows, len(words)) - 0.4), ylim=(-0.1, 1.15), title=title)
        axes.axis("off")


#: the tensors of self-attention with their shapes, and where they are drawn
_STEPS = {
    "x": ("(..., T, d_in)", 1.0, 3),
    "queries": ("(..., T, d_out)", 0.0, 2),
    "keys": ("(..., T, d_out)", 1.0, 2),
    "values": ("(..., T, d_out)", 2.0, 2),
    "weights": ("(..., T, T)", 0.5, 1),
    "context": ("(..., T, d_out)", 1.0, 0),
}
_FLOW = (
    *(("x", "queries"), ("x", "keys"), ("x", "values"), ("queries", "weights")),
    *(("keys", "weights"), ("weights", "context"), ("values", "context")),
)


def shapes_in_attention(title: str = "how shapes flow through self-attention") -> None:
    """Draw the tensors of self-attention and their shapes; arrows show the order of computation."""
    with styled():
        _, axes = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
        for start, end in _FLOW:
            (_, x, y), (_, below, lower) = _STEPS[start], _STEPS[end]
            arrow = {"arrowstyle": "->", "color": QUIET}
            axes.annotate("", (below, lower + 0.28), (x, y - 0.28), arrowprops=arrow)
        for name, (shape, x, y) in _STEPS.items():
            frame = {"boxstyle": "round", "facecolor": _SUBLAYER, "edgecolor": _ARROW}
            text = f"{name}\n{shape}"
            axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=BOX_INK, bbox=frame)
        axes.set(xlim=(-0.5, 2.5), ylim=(-0.4, 3.4), title=title)
        axes.axis("off")
