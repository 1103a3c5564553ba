"""Enters a grader's points and comments, as formgrader does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from ...errors import UserError
from ...results.manual import QuestionKey
from ..settings import load_settings
from .database import Row, is_there, opened, table, update_rows, writing
from .reading import named_rows
from .released import CHECK


def enter_grade(
    class_folder: Path,
    key: QuestionKey,
    *,
    points: float | None = None,
    is_automatic: bool = False,
    comment: str | None = None,
) -> None:
    """Sets the manual score or the comment of one question; None leaves it as it is.

    `is_automatic` removes the manual score. An empty comment removes the comment. Raises
    `UserError` if the gradebook does not have the submission.
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
    """Returns the row of a cell of one submission; raises `UserError` if there is none."""
    names = (*key[:3], cell)
    columns = [column.label(column.name) for column in table(name).c]
    query = named_rows(name, *columns)
    for column, value in zip(list(query.selected_columns)[: len(names)], names, strict=True):
        query = query.where(column == value)
    row = connection.execute(query).first()
    if row is None:
        raise UserError(
            f"the gradebook has no {name} of {'/'.join(key)}: grade that submission first, "
            "or enter it in formgrader"
        )
    return dict(zip((c.name for c in columns), row[len(names) :], strict=True))
