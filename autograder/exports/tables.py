"""What export formats share: tables as CSV, numbers, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..escaping import Value, for_csv
from ..files import replace_file


@dataclass(frozen=True, slots=True)
class Exported:
    """The file or folder that was written, and what its reader should know."""

    path: Path
    notes: tuple[str, ...] = ()


def write_csv(rows: Iterable[Sequence[Value]], path: Path, *, has_mark: bool = False) -> Path:
    """Writes a table as CSV; raises `UserError` where the file can't be written.

    `has_mark` begins it with the mark by which Excel on Windows knows UTF-8.
    """
    return replace_file(path, "\ufeff" * has_mark + for_csv(rows))


def number(points: float) -> str:
    """Points as a learning platform reads them: with a point, and no more digits than needed."""
    return f"{points:.4f}".rstrip("0").rstrip(".")


def same_number(text: str, value: float) -> bool:
    """Whether a platform's text, with a point or a comma, is this number."""
    try:
        return abs(float(text.replace(",", ".")) - value) < 1e-6
    except ValueError:
        return False
