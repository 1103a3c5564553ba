"""Writes CSV tables and formats numbers for export formats, and defines the record of an export."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..escaping import Value, for_csv
from ..files import replace_file


@dataclass(frozen=True, slots=True)
class Exported:
    """The file or folder that was written, and notes for the instructor.

    `waits` is true if a person must do something before all grades reach the platform.
    """

    path: Path
    notes: tuple[str, ...] = ()
    waits: bool = False


def write_csv(rows: Iterable[Sequence[Value]], path: Path, *, has_mark: bool = False) -> Path:
    """Writes a table as CSV; raises `UserError` if the file can't be written.

    `has_mark` adds the byte order mark that lets Excel on Windows recognize UTF-8.
    """
    return replace_file(path, "\ufeff" * has_mark + for_csv(rows))


def number(points: float) -> str:
    """Formats points for a learning platform, with a decimal point and without trailing zeros."""
    return f"{points:.4f}".rstrip("0").rstrip(".")


def same_number(text: str, value: float) -> bool:
    """Returns whether a string, written with a decimal point or comma, represents this number."""
    try:
        return abs(float(text.replace(",", ".")) - value) < 1e-6
    except ValueError:
        return False
