"""Draws arrows from a query to the words it looks at, and the angle between two vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from .drawing import INK, styled, wrapped

_BLUE, _ORANGE = "#4c78a8", "#d9822b"
#: one color for each head
HEADS = (_BLUE, "#59a14f", "#b279a2", "#9c755f", "#e45756", "#72b7b2", "#e8a33d", "#bab0ac")
_WIDTH = 4.3
_THICKEST, _OPAQUE = 9.0, 0.75
_SEEN = 5e-3  # the smallest weight that gets an arrow; with two decimals, smaller ones are 0.00
_ASIDE = 0.16  # the distance between two heads' arrows; two words are 1 apart


def attention_arrows(weights: Any, words: Sequence[str], query: int, title: str = "") -> None:
    """Draw an arrow from a query to each word that it looks at; larger weights give wider arrows.

    Args:
        weights: (S,), one weight per word, none negative; or (H, S) for H heads, each drawn in its
            own color; or a student's answer, a function that is called without arguments.
        words: the S words.
        query: the index of the query's word.
        title: the text above the picture.
    """
    heads, title = _called(weights), title or f'where "{words[query]}" looks'
    if heads is None:
        no_arrows(words, "not implemented yet", title)
        return
    with styled():
        axes = _stage(words, title)
        axes.text(query, 1.25, words[query], ha="center", color=_ORANGE, weight="bold")
        for number, head in enumerate(heads):
            _looks(axes, head, query, HEADS[number % len(HEADS)], number - (len(heads) - 1) / 2)
        for place in range(len(words)):
            largest = max(head[place] for head in heads)
            axes.text(place, -0.45, f"{largest:.2f}", ha="center", color=INK, fontsize=8)
        if len(heads) > 1:
            _legend(axes, len(heads), len(words), query)


def no_arrows(words: Sequence[str], why: str, title: str = "") -> None:
    """Draw the words, with a note that says why there are no arrows."""
    with styled():
        axes = _stage(words, title)
        middle = len(words) / 2 - 0.5
        axes.text(middle, 0.6, wrapped(why, _WIDTH), ha="center", va="center", style="italic")


def _stage(words: Sequence[str], title: str) -> Axes:
    figure, axes = plt.subplots(figsize=(_WIDTH, 2.2), layout="constrained")
    axes.set(xlim=(-0.6, len(words) - 0.4), ylim=(-0.5, 1.55))
    axes.axis("off")
    figure.suptitle(wrapped(title, _WIDTH), color=INK)
    for place, word in enumerate(words):
        axes.text(place, -0.25, word, ha="center", color=INK, fontsize=8)
    return axes


def _looks(axes: Axes, weights: Sequence[float], query: int, color: str, aside: float) -> None:
    """Draw the arrows of one head, slightly offset from those of the other heads."""
    across = _ASIDE * aside
    for place, weight in enumerate(weights):
        width = _THICKEST * weight
        if weight >= _SEEN:
            arrow = FancyArrowPatch(
                (query + across, 1.15),
                (place + across, 0.06),
                arrowstyle="-|>",
                mutation_scale=6.0 + 1.6 * width,
                color=color,
                lw=width,
                alpha=_OPAQUE,
                joinstyle="miter",
            )
            axes.add_patch(arrow)


def _legend(axes: Axes, heads: int, words: int, query: int) -> None:
    """Draw a legend with the color of each head, on the side without the query."""
    on_the_left = query > words / 2
    across, align = (-0.5, "left") if on_the_left else (words - 0.5, "right")
    for number in range(heads):
        color, height = HEADS[number % len(HEADS)], 1.3 - 0.2 * number
        axes.text(across, height, f"head {number}", ha=align, color=color, fontsize=8)


def dot_product(first: Any, second: Any, title: str = "") -> None:
    """Draw two vectors in the plane, the angle between them, and their dot product.

    Args:
        first: two numbers.
        second: two numbers.
        title: the text above the picture.
    """
    one, two = ([float(x) for x in torch.as_tensor(v).flatten()[:2]] for v in (first, second))
    dot = one[0] * two[0] + one[1] * two[1]
    lengths = math.hypot(*one) * math.hypot(*two)
    angle = math.degrees(math.acos(max(-1.0, min(1.0, dot / lengths)))) if lengths else 90.0
    with styled():
        figure, axes = plt.subplots(figsize=(2.6, 2.4), layout="constrained")
        for vector, color in ((one, _BLUE), (two, _ORANGE)):
            arrow = {"arrowstyle": "->", "color": color, "lw": 2.0}
            axes.annotate("", (vector[0], vector[1]), (0, 0), arrowprops=arrow)
            axes.text(vector[0], vector[1], _pair(vector), color=color, fontsize=8)
        reach = 1.25 * max(1.0, *map(abs, [*one, *two]))
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        axes.axhline(0, color=INK, lw=0.5)
        axes.axvline(0, color=INK, lw=0.5)
        axes.axis("off")
        caption = f"angle {angle:.0f} degrees, dot product {dot:g}"
        axes.text(0.5, -0.06, caption, ha="center", transform=axes.transAxes, color=INK)
        figure.suptitle(wrapped(title, 2.6), color=INK)


def _called(weights: Any) -> list[list[float]] | None:
    """Return each head's weights, or None if an answer is missing or fails."""
    try:
        value = torch.as_tensor(weights() if callable(weights) else weights).detach()
        heads: list[list[float]] = value.reshape(-1, value.shape[-1]).tolist()
    except Exception:  # the answer is missing or fails; its check says why
        return None
    return heads


def _pair(vector: Sequence[float]) -> str:
    return f"({vector[0]:g}, {vector[1]:g})"
