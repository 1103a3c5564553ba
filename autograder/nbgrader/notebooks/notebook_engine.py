"""Defines the engine that grades assignments with nbgrader's own test cells."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ...errors import SubmissionError, UserError
from ...grading.secret import JUDGING, digest_of_files
from ...grading.watch import Watch
from ...records import Assignment, ExerciseResult, SubmissionResult, SubmissionStatus, Tier
from ...sandbox import ForkServer, start_fork_server
from ...submission import Submission, require_unchanged, unused_notes
from ..sanitize import name_problem
from .autograding import autograde
from .course import NotebookCourse, read_assignment, read_notebook_course
from .execute import SandboxedExecute
from .libraries import libraries_for
from .notebook_scores import NOTEBOOKS, exercises_of, waiting
from .submitted_files import digest_of, state_of


@dataclass(frozen=True, slots=True)
class NotebookGrader:
    """Grades a course's submissions one by one; each job of a run has a copy of the grader."""

    course: NotebookCourse
    fork_server: ForkServer
    digests: Mapping[str, str]

    def prepare(self, assignments: Sequence[Assignment]) -> None:
        """Does nothing, because this kind of grading has no data for jobs to share."""

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        watch: Watch | None = None,
    ) -> SubmissionResult:
        """Grades one submission; the result includes errors in the submitted code.

        Raises `SubmissionError` if files changed during grading, or if nbgrader can't use the
        student's name. Any other error is the grader's own fault.
        """
        start = time.perf_counter()
        if problem := name_problem(submission.student):
            raise SubmissionError(
                f"nbgrader does not accept the name {submission.student!r}, which {problem}; "
                "rename the folder"
            )
        before = state_of(submission.folder)
        outcome = autograde(self.course, self.fork_server, submission, watch or Watch())
        exercises = exercises_of(self.course, submission, outcome)
        require_unchanged(submission.folder, before, state_of(submission.folder))
        return SubmissionResult(
            student=submission.student,
            assignment=assignment.name,
            submission_digest=before[0],
            suite_digest=self.digests[assignment.name],
            isolation=self.fork_server.tier,
            status=SubmissionStatus.GRADED,
            score=sum(exercise.score for exercise in exercises),
            max_score=sum(exercise.max_score for exercise in exercises),
            seconds=round(time.perf_counter() - start, 4),
            seed=0,
            judging=JUDGING,
            attempt=submission.attempt,
            exercises=exercises,
            notes=(
                *outcome.notes,
                *waiting(exercises),
                *self._unused(submission, exercises),
            ),
        )

    def _unused(
        self, submission: Submission, exercises: Sequence[ExerciseResult]
    ) -> tuple[str, ...]:
        """Returns a note about unused files, unless a notebook's note already mentions them."""
        sources = self.course.sources(submission.assignment)
        given = {path.name for source in sources[:1] for path in source.parent.iterdir()}
        names = {path.stem for path in sources}
        notes = [note for exercise in exercises for note in exercise.notes]
        others = given - {path.name for path in sources}
        return unused_notes(submission.folder, names, notes, NOTEBOOKS, others)


class NotebookEngine:
    """Grades notebooks as nbgrader does, but in the sandbox; see `grading.engine.Engine`.

    Also writes the results into the gradebook and `autograded/`. Raises `UserError` if the
    submissions are not in the folder that the course's configuration names.
    """

    def __init__(self, folder: Path, submitted: Path) -> None:
        self._course = read_notebook_course(folder)
        self._step = SandboxedExecute(config=self._course.config)
        own = self._course.root / self._course.directories().submitted_directory
        if not submitted.resolve().is_relative_to(own.resolve()):
            raise UserError(
                f"{submitted} is not in {own}: put it there, because notebooks with nbgrader's own "
                "tests are graded where nbgrader keeps submissions"
            )

    @property
    def names(self) -> Collection[str]:
        """The names of those assignments in the course that have no suite."""
        return self._course.assignments

    def assignment(self, name: str) -> Assignment:
        """Reads an assignment; raises `UserError` if `generate_assignment` has not been run."""
        return read_assignment(self._course, name, self._step.most_seconds)

    def suite_digest(self, assignment: Assignment) -> str:
        return digest_of_files(self._course.sources(assignment.name), str(JUDGING))

    def submission_digest(self, submission: Submission, assignment: Assignment) -> str:
        return digest_of(submission.folder)

    def start_sandbox(
        self, tier: Tier | None, assignments: Sequence[Assignment], workers: int | None = None
    ) -> AbstractContextManager[ForkServer]:
        """Starts a fork server with the libraries that the instructor's notebooks import."""
        paths = [path for a in assignments for path in self._course.sources(a.name)]
        return start_fork_server(tier, libraries_for(paths, self._step.packages))

    def grader(
        self,
        fork_server: ForkServer,
        assignments: Sequence[Assignment],
        suite_digests: Mapping[str, str],
        secret: bytes,
    ) -> NotebookGrader:
        """Returns a grader for single submissions; such a grader does not need the secret."""
        return NotebookGrader(self._course, fork_server, suite_digests)
