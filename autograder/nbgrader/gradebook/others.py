"""Reads results from nbgrader's gradebook for assignments that only nbgrader has graded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Row, Select, func, select

from ...records import (
    NO_DIGEST,
    ExerciseResult,
    ExerciseStatus,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Tier,
    Verdict,
)
from ...submission import LOOK
from ..settings import load_settings
from .database import is_there, opened, reading, table
from .released import CHECK


def graded_elsewhere(class_folder: Path, known: Collection[str]) -> list[SubmissionResult]:
    """Returns results with nbgrader's automatic scores, for assignments that are not `known`.

    Manual grades and comments are not included; `human_work` returns them. If a person must still
    grade a cell, the result contains a note that asks for a review of the submission.
    """
    address = load_settings(class_folder).db_url
    if not is_there(address):
        return []
    found: defaultdict[tuple[str, str], list[Row[Any]]] = defaultdict(list)
    with opened(address) as engine, reading(engine) as connection:
        for row in connection.execute(_query(known)):
            found[row.student, row.assignment].append(row)
    return [_result(key, rows) for key, rows in sorted(found.items())]


def _query(known: Collection[str]) -> Select[Any]:
    """Selects a row for each graded cell of each submission to assignments that are not `known`."""
    grade, cell, notebook = table("grade"), table("base_cell"), table("notebook")
    page, submission = table("submitted_notebook"), table("submitted_assignment")
    assignment, points, tasks = table("assignment"), table("grade_cells"), table("task_cells")
    joined = (
        grade.join(cell, cell.c.id == grade.c.cell_id)
        .join(points, points.c.id == cell.c.id, isouter=True)
        .join(tasks, tasks.c.id == cell.c.id, isouter=True)
        .join(page, page.c.id == grade.c.notebook_id)
        .join(notebook, notebook.c.id == page.c.notebook_id)
        .join(submission, submission.c.id == page.c.assignment_id)
        .join(assignment, assignment.c.id == submission.c.assignment_id)
    )
    return (
        select(
            submission.c.student_id.label("student"),
            assignment.c.name.label("assignment"),
            notebook.c.name.label("notebook"),
            cell.c.name.label("cell"),
            func.coalesce(points.c.max_score, tasks.c.max_score, 0.0).label("of"),
            func.coalesce(grade.c.auto_score, 0.0).label("score"),
            grade.c.manual_score.label("by_hand"),
            grade.c.needs_manual_grade.label("needs"),
        )
        .select_from(joined)
        .where(assignment.c.name.not_in(list(known)))
    )


def _result(key: tuple[str, str], rows: Sequence[Row[Any]]) -> SubmissionResult:
    notebooks: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        notebooks[row.notebook].append(row)
    exercises = tuple(_exercise(name, own) for name, own in _sorted(notebooks).items())
    return SubmissionResult(
        *key,
        submission_digest=NO_DIGEST,
        suite_digest=NO_DIGEST,
        isolation=Tier.NONE,
        status=SubmissionStatus.GRADED,
        score=sum(exercise.score for exercise in exercises),
        max_score=sum(exercise.max_score for exercise in exercises),
        seconds=0.0,
        seed=0,
        exercises=exercises,
    )


def _sorted(notebooks: Mapping[str, list[Row[Any]]]) -> dict[str, list[Row[Any]]]:
    return {name: sorted(notebooks[name], key=lambda row: row.cell) for name in sorted(notebooks)}


def _exercise(name: str, rows: Sequence[Row[Any]]) -> ExerciseResult:
    waiting = [row.cell for row in rows if row.needs and row.by_hand is None]
    return ExerciseResult(
        exercise=name,
        file=f"{name}.ipynb",
        status=ExerciseStatus.GRADED,
        score=sum(row.score for row in rows),
        max_score=sum(row.of for row in rows),
        questions=tuple(_question(row) for row in rows),
        notes=tuple(f"{LOOK}{cell}: a human has to grade it" for cell in waiting),
    )


def _question(row: Row[Any]) -> QuestionResult:
    verdict = Verdict.CORRECT if row.score >= row.of else Verdict.WRONG
    if 0 < row.score < row.of:
        verdict = Verdict.PARTIAL
    return QuestionResult(row.cell.removeprefix(CHECK), row.score, row.of, verdict)
