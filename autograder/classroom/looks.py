"""What of the results somebody has looked at: `looked.csv` of the class folder.

A results file only grows, so a look is a number: of each assignment, how many of its lines were
there. What is new since then is what `autograder changes` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from ..errors import UserError
from .tables import change_table, read_table

LOOKED_FILE = "looked.csv"


@dataclass(frozen=True, slots=True)
class Look:
    """At that many lines of an assignment, and when (UTC)."""

    assignment: str
    lines: str
    looked_at: str


_COLUMNS = tuple(field.name for field in fields(Look))


def read_looks(class_folder: Path) -> Mapping[str, tuple[int, ...]]:
    """The numbers of lines that were looked at, by assignment; raises `UserError`."""
    path = class_folder / LOOKED_FILE
    found: dict[str, list[int]] = {}
    for row in read_table(path, _COLUMNS):
        try:
            found.setdefault(row["assignment"], []).append(int(row["lines"]))
        except ValueError as error:
            raise UserError(f"{path}: {row['lines']!r} is no number of lines") from error
    return {assignment: tuple(sorted(set(lines))) for assignment, lines in found.items()}


def keep_looks(class_folder: Path, lines: Mapping[str, int]) -> None:
    """Keeps that all lines of these assignments were looked at; the same look is kept once."""
    known = read_looks(class_folder)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    new = [
        Look(assignment, str(number), now)
        for assignment, number in lines.items()
        if number not in known.get(assignment, ())
    ]
    if new:
        change_table(class_folder / LOOKED_FILE, _COLUMNS, lambda rows: _with(rows, new))


def _with(rows: list[dict[str, str]], new: Iterable[Look]) -> list[dict[str, str]]:
    return [*rows, *map(asdict, new)]
