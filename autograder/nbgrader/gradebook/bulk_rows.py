"""Writes many submissions into nbgrader's tables at once, with a few statements for each batch.

nbgrader's own functions take 36-59 ms for one submission, because every call queries and commits
again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, select

from ...classroom import SubmissionTime
from .database import Row, insert_rows, table, update_rows
from .lateness import Penalty, seconds_late
from .structure import AssignmentRows, NotebookRows, new_id

_TIMES = ("timestamp", "extension")


@dataclass(frozen=True, slots=True)
class Entry:
    """One submission's data for the gradebook, with (notebook, cell) as keys.

    `allowance` is the extension of the due date; None keeps the extension that the gradebook
    contains.
    """

    student: str
    assignment: str
    arrival: SubmissionTime
    scores: Mapping[tuple[str, str], float]
    comments: Mapping[tuple[str, str], str | None]
    to_look_at: frozenset[tuple[str, str]] = frozenset()
    allowance: timedelta | None = None


@dataclass(frozen=True, slots=True)
class _NotebookEntry:
    """One notebook in one submission: its row in the database, and the ids of its cells."""

    entry: Entry
    name: str
    cells: NotebookRows
    row: Row


def write_entries(
    connection: Connection,
    structures: Mapping[str, AssignmentRows],
    entries: Sequence[Entry],
    penalty: Penalty,
) -> None:
    """Writes the entries; keeps manual scores and comments, and extensions that aren't replaced."""
    _add_students(connection, {entry.student for entry in entries})
    submissions = _submissions(connection, structures, entries)
    late = {
        (entry.student, entry.assignment): _seconds_late(
            entry, structures[entry.assignment], submission
        )
        for entry, submission in zip(entries, submissions, strict=True)
    }
    sheets = _sheets(connection, structures, entries, submissions)
    worth = _write_grades(connection, sheets)
    _write_comments(connection, sheets)
    changed: list[Row] = []
    for sheet in sheets:
        seconds = late[sheet.entry.student, sheet.entry.assignment]
        score = worth[sheet.row["id"]]
        points = penalty(sheet.entry.student, score, seconds) if seconds > 0 else None
        if sheet.row["late_submission_penalty"] != points:
            changed.append({"id": sheet.row["id"], "late_submission_penalty": points})
    update_rows(connection, "submitted_notebook", ("late_submission_penalty",), changed)


def _add_students(connection: Connection, names: set[str]) -> None:
    rows = table("student")
    known = connection.execute(select(rows.c.id).where(rows.c.id.in_(names))).scalars()
    missing = sorted(names - set(known))
    insert_rows(connection, "student", [{"id": name} for name in missing])


def _submissions(
    connection: Connection, structures: Mapping[str, AssignmentRows], entries: Sequence[Entry]
) -> list[Row]:
    """Returns the row of each entry's submission, in the order of the entries."""
    rows = table("submitted_assignment")
    assignments = {structures[entry.assignment].id for entry in entries}
    students = {entry.student for entry in entries}
    query = select(rows).where(
        rows.c.assignment_id.in_(assignments), rows.c.student_id.in_(students)
    )
    found = connection.execute(query).mappings()
    known = {(row["assignment_id"], row["student_id"]): dict(row) for row in found}
    new: list[Row] = []
    changed: list[Row] = []
    result: list[Row] = []
    for entry in entries:
        assignment = structures[entry.assignment].id
        before = known.get((assignment, entry.student))
        row = before or {"id": new_id(), "assignment_id": assignment, "student_id": entry.student}
        row = row | _times(entry, row.get("extension"))
        if before is None:
            new.append(row)
        elif row != before:
            changed.append({name: row[name] for name in ("id", *_TIMES)})
        result.append(row)
    insert_rows(connection, "submitted_assignment", new)
    update_rows(connection, "submitted_assignment", _TIMES, changed)
    return result


def _times(entry: Entry, extension: timedelta | None) -> Row:
    """Returns the arrival time, and the extension that makes nbgrader compute the right penalty."""
    allowed = extension if entry.allowance is None else entry.allowance or None
    return {"timestamp": entry.arrival.stamped, "extension": allowed}


def _sheets(
    connection: Connection,
    structures: Mapping[str, AssignmentRows],
    entries: Sequence[Entry],
    submissions: Sequence[Row],
) -> list[_NotebookEntry]:
    rows = table("submitted_notebook")
    ids = [submission["id"] for submission in submissions]
    found = connection.execute(select(rows).where(rows.c.assignment_id.in_(ids))).mappings()
    known = {(row["assignment_id"], row["notebook_id"]): dict(row) for row in found}
    sheets: list[_NotebookEntry] = []
    new: list[Row] = []
    for entry, submission in zip(entries, ids, strict=True):
        for name, cells in structures[entry.assignment].notebooks.items():
            row = known.get((submission, cells.id))
            if row is None:
                row = {"id": new_id(), "assignment_id": submission, "notebook_id": cells.id}
                row |= {"flagged": False, "late_submission_penalty": None}
                new.append(row)
            sheets.append(_NotebookEntry(entry, name, cells, row))
    insert_rows(connection, "submitted_notebook", new)
    return sheets


