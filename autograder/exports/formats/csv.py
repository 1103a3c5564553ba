"""A table for a spreadsheet or an LMS: a row for each student, a column for each question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ...records import SubmissionResult, SubmissionStatus
from ...results.review import latest, reasons_to_look
from ..tables import Exported, Value, write_csv

DEFAULT = "grades.csv"


def write(results: Iterable[SubmissionResult], path: Path) -> Exported:
    """The format's entry point."""
    return Exported(export_csv(results, path))


def export_csv(results: Iterable[SubmissionResult], path: Path, *, bom: bool = False) -> Path:
    """Writes the latest results as CSV in UTF-8; with `bom` also Excel takes it for UTF-8.

    A question that was not graded stays empty. Raises `UserError` where the file can't be written.
    """
    return write_csv(_table(latest(results)), path, "utf-8-sig" if bom else "utf-8")


def _table(results: Sequence[SubmissionResult]) -> Iterable[list[Value]]:
    columns = _columns(results)
    yield ["student", *columns, "needs_review"]
    by_student: dict[str, list[SubmissionResult]] = {}
    for result in results:
        by_student.setdefault(result.student, []).append(result)
    for student, own in by_student.items():
        values = {key: value for result in own for key, value in _values(result).items()}
        reasons = [f"{r.assignment}: {reason}" for r in own for reason in reasons_to_look(r)]
        yield [student, *(values.get(column, "") for column in columns), "; ".join(reasons)]


def _columns(results: Sequence[SubmissionResult]) -> list[str]:
    """Each assignment's questions, then its total and maximum."""
    by_assignment: dict[str, dict[str, None]] = {}
    for result in results:
        columns = by_assignment.setdefault(result.assignment, {})
        columns.update(dict.fromkeys(_questions(result)))
    return [
        column
        for assignment, columns in by_assignment.items()
        for column in (*columns, f"{assignment}/total", f"{assignment}/maximum")
    ]


def _questions(result: SubmissionResult) -> dict[str, float]:
    return {
        f"{result.assignment}/{exercise.exercise}/{question.question}": question.score
        for exercise in result.exercises
        for question in exercise.questions
    }


def _values(result: SubmissionResult) -> dict[str, float]:
    if result.status is SubmissionStatus.FAILED:
        return {}
    total, maximum = f"{result.assignment}/total", f"{result.assignment}/maximum"
    return {**_questions(result), total: result.score, maximum: result.max_score}
