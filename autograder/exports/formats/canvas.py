"""Writes Canvas's gradebook as CSV, with a row for each student and a column for each assignment.

Canvas finds a student by ID, then SIS User ID, then SIS Login ID, and an assignment by its name and
Canvas's number, such as `Causal attention (4711)`. A gradebook that was exported from Canvas
contains these numbers and can be given as the roster. If there is no result for a cell, the cell
keeps its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ...errors import UserError
from ...records import Key, SubmissionResult, SubmissionStatus
from ...results.last import keys_of
from ..class_grades import Grades, Missing
from ..export_tables import Exported, number, same_number, write_csv
from ..roster import POINTS_POSSIBLE, Platform, Roster, Row, match_grades

DEFAULT = "grades.canvas.csv"

_ID_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
_ALL_ID_COLUMNS = (*_ID_COLUMNS, "Integration ID", "Root Account")
_NUMBERED = re.compile(r"(?P<name>.*) \(\d+\)\s*", re.DOTALL)
#: the name of the row that contains the maxima, indented as in Canvas
_POINTS_ROW = f"    {POINTS_POSSIBLE}"

#: the score of each submission; None if the grader failed
Scores = Mapping[Key, float | None]


def write(grades: Grades, path: Path) -> Exported:
    """Writes the table without Canvas's numbers; uses the names in the class as SIS Login IDs."""
    maxima, scores = _points(grades)
    rows: list[Sequence[str]] = [
        (*_ID_COLUMNS, *map(grades.title_of, maxima)),
        (_POINTS_ROW, "", "", "", "", *map(number, maxima.values())),
    ]
    absent = grades.absent if grades.missing is not Missing.KEEP else ()
    for student in (*_students(grades.results), *absent):
        cells = (_cell(grades, scores, student, assignment) for assignment in maxima)
        rows.append((student, "", "", student, "", *cells))
    return Exported(write_csv(rows, path))


def write_with_roster(grades: Grades, path: Path, roster: Roster) -> Exported:
    """Writes the people on the roster with their grades, then the students who are not on it."""
    roster.must_be_of(Platform.CANVAS)
    maxima, scores = _points(grades)
    columns = {name: _column(roster, name, grades.title_of(name)) for name in maxima}
    ids = [c for c in dict.fromkeys(roster.columns) if c in _ALL_ID_COLUMNS]
    matching = match_grades(roster, grades)
    rows: list[Sequence[str]] = [(*ids, *columns.values())]
    points = {"Student": _POINTS_ROW}
    rows.append((*(points.get(c, "") for c in ids), *map(number, maxima.values())))
    for position, person in enumerate(roster.people):
        cells = (
            _cell(grades, scores, matching.name_of(position, name), name, person.get(column, ""))
            for name, column in columns.items()
        )
        rows.append((*(person.get(c, "") for c in ids), *cells))
    for student in matching.left_over:
        own = {"Student": student, "SIS Login ID": student}
        cells = (_cell(grades, scores, student, assignment) for assignment in maxima)
        rows.append((*(own.get(c, "") for c in ids), *cells))
    others = (*_new_columns(roster, columns), *_other_maxima(roster, columns, maxima))
    waits = bool(matching.doubts or others)
    return Exported(write_csv(rows, path), (*matching.notes, *others), waits)


def _students(results: Sequence[SubmissionResult]) -> list[str]:
    return list(dict.fromkeys(student for student, _ in keys_of(results)))


def _points(grades: Grades) -> tuple[dict[str, float], Scores]:
    """Returns the maximum points for each assignment, sorted by name, and all scores."""
    maxima = dict(sorted(grades.maxima.items()))
    scores: dict[Key, float | None] = {}
    for result in grades.results:
        has_failed = result.status is SubmissionStatus.FAILED
        scores[result.key] = None if has_failed else result.score
    return maxima, scores


def _cell(
    grades: Grades, scores: Scores, student: str | None, assignment: str, before: str = ""
) -> str:
    """Returns the score, or the value that was chosen for missing submissions.

    Returns the platform's own value, `before`, if the grader failed or if it is uncertain to whom
    the cell belongs.
    """
    if student is None:
        return before
    key = (student, assignment)
    if key not in scores:
        return grades.missing_cell(student, assignment, before)
    score = scores[key]
    return before if score is None else number(score)


def _column(roster: Roster, assignment: str, title: str) -> str:
    """Returns the name of an assignment's column in Canvas's table, or a name for a new column."""
    ours = {_words(assignment), _words(title)}
    found = [
        column
        for column in dict.fromkeys(roster.columns)
        if (named := _NUMBERED.fullmatch(column)) and _words(named["name"]) in ours
    ]
    if len(found) > 1:
        raise UserError(
            f"{roster.path}: {' and '.join(map(repr, found))} may both be {assignment}: rename one "
            "of them in Canvas and download the gradebook again"
        )
    return found[0] if found else title


def _new_columns(roster: Roster, columns: Mapping[str, str]) -> Iterable[str]:
    """Yields a note about each assignment that is not in Canvas's table; Canvas would create it."""
    there = [column for column in roster.columns if _NUMBERED.fullmatch(column)]
    for name, column in columns.items():
        if column not in roster.columns and there:
            yield (
                f"{roster.path.name} has no assignment {column!r}, so Canvas creates a new one for "
                f"{name}; if Canvas has it under a different name, use the same title "
                "here and there"
            )


def _words(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name.casefold()).strip()


def _other_maxima(
    roster: Roster, columns: Mapping[str, str], maxima: Mapping[str, float]
) -> Iterable[str]:
    row: Row = next(
        (row for row in roster.other if row.get("Student", "").strip() == POINTS_POSSIBLE), {}
    )
    for assignment, column in columns.items():
        theirs = row.get(column, "").strip()
        if theirs and not same_number(theirs, maxima[assignment]):
            yield (
                f"{column}: {theirs} points are possible in Canvas and {number(maxima[assignment])}"
                " here: change the number there; otherwise, the grades mean something different"
            )
