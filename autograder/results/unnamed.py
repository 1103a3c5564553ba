"""Wrong answers that no known mistake explains, as results have them; and how they get a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..records import QuestionResult, SubmissionResult
from .review import never_ran

_MARK = 8


@dataclass(frozen=True, slots=True)
class Unnamed:
    """One wrong answer without a name, and the result that it stands in."""

    result: SubmissionResult
    exercise: str
    question: QuestionResult

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Equal for answers that behave alike."""
        place = self.result.assignment, self.exercise, self.question.question
        return (*place, self.question.behaviour or "")

    @property
    def mark(self) -> str:
        """The group in short."""
        return (self.question.behaviour or "").partition(":")[2][:_MARK]


def unnamed_in(results: Iterable[SubmissionResult]) -> Iterator[Unnamed]:
    """The wrong answers that were asked twice, ran and have no name."""
    for result in results:
        for exercise, question in result.questions():
            is_unnamed = question.behaviour is not None and question.misconception is None
            if is_unnamed and not never_ran(exercise):
                yield Unnamed(result, exercise.exercise, question)


def with_name(found: Unnamed, name: str, hint: str) -> SubmissionResult:
    """The result in which the answer has a name and a hint, and all else is as it was."""
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
