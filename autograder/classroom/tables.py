"""Reads and changes the tables of a class folder: CSV files that people may also edit.

Changes are made under a lock, so that nothing is lost if two teaching assistants grant extensions
at the same time. An apostrophe is written before text that a spreadsheet would execute, and removed
when the table is read.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import fcntl
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..errors import UserError
from ..escaping import for_csv, from_csv
from ..files import replace_file
from ..records import Key

_LOCK = ".tables.lock"
#: the first bytes of zip archives, including files from Excel and LibreOffice
_ZIP = b"PK\x03\x04"

Row = Mapping[str, str]


def read_table(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Returns a table's rows, each keyed by column, or an empty list if the file does not exist.

    Ignores all columns that are not in `columns`. A missing column counts as empty, but if the
    first one is missing, the file is not such a table. Raises `UserError` for such a file, and for
    a file that can't be read.
    """
    if not path.exists():
        return []
    found, rows = read_own_csv(path, columns)
    missing = [column for column in columns[:1] if column not in found]
    if missing:
        raise UserError(
            f"{path}: expected the columns {', '.join(columns)}; got: {', '.join(found) or 'none'}"
        )
    return [{c: from_csv(row.get(c, "")) for c in columns} for row in rows]


def read_csv(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Returns a CSV file's columns and rows; accepts every separator that platforms use.

    Empty rows are ignored; if a column appears twice, its first occurrence counts. Raises
    `UserError` for a file that can't be read.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist; expected a CSV file")
    try:
        data = path.read_bytes()
        if data.startswith(_ZIP):
            raise UserError(
                f"{path} is a spreadsheet or an archive; expected a CSV file\n"
                "  fix: open it in a spreadsheet program and save it as 'CSV UTF-8'"
            )
        text = _decoded(data)
        first = text.partition("\n")[0]
        separator = max(",;\t", key=first.count)
        table = list(_cells(text, separator))
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not valid UTF-8 (byte {error.start})\n"
            "  fix: open it in a spreadsheet program and save it as 'CSV UTF-8'"
        ) from error
    except (OSError, csv.Error) as error:
        raise UserError(f"{path}: can't be read as a CSV file: {error}") from error
    columns = tuple(cell.strip() for cell in table[0]) if table else ()
    rows = [_row(columns, cells) for cells in table[1:] if any(cell.strip() for cell in cells)]
    return columns, rows


def read_own_csv(
    path: Path, columns: Sequence[str]
) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Reads a table as `read_csv` does, but ignores case in headings, because people type them."""
    theirs, rows = read_csv(path)
    ours = {column.casefold(): column for column in reversed(columns)}
    names = {heading: ours.get(heading.casefold(), heading) for heading in theirs}
    renamed = [{names[heading]: cell for heading, cell in row.items()} for row in rows]
    return tuple(names[heading] for heading in theirs), renamed


def _cells(text: str, separator: str) -> Iterator[list[str]]:
    """Yields the rows; raises `csv.Error` if a quotation mark is not closed."""
    with contextlib.suppress(csv.Error):
        yield from list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
        return
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    if rows and text.count('"') % 2:
        raise csv.Error(f"a quotation mark in row {len(rows)} or above is not closed")
    yield from rows


def _decoded(data: bytes) -> str:
    """Decodes UTF-8, or UTF-16, which spreadsheets call Unicode text."""
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_utf16 else "utf-8-sig")


def _row(columns: tuple[str, ...], cells: list[str]) -> dict[str, str]:
    filled = [*cells, *[""] * (len(columns) - len(cells))]
    row: dict[str, str] = {}
    for column, cell in zip(columns, filled, strict=False):
        row.setdefault(column, cell)
    return row


def change_table(
    path: Path,
    columns: Sequence[str],
    change: Callable[[list[dict[str, str]]], Iterable[Row]],
) -> Path:
    """Reads a table, changes its rows and writes it, under a lock.

    Raises `UserError` if the table can't be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.parent / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror or error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = change(read_table(path, columns))
        return write_table(path, columns, rows)
    finally:
        os.close(lock)  # this also releases the lock


def change_rows(
    path: Path, columns: Sequence[str], new: Mapping[Key, Row], gone: Iterable[Key] = ()
) -> None:
    """Replaces or adds the rows `new`, and removes the rows `gone`, in a table of submissions.

    Such a table has one row per submission; its first two columns are the student and the
    assignment. Raises `UserError` as `change_table` does.
    """
    without = set(gone)

    def change(rows: list[dict[str, str]]) -> list[Row]:
        kept: dict[Key, Row] = {(row[columns[0]], row[columns[1]]): row for row in rows}
        kept |= new
        return [kept[key] for key in sorted(kept) if key not in without]

    if new or without:
        change_table(path, columns, change)


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> Path:
    """Writes a table in one step; escapes formulas, so that no spreadsheet executes them."""
    cells = ([row.get(column, "") for column in columns] for row in rows)
    return replace_file(path, for_csv([columns, *cells], "\n"))
