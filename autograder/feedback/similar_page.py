"""The page of similar submissions: both side by side, with common lines marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..files import replace_file
from .rendering import render
from .similar import Pair, Side


def write_similar(pairs: Sequence[Pair], path: Path) -> Path:
    """Writes the page; raises `UserError` if that is not possible."""
    return replace_file(path, render("similar.html.jinja", pairs=pairs, lines=_lines))


def _lines(side: Side) -> list[tuple[int, str, bool]]:
    """Returns the number and the text of each line, and whether the other half has it, too."""
    return [
        (number, text, number in side.common)
        for number, text in enumerate(side.code.split("\n"), start=1)
    ]
