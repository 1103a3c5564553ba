"""Stores an instructor's decisions about submissions: extensions and withdrawals, with reasons.

The tables are `extensions.csv` and `withdrawals.csv` in the class folder. The last row for a
submission counts; earlier rows are kept as its history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..deadlines import duration_text, parse_duration
from ..errors import UserError
from ..records import Key
from ..submission.class_files import EXTENSIONS_FILE, WITHDRAWALS_FILE
from .tables import change_table, read_table

WITHDRAWN, BACK = "withdrawn", "back"
#: this is written instead of an assignment's name, and means all assignments, now and later
EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Decision:
    """A row in a table: a decision about a submission, its reason, and its time (UTC)."""

    student: str
    assignment: str
    decision: str
    why: str
    decided_at: str

    @property
    def key(self) -> Key:
        return self.student, self.assignment


_COLUMNS = tuple(field.name for field in fields(Decision))


def grant_extension(class_folder: Path, key: Key, duration: timedelta, why: str) -> Decision:
    """Stores an extension, which replaces any earlier one; a duration of zero removes it."""
    return _decide(class_folder / EXTENSIONS_FILE, key, duration_text(duration), why)


def read_extensions(class_folder: Path) -> Mapping[Key, timedelta]:
    """Returns the extension for each submission that has ever had one; a removed extension is zero.

    Raises `UserError` for a row that can't be read.
    """
    path = class_folder / EXTENSIONS_FILE
    try:
        return {row.key: parse_duration(row.decision) for row in _latest(path)}
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error


def withdraw(class_folder: Path, key: Key, why: str, *, is_back: bool = False) -> Decision:
    """Withdraws a submission, or reverses its withdrawal; keeps all files and results."""
    return _decide(class_folder / WITHDRAWALS_FILE, key, BACK if is_back else WITHDRAWN, why)


class Withdrawals:
    """The submissions that do not count, including all submissions of students who have left."""

    def __init__(self, rows: Iterable[Decision] = ()) -> None:
        self._rows = {row.key: (number, row) for number, row in enumerate(rows)}

    def __contains__(self, key: Key) -> bool:
        return bool(self.why(key))

    def why(self, key: Key) -> str:
        """Returns why the last decision withdraws a submission, or "" if the submission counts."""
        rows = (self._rows.get(key), self._rows.get((key[0], EVERYTHING)))
        _, last = max((row for row in rows if row), default=(0, None), key=lambda row: row[0])
        return last.why if last and last.decision != BACK else ""

    def has_left(self, student: str) -> bool:
        """Returns whether all of a student's work is withdrawn."""
        return (student, EVERYTHING) in self


def read_withdrawals(class_folder: Path) -> Withdrawals:
    """Returns the withdrawn submissions; raises `UserError` for a malformed table."""
    return Withdrawals(_rows(class_folder / WITHDRAWALS_FILE))


def _latest(path: Path) -> Iterable[Decision]:
    return {row.key: row for row in _rows(path)}.values()


def _rows(path: Path) -> list[Decision]:
    return [Decision(**row) for row in read_table(path, _COLUMNS)]


def _decide(path: Path, key: Key, decision: str, why: str) -> Decision:
    reason = " ".join(why.split())
    if not reason:
        raise UserError("give a reason (--why TEXT): people who look at the grades later will ask")
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    made = Decision(*key, decision, reason, now)
    change_table(path, _COLUMNS, lambda rows: [*rows, asdict(made)])
    return made
