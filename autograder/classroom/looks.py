"""Stores which results an instructor has viewed, in `looked.csv` in the class folder.

Every run of `autograder changes` counts as a view of the results. The file stores how many lines of
results each assignment had at that time, which is enough because a results file only grows. The
next run reports the changes since then or, if there are none, the same changes again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from ..errors import UserError
from .tables import change_table, read_table

LOOKED_FILE = "looked.csv"


@dataclass(frozen=True, slots=True)
class ReviewMark:
    """One look at an assignment's results: how many lines the results had, and the time in UTC."""

    assignment: str
    lines: int
    looked_at: str


class ReviewMarks:
    """Every time someone viewed a class's results, in chronological order."""

    def __init__(self, looks: Iterable[ReviewMark]) -> None:
        self._looks = tuple(looks)

    def numbers(self, assignment: str) -> frozenset[int]:
        """Returns how many lines an assignment's results had each time they were viewed."""
        return frozenset(look.lines for look in self._looks if look.assignment == assignment)

    def before(self, lines: Mapping[str, int]) -> dict[str, int]:
        """Returns how many lines of each assignment's results were viewed before new lines arrived.

        If all lines have been viewed, ignores the last view, so that viewing the results again
        shows the same changes as before.
        """
        own = [look for look in self._looks if look.lines <= lines.get(look.assignment, 0)]
        if all(number in self.numbers(name) for name, number in lines.items()):
            last = max((look.looked_at for look in own), default="")
            own = [look for look in own if look.looked_at < last]
        found = dict.fromkeys(lines, 0)
        for look in own:
            found[look.assignment] = max(found[look.assignment], look.lines)
        return found


_COLUMNS = tuple(field.name for field in fields(ReviewMark))


def read_review_marks(class_folder: Path) -> ReviewMarks:
    """Returns every view of a class's results; raises `UserError` for a malformed table."""
    path = class_folder / LOOKED_FILE
    return ReviewMarks(_look(row, path) for row in read_table(path, _COLUMNS))


def _look(row: Mapping[str, str], path: Path) -> ReviewMark:
    try:
        return ReviewMark(row["assignment"], int(row["lines"]), row["looked_at"])
    except ValueError as error:
        raise UserError(
            f"{path}: {row['lines']!r} is not a number of lines; correct it, or delete the row"
        ) from error


def write_review_marks(class_folder: Path, lines: Mapping[str, int]) -> None:
    """Stores how many lines of each assignment were viewed, unless this is already stored."""
    known = read_review_marks(class_folder)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    new = [
        {"assignment": assignment, "lines": str(number), "looked_at": now}
        for assignment, number in lines.items()
        if number not in known.numbers(assignment)
    ]
    if new:
        change_table(class_folder / LOOKED_FILE, _COLUMNS, lambda rows: [*rows, *new])
