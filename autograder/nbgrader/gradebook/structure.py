"""Keeps the gradebook's rows for an assignment up to date with the assignment's release.

Manual grades and comments are never deleted: a cell that is no longer in the release is removed
only if nobody has entered a grade or comment for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, update

from .database import table
from .released import ReleasedAssignment, ReleasedNotebook


@dataclass(frozen=True, slots=True)
class NotebookRows:
    """The ids of a notebook and of its cells; the latter are keyed by the cells' names.

    A written answer, which a person grades, is both a grade cell and a solution cell.
    """

    id: str
    grade_cells: dict[str, str]
    solution_cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class AssignmentRows:
    """The ids of an assignment, and of its notebooks; the latter are keyed by their names."""

    id: str
    duedate: datetime | None
    notebooks: dict[str, NotebookRows]


def update_structure(
    connection: Connection, course_id: str, released: ReleasedAssignment
) -> AssignmentRows:
    """Updates the gradebook's assignment, notebooks and cells to match the release."""
    assignment, duedate = _assignment(connection, course_id, released)
    known = _rows_by_name(connection, "notebook", "assignment_id", assignment)
    gone = known.keys() - {notebook.name for notebook in released.notebooks}
    for name in () if released.is_nbgraders else gone:
        _remove_notebook(connection, known[name]["id"])
    return AssignmentRows(
        id=assignment,
        duedate=duedate,
        notebooks={
            notebook.name: _notebook(connection, assignment, known.get(notebook.name), notebook)
            for notebook in released.notebooks
        },
    )


def new_id() -> str:
    return uuid4().hex


def _assignment(
    connection: Connection, course_id: str, released: ReleasedAssignment
) -> tuple[str, datetime | None]:
    course, rows = table("course"), table("assignment")
    if connection.execute(select(course.c.id).where(course.c.id == course_id)).first() is None:
        connection.execute(insert(course).values(id=course_id))
    duedate = released.duedate.naive_utc if released.duedate else None
    found = connection.execute(select(rows).where(rows.c.name == released.name)).mappings().first()
    if found is None:
        name = new_id()
        values = {"name": released.name, "duedate": duedate, "course_id": course_id}
        connection.execute(insert(rows).values(id=name, **values))
        return name, duedate
    if duedate is None or duedate == found["duedate"]:
        return found["id"], found["duedate"]  # keep a date that was set in formgrader
    connection.execute(update(rows).where(rows.c.id == found["id"]).values(duedate=duedate))
    return found["id"], duedate


def _rows_by_name(
    connection: Connection, name: str, column: str, value: str
) -> dict[str, dict[str, Any]]:
    rows = table(name)
    found = connection.execute(select(rows).where(rows.c[column] == value)).mappings()
    return {row["name"]: dict(row) for row in found}


def _notebook(
    connection: Connection,
    assignment: str,
    known: dict[str, Any] | None,
    released: ReleasedNotebook,
) -> NotebookRows:
    rows = table("notebook")
    if known is None:
        known = {"id": new_id(), "name": released.name, "kernelspec": released.kernelspec}
        connection.execute(insert(rows).values(assignment_id=assignment, **known))
    elif known["kernelspec"] != released.kernelspec:
        changed = update(rows).where(rows.c.id == known["id"])
        connection.execute(changed.values(kernelspec=released.kernelspec))
    notebook: str = known["id"]
    _update_sources(connection, notebook, released)
    points = {cell.name: cell for cell in released.cells if cell.grade}
    answers = [cell.name for cell in released.cells if cell.solution]
    values = {
        name: {"max_score": cell.points, "cell_type": cell.cell_type}
        for name, cell in points.items()
    }
    return NotebookRows(
        id=notebook,
        grade_cells=_update_cells(connection, notebook, "GradeCell", values),
        solution_cells=_update_cells(
            connection, notebook, "SolutionCell", {n: {} for n in answers}
        ),
    )


_CELL_TABLES = {
    "GradeCell": "grade_cells",
    "SolutionCell": "solution_cells",
    "TaskCell": "task_cells",
}


def _update_cells(
    connection: Connection, notebook: str, kind: str, wanted: dict[str, dict[str, Any]]
) -> dict[str, str]:
    """Makes the gradebook's cells of one kind match the release; returns the cells' ids."""
    base, own = table("base_cell"), table(_CELL_TABLES[kind])
    query = select(base.c.name, own).join(own, own.c.id == base.c.id)
    found = connection.execute(query.where(base.c.notebook_id == notebook)).mappings()
    known = {row["name"]: dict(row) for row in found}
    _remove_cells(connection, [known[name]["id"] for name in known.keys() - wanted.keys()])
    ids: dict[str, str] = {}
    for name, values in wanted.items():
        if name not in known:
            ids[name] = new_id()
            row = {"id": ids[name], "name": name, "notebook_id": notebook, "type": kind}
            connection.execute(insert(base).values(row))
            connection.execute(insert(own).values(id=ids[name], **values))
            continue
        ids[name] = known[name]["id"]
        if any(known[name][key] != value for key, value in values.items()):
            connection.execute(update(own).where(own.c.id == ids[name]).values(values))
    return ids


def _update_sources(connection: Connection, notebook: str, released: ReleasedNotebook) -> None:
    rows = table("source_cell")
    known = _rows_by_name(connection, "source_cell", "notebook_id", notebook)
    for cell in released.cells:
        values = {
            "cell_type": cell.cell_type,
            "locked": cell.locked,
            "source": cell.source,
            "checksum": cell.checksum,
        }
        row = known.pop(cell.name, None)
        if row is None:
            whole = {"id": new_id(), "name": cell.name, "notebook_id": notebook, **values}
            connection.execute(insert(rows).values(whole))
        elif any(row[key] != value for key, value in values.items()):
            connection.execute(update(rows).where(rows.c.id == row["id"]).values(values))
    for row in known.values():
        connection.execute(delete(rows).where(rows.c.id == row["id"]))


def _remove_cells(connection: Connection, cells: list[str]) -> bool:
    """Removes cells and their automatic entries; returns whether all could be removed."""
    by_hand = _with_human_work(connection, cells)
    gone = [cell for cell in cells if cell not in by_hand]
    for name, column in (("grade", "cell_id"), ("comment", "cell_id")):
        rows = table(name)
        connection.execute(delete(rows).where(rows.c[column].in_(gone)))
    for name in (*_CELL_TABLES.values(), "base_cell"):
        rows = table(name)
        connection.execute(delete(rows).where(rows.c.id.in_(gone)))
    return not by_hand


def _with_human_work(connection: Connection, cells: list[str]) -> set[str]:
    grade, comment = table("grade"), table("comment")
    graded = grade.c.manual_score.is_not(None) | grade.c.extra_credit.is_not(None)
    queries = (
        select(grade.c.cell_id).where(grade.c.cell_id.in_(cells), graded),
        select(comment.c.cell_id).where(
            comment.c.cell_id.in_(cells), comment.c.manual_comment.is_not(None)
        ),
    )
    return {cell for query in queries for (cell,) in connection.execute(query)}


def _remove_notebook(connection: Connection, notebook: str) -> None:
    base, rows = table("base_cell"), table("notebook")
    cells = connection.execute(select(base.c.id).where(base.c.notebook_id == notebook)).scalars()
    if not _remove_cells(connection, list(cells)):
        return
    for name in ("source_cell", "submitted_notebook"):
        own = table(name)
        connection.execute(delete(own).where(own.c.notebook_id == notebook))
    connection.execute(delete(rows).where(rows.c.id == notebook))
