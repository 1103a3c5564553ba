"""Finds wrong answers that no known mistake explains, and gives them names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..records import QuestionResult, SubmissionResult
from .review import never_ran

_MARK = 8


@dataclass(frozen=True, slots=True)
class UnnamedAnswer:
    """An unnamed wrong answer, and the result that contains it."""

    result: SubmissionResult
    exercise: str
    question: QuestionResult

    @property
    def key(self) -> tuple[str, str, str, str]:
        """A key that is the same for all answers that behave alike."""
        place = self.result.assignment, self.exercise, self.question.question
        return (*place, self.question.behaviour or "")

    @property
    def mark(self) -> str:
        """A short identifier for the group of answers that behave like this answer."""
        return (self.question.behaviour or "").partition(":")[2][:_MARK]


def unnamed_in(results: Iterable[SubmissionResult]) -> Iterator[UnnamedAnswer]:
    """Yields unnamed wrong answers with known behavior, except in exercises that never ran."""
    for result in results:
        for exercise, question in result.questions():
            is_unnamed = question.behaviour is not None and question.misconception is None
            if is_unnamed and not never_ran(exercise):
                yield UnnamedAnswer(result, exercise.exercise, question)


def with_name(found: UnnamedAnswer, name: str, hint: str) -> SubmissionResult:
    """Returns the answer's result after adding this name and hint to the answer."""
    exercises = tuple(
        replace(
            exercise,
            questions=tuple(
                replace(question, misconception=name, hint=hint)
                if question == found.question
                else question
                for question in exercise.questions
            ),
        )
        if exercise.exercise == found.exercise
        else exercise
        for exercise in found.result.exercises
    )
    return replace(found.result, exercises=exercises)
