"""Options and events of a run, in a separate module because importing the run loads torch."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError
from ..records import Assignment, SubmissionResult, Tier


@dataclass(frozen=True, slots=True)
class QuestionSelector:
    """The question to grade again."""

    assignment: str
    exercise: str
    question: str

    def __str__(self) -> str:
        return f"{self.exercise}/{self.question}"


def wanted_question(assignments: Sequence[Assignment], name: str) -> QuestionSelector:
    """Returns the question named `question`, `exercise/question` or `assignment/exercise/question`.

    Raises `UserError` if there is none, or more than one.
    """
    every = [
        QuestionSelector(assignment.name, exercise.name, question.name)
        for assignment in assignments
        for exercise in assignment.exercises
        for question in exercise.questions
    ]
    parts = tuple(name.split("/"))
    found = [
        one for one in every if (one.assignment, one.exercise, one.question)[-len(parts) :] == parts
    ]
    if len(found) == 1:
        return found[0]
    offered = found or every
    names = [f"{one.assignment}/{one}" for one in offered]
    if not found:
        short = {one.question: full for one, full in zip(every, names, strict=True)}
        close = difflib.get_close_matches(parts[-1], short, n=3)
        names = [short[key] for key in close] or names[:10]
    problem = "is the name of several questions" if found else "is not a question"
    raise UserError(f"{name!r} {problem}; name one, such as: {', '.join(names)}")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a grading run. `shard` is (index from 1, count).

    `secret` is the file with the class's secret; by default it is next to the results. If
    `question` is given, only this question is graded again.
    """

    submitted: Path
    results: Path
    jobs: int = 1
    shard: tuple[int, int] = (1, 1)
    resume: bool = False
    assignment: str | None = None
    tier: Tier | None = None
    secret: Path | None = None
    question: QuestionSelector | None = None


class RunEvents:
    """Receives events while a run is in progress. The default ignores them."""

    def starts(self, tier: Tier | None, to_grade: int, already_graded: int) -> None:
        """Called when one kind of assignment is about to be graded; no tier if machines differ."""

    def passed_over(self, tier: Tier, why: str) -> None:
        """Called when a weaker tier than the strongest one is used, with the reason."""

    def graded(self, result: SubmissionResult) -> None:
        """Called when a submission has its result, and the results file its line."""
