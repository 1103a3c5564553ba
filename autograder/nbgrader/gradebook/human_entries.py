"""Reads manual grades and penalties from the gradebook; enters grades as formgrader does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from ...classroom import CommentBank, read_bank, read_requests, requests_by_key
from ...errors import UserError
from ...results.manual import HumanGrade, HumanWork, QuestionKey
from ..settings import load_settings
from .database import Row, is_there, opened, reading, table, update_rows, writing
from .released import CHECK


def human_work(class_folder: Path, db_url: str | None = None) -> HumanWork:
    """Returns a class's manual grades, late penalties and requests to review grades.

    Without a gradebook, there are only requests. If a comment contains names of entries in the
    class's comment bank, the names are replaced with the text of these entries.
    """
    address = load_settings(class_folder, db_url).db_url
    requests = requests_by_key(read_requests(class_folder))
    if not is_there(address):
        return HumanWork(requests=requests)
    bank = read_bank(class_folder)
    with opened(address) as engine, reading(engine) as connection:
        return HumanWork(_grades(connection, bank), _penalties(connection), requests)


def _grades(connection: Connection, bank: CommentBank) -> dict[QuestionKey, HumanGrade]:
    grade, comment = table("grade"), table("comment")
    entered = grade.c.manual_score.is_not(None) | grade.c.extra_credit.is_not(None)
    scores = named_rows("grade", grade.c.manual_score, grade.c.extra_credit).where(entered)
    comments = named_rows("comment", comment.c.manual_comment).where(
        comment.c.manual_comment.is_not(None)
    )
    found: dict[QuestionKey, HumanGrade] = {}
    for student, assignment, exercise, cell, score, extra in connection.execute(scores):
        key = (student, assignment, exercise, cell.removeprefix(CHECK))
        found[key] = HumanGrade(score=score, extra_credit=extra)
    for student, assignment, exercise, cell, text in connection.execute(comments):
        known = found.get((student, assignment, exercise, cell), HumanGrade())
        expanded = bank.expanded(text, f"{exercise}/{cell}")
        whole = HumanGrade(
            known.score, known.extra_credit, expanded.text, expanded.used, expanded.unknown
        )
        found[student, assignment, exercise, cell] = whole
    return found


def cells_to_grade(class_folder: Path) -> list[QuestionKey]:
    """Returns the answers that a human must grade, according to the gradebook."""
    address = load_settings(class_folder).db_url
    if not is_there(address):
        return []
    grade = table("grade")
    wanted = named_rows("grade").where(grade.c.needs_manual_grade.is_(True))
    with opened(address) as engine, reading(engine) as connection:
        rows = connection.execute(wanted)
        return sorted((s, a, exercise, cell.removeprefix(CHECK)) for s, a, exercise, cell in rows)


def named_rows(name: str, *columns: ColumnElement[Any]) -> Select[Any]:
    """Selects grades or comments, with the names of the student, assignment, notebook and cell."""
    own, cell, notebook = table(name), table("base_cell"), table("notebook")
    page, submission, assignment = (
        table("submitted_notebook"),
        table("submitted_assignment"),
        table("assignment"),
    )
    wanted = (submission.c.student_id, assignment.c.name, notebook.c.name, cell.c.name, *columns)
    joined = (
        own.join(cell, cell.c.id == own.c.cell_id)
        .join(page, page.c.id == own.c.notebook_id)
        .join(notebook, notebook.c.id == page.c.notebook_id)
        .join(submission, submission.c.id == page.c.assignment_id)
        .join(assignment, assignment.c.id == submission.c.assignment_id)
    )
    return select(*wanted).select_from(joined)


def _penalties(connection: Connection) -> dict[tuple[str, str], float]:
    page, submission = table("submitted_notebook"), table("submitted_assignment")
    assignment = table("assignment")
    query = (
        select(submission.c.student_id, assignment.c.name, func.sum(page.c.late_submission_penalty))
        .select_from(
            page.join(submission, submission.c.id == page.c.assignment_id).join(
                assignment, assignment.c.id == submission.c.assignment_id
            )
        )
        .where(page.c.late_submission_penalty > 0)
        .group_by(submission.c.student_id, assignment.c.name)
    )
    # a sum of tenths may be 15.000000000000004, which is hard to read in a table
    return {(student, name): round(off, 9) for student, name, off in connection.execute(query)}


def enter_grade(
    class_folder: Path,
    key: QuestionKey,
    *,
    points: float | None = None,
    is_automatic: bool = False,
    comment: str | None = None,
) -> None:
    """Sets the manual score or the comment for one question; None leaves a value unchanged.

    `is_automatic` removes the manual score. An empty comment removes the comment. Raises
    `UserError` if the gradebook does not contain the submission.
    """
    address = load_settings(class_folder).db_url
    where = "/".join(key)
    if not is_there(address):
        raise UserError(f"the class has no gradebook yet: grade {where} first")

    def enter(connection: Connection) -> None:
        if points is not None or is_automatic:
            row = _cell(connection, "grade", key, CHECK + key[3])
            needs = is_automatic and row["auto_score"] is None
            row |= {"manual_score": points, "needs_manual_grade": needs}
            _update(connection, "grade", ("manual_score", "needs_manual_grade"), row)
        if comment is not None:
            row = _cell(connection, "comment", key, key[3])
            row["manual_comment"] = comment or None
            _update(connection, "comment", ("manual_comment",), row)

    with opened(address) as engine:
        writing(engine, enter)


def _update(connection: Connection, name: str, columns: tuple[str, ...], row: Row) -> None:
    update_rows(connection, name, columns, [{column: row[column] for column in ("id", *columns)}])


def _cell(connection: Connection, name: str, key: QuestionKey, cell: str) -> dict[str, Any]:
    """Returns the row for a cell in one submission; raises `UserError` if there is none."""
    names = (*key[:3], cell)
    columns = [column.label(column.name) for column in table(name).c]
    query = named_rows(name, *columns)
    for column, value in zip(list(query.selected_columns)[: len(names)], names, strict=True):
        query = query.where(column == value)
    row = connection.execute(query).first()
    if row is None:
        raise UserError(
            f"the gradebook has no {name} for {'/'.join(key)}: grade that submission first, "
            f"or enter the {name} in formgrader"
        )
    return dict(zip((c.name for c in columns), row[len(names) :], strict=True))