def _known_cells(
    connection: Connection, name: str, sheets: Sequence[_NotebookEntry]
) -> dict[tuple[str, str], Row]:
    rows = table(name)
    ids = [sheet.row["id"] for sheet in sheets]
    # also selects by cell, because nbgrader's only index on these tables begins with the cell
    base, notebooks = table("base_cell"), {sheet.cells.id for sheet in sheets}
    cells = select(base.c.id).where(base.c.notebook_id.in_(notebooks))
    # locks the rows if the database can, so that grades entered in formgrader meanwhile are not
    # lost
    query = select(rows).where(rows.c.notebook_id.in_(ids), rows.c.cell_id.in_(cells))
    found = connection.execute(query.order_by(rows.c.id).with_for_update()).mappings()
    return {(row["notebook_id"], row["cell_id"]): dict(row) for row in found}


def _write_grades(connection: Connection, sheets: Sequence[_NotebookEntry]) -> dict[str, float]:
    """Writes the automatic scores; returns each notebook's points, including manual scores."""
    known = _known_cells(connection, "grade", sheets)
    new: list[Row] = []
    changed: list[Row] = []
    worth: dict[str, float] = defaultdict(float)
    for sheet in sheets:
        for cell, cell_id in sheet.cells.grade_cells.items():
            score, look = _judged(sheet, cell)
            row = known.pop((sheet.row["id"], cell_id), None)
            if row is None:
                row = _new_grade(sheet.row["id"], cell_id, score, look)
                new.append(row)
            elif difference := _regraded(row, score, look):
                changed.append(difference)
            worth[sheet.row["id"]] += _worth(row, score)
    for (notebook, _), row in known.items():  # cells that are no longer in the release
        worth[notebook] += _worth(row, row["auto_score"] or 0.0)
    insert_rows(connection, "grade", new)
    update_rows(connection, "grade", ("auto_score", "needs_manual_grade"), changed)
    return worth


def _judged(sheet: _NotebookEntry, cell: str) -> tuple[float | None, bool]:
    """Returns an answer's automatic score (None for prose), and whether a human must check it."""
    if cell in sheet.cells.solution_cells:
        return None, True
    key = (sheet.name, cell)
    return float(sheet.entry.scores.get(key, 0.0)), key in sheet.entry.to_look_at


def _new_grade(notebook: str, cell: str, score: float | None, look: bool) -> Row:
    return {
        "id": new_id(),
        "notebook_id": notebook,
        "cell_id": cell,
        "auto_score": score,
        "manual_score": None,
        "extra_credit": None,
        "needs_manual_grade": look,
    }


def _regraded(row: Row, score: float | None, look: bool) -> Row | None:
    """Returns the changes to an existing grade, or None if there are none.

    A manual grade needs to be checked again only if the automatic score has changed.
    """
    is_same, is_manual = row["auto_score"] == score, row["manual_score"] is not None
    needs = False
    if score is None:
        needs = not is_manual
    elif is_manual or look:
        needs = row["needs_manual_grade"] if is_same else True
    if is_same and needs == row["needs_manual_grade"]:
        return None
    return {"id": row["id"], "auto_score": score, "needs_manual_grade": needs}


def _worth(row: Row, score: float | None) -> float:
    manual = row["manual_score"]
    return float((score or 0.0) if manual is None else manual) + float(row["extra_credit"] or 0.0)


def _write_comments(connection: Connection, sheets: Sequence[_NotebookEntry]) -> None:
    known = _known_cells(connection, "comment", sheets)
    new: list[Row] = []
    changed: list[Row] = []
    for sheet in sheets:
        for cell, cell_id in sheet.cells.solution_cells.items():
            text = sheet.entry.comments.get((sheet.name, cell))
            row = known.get((sheet.row["id"], cell_id))
            if row is None:
                ids = {"id": new_id(), "notebook_id": sheet.row["id"], "cell_id": cell_id}
                new.append({**ids, "auto_comment": text, "manual_comment": None})
            elif row["auto_comment"] != text:
                changed.append({"id": row["id"], "auto_comment": text})
    insert_rows(connection, "comment", new)
    update_rows(connection, "comment", ("auto_comment",), changed)


def _seconds_late(entry: Entry, structure: AssignmentRows, submission: Row) -> float:
    duedate = structure.duedate
    if duedate is not None and submission["extension"] is not None:
        duedate += submission["extension"]
    return seconds_late(entry.arrival.stamped, duedate)
