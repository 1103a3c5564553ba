"""Grades a single question again, and keeps the rest of a submission's result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..records import (
    Assignment,
    ExerciseResult,
    Key,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
)
from ..sandbox import ForkServer
from ..submission import Submission
from .job import Grader
from .secret import submitted_digest
from .sources import QuestionSelector
from .watch import Watch

#: the beginning of the note in a result that only one question was graded again
ALONE = "graded again alone: "


@dataclass(frozen=True, slots=True)
class OneQuestionGrader:
    """Grades only one question; `inner` grades the exercise that contains it.

    `before` contains each submission's last result. A submission that has no result, or that has
    changed since then, is graded as a whole.
    """

    inner: Grader
    wanted: QuestionSelector
    before: Mapping[Key, SubmissionResult]

    @property
    def fork_server(self) -> ForkServer:
        return self.inner.fork_server

    def prepare(self, assignments: Sequence[Assignment]) -> None:
        self.inner.prepare([self._narrowed(assignment) for assignment in assignments])

    def grade(
        self, submission: Submission, assignment: Assignment, watch: Watch | None = None
    ) -> SubmissionResult:
        """Returns the submission's last result, updated with the question's new result."""
        before = self.before.get((submission.student, submission.assignment))
        digest = submitted_digest(submission, assignment)
        if before is None or before.submission_digest != digest:
            return self.inner.grade(submission, assignment, watch)
        now = self.inner.grade(submission, self._narrowed(assignment), watch)
        return with_question(before, now, self.wanted)

    def _narrowed(self, assignment: Assignment) -> Assignment:
        own = tuple(e for e in assignment.exercises if e.name == self.wanted.exercise)
        return replace(assignment, exercises=own)


def last_results(results: Sequence[SubmissionResult]) -> dict[Key, SubmissionResult]:
    """Returns the last result of each submission that has been graded."""
    graded = [line for line in results if line.status is SubmissionStatus.GRADED]
    return {line.key: line for line in graded}


def with_question(
    before: SubmissionResult, now: SubmissionResult, wanted: QuestionSelector
) -> SubmissionResult:
    """Returns a previous result, with one question's result taken from a new one, and with a note.

    The returned result keeps the digest of the suite that judged the other questions, so that
    `--resume` with a different suite grades the whole submission.
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
