"""From a result to what the gradebook is told of it."""

from __future__ import annotations

from datetime import timedelta

from ...classroom import Arrival
from ...records import ExerciseResult, ExerciseStatus, QuestionResult, SubmissionResult, Verdict
from .messages import comment
from .released import CHECK
from .rows import Entry
from .structure import AssignmentRows


def entry_of(
    structure: AssignmentRows,
    result: SubmissionResult,
    arrived: Arrival,
    allowance: timedelta | None = None,
) -> Entry:
    """A score for each check and a comment for each answer that the gradebook knows."""
    judged = {
        (exercise.exercise, question.question): (exercise, question)
        for exercise, question in result.questions()
    }
    asked = [
        (name, cell.removeprefix(CHECK))
        for name, notebook in structure.notebooks.items()
        for cell in notebook.grade_cells.keys() - notebook.solution_cells.keys()
    ]
    return Entry(
        student=result.student,
        assignment=result.assignment,
        arrival=arrived,
        allowance=allowance,
        scores={(b, CHECK + q): judged[b, q][1].score for b, q in asked if (b, q) in judged},
        comments={(b, q): comment(*judged.get((b, q), (None, None))) for b, q in asked},
        to_look_at=frozenset(
            (b, CHECK + q) for b, q in asked if (b, q) in judged and _wants_a_look(*judged[b, q])
        ),
    )


def _wants_a_look(exercise: ExerciseResult, question: QuestionResult) -> bool:
    """Where a human grader may find what automatic grading could not."""
    is_unreadable = exercise.status is ExerciseStatus.UNREADABLE
    return is_unreadable or question.verdict is Verdict.PROTOCOL
