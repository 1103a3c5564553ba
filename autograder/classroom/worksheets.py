"""Recognizes the columns in Moodle's grading worksheet, in any language, by their contents.

Moodle translates the headings, and imports only worksheets with headings in its current language.
The order of the columns and the format of the cells are the same in all languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .tables import Row

_PARTICIPANT = re.compile(r"(\D+?)\s?\d+")
_GRADE = re.compile(r"-?\d+(?:[.,]\d+)?")
_TIME = re.compile(r"\d{1,2}[:.]\d\d")
_NONE = ("", "-")


def in_english(
    columns: tuple[str, ...], rows: list[dict[str, str]]
) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Returns a table unchanged, or with English headings if it is a worksheet."""
    english = english_headings(columns, rows)
    translated = tuple(english.get(column, column) for column in columns)
    return translated, [{english.get(c, c): cell for c, cell in row.items()} for row in rows]


def english_headings(columns: Sequence[str], rows: Sequence[Row]) -> dict[str, str]:
    """Maps headings to their English equivalents; returns {} if the table is not a worksheet.

    The first two columns contain a word with a number (`Participant 17`) and the person's name. The
    column with the maximum, which is the same for everybody, is between the column with the grade
    and one that says whether the grade can be changed. The last column contains the feedback
    comments; it follows the column with the time of the grade.
    """
    if len(columns) < 6 or not rows or not _are_participants(columns[0], rows):
        return {}
    maximum = next((n for n in range(3, len(columns) - 2) if _is_maximum(columns, n, rows)), None)
    if maximum is None:
        return {}
    found = {
        columns[0]: "Identifier",
        columns[1]: "Full name",
        columns[maximum - 1]: "Grade",
        columns[maximum]: "Maximum Grade",
        columns[maximum + 1]: "Grade can be changed",
        columns[maximum + 2]: "Last modified (submission)",
    }
    for column in columns[2 : maximum - 1]:
        if all("@" in row.get(column, "") for row in rows):
            found[column] = "Email address"
    if not _are_times(columns[-1], rows):
        found[columns[-1]] = "Feedback comments"
    # if the table already has a column with this name, keep that column, wherever it is
    return {column: name for column, name in found.items() if name == column or name not in columns}


def _are_participants(column: str, rows: Sequence[Row]) -> bool:
    matches = [_PARTICIPANT.fullmatch(row.get(column, "").strip()) for row in rows]
    return all(matches) and len({match[1] for match in matches if match}) == 1


def _is_maximum(columns: Sequence[str], number: int, rows: Sequence[Row]) -> bool:
    cells = {row.get(columns[number], "").strip() for row in rows}
    grades = {row.get(columns[number - 1], "").strip() for row in rows}
    return (
        len(cells) == 1
        and all(map(_GRADE.fullmatch, cells))
        and all(grade in _NONE or _GRADE.fullmatch(grade) for grade in grades)
    )


def _are_times(column: str, rows: Sequence[Row]) -> bool:
    """Returns whether every cell in a column is a time, or `-`, which means that there is none."""
    cells = [row.get(column, "").strip() for row in rows]
    return all(text == "-" or _TIME.search(text) for text in cells)
