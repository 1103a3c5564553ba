"""Diagrams: one query over the words as arrows, and two vectors with the angle between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch

from .drawing import INK, styled, wrapped

_BLUE, _ORANGE = "#4c78a8", "#d9822b"
_WIDTH = 4.3
_THICKEST = 9.0


def attention_arrows(weights: Any, words: Sequence[str], query: int, title: str = "") -> None:
    """Draws which words a query looks at: an arrow to each, as wide as its weight.

    Args:
        weights: (S,), one per word, not negative. Or an answer, called without arguments.
        words: the S words.
        query: the index of the word that asks.
        title: stands above the picture.
    """
    found = _called(weights)
    with styled():
        figure, axes = plt.subplots(figsize=(_WIDTH, 2.2), layout="constrained")
        axes.set(xlim=(-0.6, len(words) - 0.4), ylim=(-0.5, 1.55))
        axes.axis("off")
        figure.suptitle(wrapped(title or f'where "{words[query]}" looks', _WIDTH), color=INK)
        axes.text(query, 1.25, words[query], ha="center", color=_ORANGE, weight="bold")
        for place, word in enumerate(words):
            axes.text(place, -0.25, word, ha="center", color=INK, fontsize=8)
            if found is not None:
                weight = found[place]
                axes.plot([query, place], [1.15, 0.12], color=_BLUE, lw=_THICKEST * weight)
                axes.text(place, -0.45, f"{weight:.2f}", ha="center", color=INK, fontsize=8)
        if found is None:
            axes.text(len(words) / 2 - 0.5, 0.6, "not implemented yet", ha="center", style="italic")


def dot_product(first: Any, second: Any, title: str = "") -> None:
    """Draws two vectors of the plane, their angle and their dot product.

    Args:
        first: two numbers.
        second: two numbers.
        title: stands above the picture.
    """
    one, two = ([float(x) for x in torch.as_tensor(v).flatten()[:2]] for v in (first, second))
    dot = one[0] * two[0] + one[1] * two[1]
    lengths = math.hypot(*one) * math.hypot(*two)
    angle = math.degrees(math.acos(max(-1.0, min(1.0, dot / lengths)))) if lengths else 90.0
    with styled():
        figure, axes = plt.subplots(figsize=(2.6, 2.4), layout="constrained")
        for vector, colour in ((one, _BLUE), (two, _ORANGE)):
            arrow = {"arrowstyle": "->", "color": colour, "lw": 2.0}
            axes.annotate("", (vector[0], vector[1]), (0, 0), arrowprops=arrow)
            axes.text(vector[0], vector[1], _pair(vector), color=colour, fontsize=8)
        reach = 1.25 * max(1.0, *map(abs, [*one, *two]))
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        axes.axhline(0, color=INK, lw=0.5)
        axes.axvline(0, color=INK, lw=0.5)
        axes.axis("off")
        said = f"angle {angle:.0f} degrees, dot product {dot:g}"
        axes.text(0.5, -0.06, said, ha="center", transform=axes.transAxes, color=INK)
        figure.suptitle(wrapped(title, 2.6), color=INK)


def _called(weights: Any) -> list[float] | None:
    """The numbers, or None where an answer gives none."""
    try:
        value = weights() if callable(weights) else weights
        return [float(item) for item in torch.as_tensor(value).detach().flatten()]
    except Exception:  # an answer that is not there yet: its check says why
        return None


def _pair(vector: Sequence[float]) -> str:
    return f"({vector[0]:g}, {vector[1]:g})"
