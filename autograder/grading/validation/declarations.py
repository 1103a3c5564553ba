"""Checks that rules, suites and known answers name existing questions, before any is graded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...course import Course
from ...course.content import VARIANTS
from ...course.points import points_by_question
from ...course.rules import rules_beside
from ...errors import ContentError
from ...records import Assignment, Exercise
from ...submission.text import first_line_of
from ...suite.names import definition_of
from ...suite.variants import Variant, variants_of_text


def check_declarations(course: Course, chosen: Sequence[Assignment]) -> None:
    """Raises `ContentError` for the first file that can't be read or names an unknown question.

    Nothing else would notice such a file: an answer to a question that does not exist is the
    solution with one more function.
    """
    for assignment in chosen:
        rules_beside(assignment.exercises[0].hidden_suite)
        for exercise in assignment.exercises:
            for suite in (exercise.hidden_suite, exercise.public_suite):
                points_by_question(exercise, suite)
            for kind in VARIANTS:
                _check_variants(exercise, course.variants(kind, exercise))


def _check_variants(exercise: Exercise, path: Path) -> None:
    known = [question.name for question in exercise.questions]
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    for variant in _variants(path, text):
        if variant.question not in known:
            node = definition_of(text, variant.name)
            raise ContentError(
                path,
                first_line_of(node) if node else None,
                f"{variant.name}: {exercise.name} has no question {variant.question!r}",
                f"use one of: {', '.join(known)}",
            )


def _variants(path: Path, text: str) -> Sequence[Variant]:
    try:
        return variants_of_text(text)
    except SyntaxError as error:
        problem = f"not valid Python: {error.msg}"
        raise ContentError(path, error.lineno, problem, "fix the line") from error
    except (TypeError, ValueError) as error:
        fix = "write each decorator's arguments as in docs/authoring.md, as text in quotes"
        raise ContentError(path, None, f"a decorator can't be read: {error}", fix) from error
