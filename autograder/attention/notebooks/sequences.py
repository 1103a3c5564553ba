"""Draws sequences: turning angles, a growing cache, and blocks that are processed one by one."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle

from .drawing import INK, QUIET, styled

_NEW, _KEPT, _BLANK = "#e8a33d", "#9fb8d6", "#f1f1ee"
_HAND = "#4c78a8"
_CELL = 0.34  # the size of a cell in inches
_MOST_COLUMNS = 10  # the most columns that fit on a phone
_SHADES = ("#c6d7ea", "#9fb8d6", "#7096c4", "#4c78a8", "#345a86")


def dials(speeds: Sequence[float], num_positions: int, title: str = "") -> None:
    """Draw dials with turning hands: a row for each pair of entries, a column for each position.

    Args:
        speeds: (d/2,), the angle in radians by which each hand turns from one position to the next;
            all hands first point to the right, and turn counterclockwise.
        num_positions: the number of positions; the first one is 0.
        title: the text above the picture.

    Raises:
        ValueError: there is no pair, or there are more than 10 positions.
    """
    if not speeds or not 1 <= num_positions <= _MOST_COLUMNS:
        raise ValueError(f"dials need at least one speed, and 1 to {_MOST_COLUMNS} positions")
    num_pairs = len(speeds)
    with styled():
        size = (_CELL * num_positions + 0.75, _CELL * num_pairs + 0.75)
        _, axes = plt.subplots(figsize=size, layout="constrained")
        for position in range(num_positions):
            for pair, speed in enumerate(speeds):
                angle = position * speed
                axes.add_patch(Circle((position, -pair), 0.4, fc=_BLANK, ec=QUIET, lw=0.6))
                tip = (position + 0.36 * np.cos(angle), -pair + 0.36 * np.sin(angle))
                axes.plot([position, tip[0]], [-pair, tip[1]], color=_HAND, lw=2.0)
        labels = [f"pair {pair}" for pair in range(num_pairs)]
        axes.set_yticks([-pair for pair in range(num_pairs)], labels)
        axes.set_xticks(range(num_positions))
        axes.set(xlim=(-0.6, num_positions - 0.4), ylim=(-num_pairs + 0.4, 0.6), xlabel="position")
        _finish(axes, title)


def cache_growth(prompt: int, steps: int, cached: bool, title: str = "") -> None:
    """Draw the keys and values that each step of text generation computes, and those that it keeps.

    Args:
        prompt: the number of given tokens, all processed in the first call.
        steps: the number of tokens that are generated after the prompt, one in each call.
        cached: whether earlier keys and values are kept instead of being computed again.
        title: the text above the picture.

    Raises:
        ValueError: the prompt has no token, or there are more than 10 tokens altogether.
    """
    total = prompt + steps
    if not 1 <= prompt <= total <= _MOST_COLUMNS:
        raise ValueError(
            f"the prompt needs a token, and at most {_MOST_COLUMNS} tokens can be drawn"
        )
    with styled():
        size = (_CELL * (total + 4), _CELL * (steps + 1) + 0.7)
        _, axes = plt.subplots(figsize=size, layout="constrained")
        for call in range(steps + 1):
            length = prompt + call
            kept = length - 1 if cached and call else 0
            for place in range(length):
                _square(axes, place, call, _KEPT if place < kept else _NEW)
            axes.text(total + 0.3, 0.46 - call, f"{length - kept} new", va="center", color=INK)
        axes.set_yticks([0.46 - call for call in range(steps + 1)], _calls(steps + 1))
        axes.set_xticks([place + 0.46 for place in range(total)], map(str, range(total)))
        axes.set(xlim=(-0.1, total + 3), ylim=(-steps - 0.1, 1.0), xlabel="token")
        _finish(axes, title)


def blocks_in_turn(num_queries: int, num_keys: int, block_size: int, title: str = "") -> None:
    """Draw a table of scores that is cut into blocks of keys, processed one after another.

    Args:
        num_queries: T, the number of rows.
        num_keys: S, the number of columns, at most 10.
        block_size: the number of keys in a block; the last block may have fewer.
        title: the text above the picture.

    Raises:
        ValueError: there are more than 10 keys, or no block.
    """
    if not 1 <= num_keys <= _MOST_COLUMNS or block_size < 1:
        raise ValueError(f"only 1 to {_MOST_COLUMNS} keys, in blocks of at least 1, can be drawn")
    with styled():
        size = (_CELL * (num_keys + 4), _CELL * (num_queries + 1) + 0.8)
        _, axes = plt.subplots(figsize=size, layout="constrained")
        for start in range(0, num_keys, block_size):
            number, end = start // block_size, min(start + block_size, num_keys)
            for key in range(start, end):
                for query in range(num_queries):
                    _square(axes, key, query, _SHADES[number % len(_SHADES)])
            axes.text((start + end) / 2, 1.25, f"block {number}", ha="center", color=INK)
        axes.set_yticks(
            [0.46 - query for query in range(num_queries)], map(str, range(num_queries))
        )
        axes.set_xticks([key + 0.46 for key in range(num_keys)], map(str, range(num_keys)))
        axes.set(xlim=(-0.1, num_keys), ylim=(1 - num_queries - 0.1, 1.8), xlabel="key")
        axes.set_ylabel("query")
        _finish(axes, title)


def _calls(count: int) -> list[str]:
    return ["prompt", *(f"step {number}" for number in range(1, count))]


def _square(axes: Axes, column: int, row: int, color: str) -> None:
    axes.add_patch(Rectangle((column, -row), 0.92, 0.92, facecolor=color))


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
