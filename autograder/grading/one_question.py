"""Grades one question again: the rest of a submission's result stays as it was.

It is an engine around another one, so that the run knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from ..records import (
    Assignment,
    ExerciseResult,
    Key,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Tier,
)
from ..sandbox import ForkServer
from ..submission import Submission
from .job import Grader
from .options import Wanted
from .run import Engine
from .watch import Watch

#: how the note of a line begins of which one question alone was graded again
ALONE = "graded again alone: "


@dataclass(frozen=True, slots=True)
class OneQuestion:
    """An engine that grades one question alone where the rest is known; see `run.Engine`.

    `before` are the last results. A submission without one, or that changed since, is graded whole.
    """

    engine: Engine
    wanted: Wanted
    before: Mapping[Key, SubmissionResult]

    @property
    def names(self) -> Collection[str]:
        """The assignment that has the question."""
        return [self.wanted.assignment]

    def assignment(self, name: str) -> Assignment:
        """The whole of it."""
        return self.engine.assignment(name)

    def suite_digest(self, assignment: Assignment) -> str:
        """A digest of all that a score depends on besides the submission."""
        return self.engine.suite_digest(assignment)

    def submission_digest(self, submission: Submission, assignment: Assignment) -> str:
        """A digest of what a student submitted."""
        return self.engine.submission_digest(submission, assignment)

    def start_sandbox(
        self, tier: Tier | None, assignments: Sequence[Assignment]
    ) -> AbstractContextManager[ForkServer]:
        """The fork server whose workers run students' code."""
        return self.engine.start_sandbox(tier, assignments)

    def grader(
        self,
        fork_server: ForkServer,
        assignments: Sequence[Assignment],
        suite_digests: Mapping[str, str],
        secret: bytes,
    ) -> Grader:
        """What grades one submission after the other; jobs are forks of it."""
        inner = self.engine.grader(fork_server, assignments, suite_digests, secret)
        return _OneQuestionGrader(self, inner)


@dataclass(frozen=True, slots=True)
class _OneQuestionGrader:
    """Grades the question's exercise, of which only the question is taken."""

    of: OneQuestion
    inner: Grader

    @property
    def fork_server(self) -> ForkServer:
        """Where workers come from."""
        return self.inner.fork_server

    def prepare(self, assignments: Sequence[Assignment]) -> None:
        """Does ahead what every job would have to do for itself."""
        self.inner.prepare([self._narrowed(assignment) for assignment in assignments])

    def grade(
        self, submission: Submission, assignment: Assignment, watch: Watch | None = None
    ) -> SubmissionResult:
        """The last result with this question's in the place of the one before."""
        before = self.of.before.get((submission.student, submission.assignment))
        digest = self.of.submission_digest(submission, assignment)
        if before is None or before.submission_digest != digest:
            return self.inner.grade(submission, assignment, watch)
        now = self.inner.grade(submission, self._narrowed(assignment), watch)
        return with_question(before, now, self.of.wanted)

    def _narrowed(self, assignment: Assignment) -> Assignment:
        own = tuple(e for e in assignment.exercises if e.name == self.of.wanted.exercise)
        return replace(assignment, exercises=own)


def last_results(results: Sequence[SubmissionResult]) -> dict[Key, SubmissionResult]:
    """The last graded line of each submission."""
    graded = [line for line in results if line.status is SubmissionStatus.GRADED]
    return {line.key: line for line in graded}


def with_question(
    before: SubmissionResult, now: SubmissionResult, wanted: Wanted
) -> SubmissionResult:
    """The line before with one question of another line, and a note that says so.

    It keeps the digest of the suite that judged the rest: `--resume` with another suite grades all.
    """
    fresh = next(e for e in now.exercises if e.exercise == wanted.exercise)
    exercises = tuple(
        _with_question(e, fresh, wanted.question) if e.exercise == wanted.exercise else e
        for e in before.exercises
    )
    note = f"{ALONE}{wanted}"
    return replace(
        before,
        exercises=exercises,
        score=sum(exercise.score for exercise in exercises),
        max_score=sum(exercise.max_score for exercise in exercises),
        isolation=now.isolation,
        seconds=now.seconds,
        notes=(*(kept for kept in before.notes if kept != note), note),
    )


def _with_question(old: ExerciseResult, new: ExerciseResult, name: str) -> ExerciseResult:
    fresh = {question.question: question for question in new.questions}
    questions: list[QuestionResult] = [
        fresh.get(question.question, question) if question.question == name else question
        for question in old.questions
    ]
    if name not in {question.question for question in old.questions} and name in fresh:
        questions.append(fresh[name])
    return replace(
        old,
        questions=tuple(questions),
        score=sum(question.score for question in questions),
        max_score=sum(question.max_score for question in questions),
    )
