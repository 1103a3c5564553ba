"""Grades a submission: reads its files, judges exercises in the sandbox, and adds up points."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..records import (
    Assignment,
    Exercise,
    ExerciseResult,
    ExerciseStatus,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Verdict,
)
from ..sandbox import ForkServer
from ..submission import (
    Stamps,
    Submission,
    SubmittedExercise,
    counted_files,
    is_submitted,
    read_exercise,
    require_unchanged,
    stamps_of,
    unreadable,
    unused_notes,
)
from .exercises import ExerciseGrader
from .judging.suites import SuiteRunner
from .naming.diagnosis import Diagnosis
from .secret import JUDGING, Seeds, submitted_digest
from .watch import Position, Watch

_UNGRADED = {ExerciseStatus.MISSING: Verdict.MISSING, ExerciseStatus.UNREADABLE: Verdict.ERROR}


class SubmissionGrader:
    """Grades submissions for a course's assignments with collected suites and a fork server."""

    def __init__(
        self,
        runner: SuiteRunner,
        fork_server: ForkServer,
        suite_digests: Mapping[str, str],
        diagnoses: Mapping[Path, Diagnosis],
        seeds: Seeds,
    ) -> None:
        self._seeds = seeds
        self._runner = runner
        self._fork_server = fork_server
        self._suite_digests = suite_digests
        self._exercises = ExerciseGrader(runner, fork_server, diagnoses)

    @property
    def fork_server(self) -> ForkServer:
        return self._fork_server

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        watch: Watch | None = None,
    ) -> SubmissionResult:
        """Returns the result for a submission.

        Raises `SubmissionError` if the submission's files change during grading, and other errors
        only if the grader itself fails.
        """
        start = time.perf_counter()
        stamps = _stamps(submission, assignment)
        digest = submitted_digest(submission, assignment)
        suite_digest = self._suite_digests[assignment.name]
        seed = self._seeds.of(assignment.name, submission.attempt)
        watch = watch or Watch()
        exercises = tuple(
            self._exercise(submission.folder, assignment, exercise, seed, watch)
            for exercise in assignment.exercises
        )
        watch.leave()
        read = _digest_of_read_files(submission, assignment, exercises)
        now = (read, _stamps(submission, assignment))
        require_unchanged(submission.folder, (digest, stamps), now)
        return SubmissionResult(
            student=submission.student,
            assignment=assignment.name,
            submission_digest=digest,
            suite_digest=suite_digest,
            isolation=self._fork_server.tier,
            status=SubmissionStatus.GRADED,
            score=sum(exercise.score for exercise in exercises),
            max_score=sum(exercise.max_score for exercise in exercises),
            seconds=round(time.perf_counter() - start, 4),
            seed=seed,
            judging=JUDGING,
            attempt=submission.attempt,
            exercises=exercises,
            notes=_unused(submission, exercises),
        )

    def prepare(self, assignments: Sequence[Assignment]) -> None:
        """Makes plans for first attempts before jobs are forked, so that jobs share the plans."""
        for assignment in assignments:
            seed = self._seeds.of(assignment.name, 1)
            self._exercises.prepare(assignment.exercises, seed)

    def _exercise(
        self, folder: Path, assignment: Assignment, exercise: Exercise, seed: int, watch: Watch
    ) -> ExerciseResult:
        watch.enter(Position(exercise.name))
        if Position(exercise.name) in watch.left_out:
            answers = unreadable(exercise, folder)
        else:
            answers = read_exercise(folder, exercise)
        if answers.status is not ExerciseStatus.GRADED:
            return self._ungraded(exercise, answers)

        results, notes = self._exercises.results(assignment, exercise, answers, seed, watch)
        return _result(exercise, replace(answers, notes=(*answers.notes, *notes)), results)

    def _ungraded(self, exercise: Exercise, answers: SubmittedExercise) -> ExerciseResult:
        points = self._runner.points(exercise.hidden_suite)
        questions = tuple(
            QuestionResult(name, 0.0, worth, _UNGRADED[answers.status])
            for name, worth in points.items()
        )
        return _result(exercise, answers, questions)


def _stamps(submission: Submission, assignment: Assignment) -> Stamps:
    names = [exercise.name for exercise in assignment.exercises]
    return stamps_of(counted_files(submission.folder, names))


def _digest_of_read_files(
    submission: Submission, assignment: Assignment, results: Sequence[ExerciseResult]
) -> str:
    """Returns the `submitted_digest`, or "" if a file was missing when the grader tried to read it.

    Without this check, a file that is moved or copied during grading could count as missing, or be
    read only in part.
    """
    folder, read = submission.folder, zip(assignment.exercises, results, strict=True)
    was_away = any(r.status is ExerciseStatus.MISSING and is_submitted(e, folder) for e, r in read)
    if was_away or not folder.is_dir():
        return ""
    return submitted_digest(submission, assignment)


def _unused(submission: Submission, exercises: Sequence[ExerciseResult]) -> tuple[str, ...]:
    """Returns notes about uploaded files that were not used, unless another note names them."""
    notes = [note for exercise in exercises for note in exercise.notes]
    return unused_notes(submission.folder, [exercise.exercise for exercise in exercises], notes)


def _result(
    exercise: Exercise, answers: SubmittedExercise, questions: tuple[QuestionResult, ...]
) -> ExerciseResult:
    return ExerciseResult(
        exercise=exercise.name,
        file=answers.file,
        status=answers.status,
        score=sum(question.score for question in questions),
        max_score=sum(question.max_score for question in questions),
        questions=questions,
        notes=answers.notes,
    )
