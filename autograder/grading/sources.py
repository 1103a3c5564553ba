"""Defines a run's options and events, and the sources of its submissions.

Unlike `run`, this module does not load torch.
"""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..errors import UserError
from ..records import Assignment, Exercise, SubmissionResult, Tier
from ..submission import Submission, is_submitted


@dataclass(frozen=True, slots=True)
class QuestionSelector:
    assignment: str
    exercise: str
    question: str

    def __str__(self) -> str:
        return f"{self.exercise}/{self.question}"


def wanted_question(assignments: Sequence[Assignment], name: str) -> QuestionSelector:
    """Finds a question by its name, with or without its exercise and assignment.

    `name` is `question`, `exercise/question` or `assignment/exercise/question`. Raises `UserError`
    if there is no such question, or more than one.
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
    raise UserError(f"{name!r} {problem}; use a full name, such as: {', '.join(names)}")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a grading run; `shard` is a shard's number (from 1) and the number of shards.

    `secret` is the file with the class secret, by default the one next to the results. If
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
    """Receives the events of a grading run; this base class ignores all events."""

    def starts(self, tier: Tier | None, to_grade: int, already_graded: int) -> None:
        """Runs before an engine starts grading; `tier` is None if machines' tiers differ."""

    def passed_over(self, tier: Tier, why: str) -> None:
        """Runs if a tier other than the strongest one is used; `why` is the reason."""

    def graded(self, result: SubmissionResult) -> None:
        """Runs when a submission has been graded and its result has been written."""


Task = tuple[Submission, Assignment]


class Source(Protocol):
    """Provides submissions one by one, without waiting for the next."""

    def take(self) -> Task | None:
        """Returns the next submission, or None if none is available now."""

    @property
    def has_ended(self) -> bool:
        """Returns whether there will be no more submissions."""

    def awaited(self) -> Sequence[int]:
        """Returns file descriptors that become readable when there may be a new submission."""

    def planned(self) -> Sequence[Assignment]:
        """Returns the assignments to plan in advance, without exercises that need no plan."""

    def workers(self) -> int | None:
        """Returns the maximum number of workers that submissions may need, or None if unknown."""


class ListedSubmissions:
    """A source of submissions that are all known at the beginning."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = deque(tasks)

    def take(self) -> Task | None:
        return self._tasks.popleft() if self._tasks else None

    @property
    def has_ended(self) -> bool:
        return not self._tasks

    def planned(self) -> Sequence[Assignment]:
        """Returns each assignment with only the exercises that some student has submitted."""
        folders: dict[str, list[Path]] = {}
        for submission, assignment in self._tasks:
            folders.setdefault(assignment.name, []).append(submission.folder)
        assignments = {assignment.name: assignment for _, assignment in self._tasks}
        return [
            replace(one, exercises=tuple(_submitted(one.exercises, folders[name])))
            for name, one in sorted(assignments.items())
        ]

    def workers(self) -> int | None:
        """Returns the number of exercises in all submissions; each may need a worker."""
        return sum(len(assignment.exercises) for _, assignment in self._tasks)

    def awaited(self) -> Sequence[int]:
        return ()


def _submitted(exercises: Iterable[Exercise], folders: Sequence[Path]) -> Iterator[Exercise]:
    return (e for e in exercises if any(is_submitted(e, folder) for folder in folders))
