"""Defines a run's interfaces: an engine grades one kind of assignment, on a backend's machines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ..errors import SubmissionError
from ..records import NO_DIGEST, Assignment, SubmissionResult, SubmissionStatus, Tier
from ..sandbox import ForkServer
from ..submission import Submission
from .job import Grader
from .secret import JUDGING
from .sources import Source, Task
from .watch import Costs

_LONGEST_ERROR = 2000

#: called with every result as soon as it is available
OnResult = Callable[[SubmissionResult], None]
#: called with the sandbox's tier before the first submission is graded, or with None if machines
#: may have different tiers
Ready = Callable[[Tier | None], None]


class Engine(Protocol):
    """Grades one kind of assignment; only `start_sandbox` and `grader` load torch."""

    @property
    def names(self) -> Collection[str]:
        """The names of the assignments that the engine grades."""

    def assignment(self, name: str) -> Assignment:
        """Returns an assignment; raises `UserError` if it is not ready to be graded."""

    def suite_digest(self, assignment: Assignment) -> str:
        """Returns a digest of everything that a score depends on, except the submission."""

    def submission_digest(self, submission: Submission, assignment: Assignment) -> str:
        """Returns a digest of the submitted files."""

    def start_sandbox(
        self, tier: Tier | None, assignments: Sequence[Assignment], workers: int | None = None
    ) -> AbstractContextManager[ForkServer]:
        """Returns a fork server for students' code, prepared for this number of workers."""

    def grader(
        self,
        fork_server: ForkServer,
        assignments: Sequence[Assignment],
        suite_digests: Mapping[str, str],
        secret: bytes,
    ) -> Grader:
        """Returns a grader for one submission after another; jobs are forks of this grader."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The assignments that one engine grades in a run, keyed by name, and their suites' digests."""

    engine: Engine
    assignments: Mapping[str, Assignment]
    suite_digests: Mapping[str, str]

    @classmethod
    def of(cls, engine: Engine, assignments: Iterable[Assignment]) -> Scope:
        """Creates a scope for these assignments, and computes the digests of their suites."""
        by_name = {assignment.name: assignment for assignment in assignments}
        digests = {name: engine.suite_digest(one) for name, one in by_name.items()}
        return cls(engine, by_name, digests)

    def submission_digest(self, task: Task) -> str:
        """Returns a submission's digest, or "" if it can't be read; grading reports the reason."""
        try:
            return self.engine.submission_digest(*task)
        except (OSError, SubmissionError):
            return ""

    def failed(self, submission: Submission, tier: Tier, error: str) -> SubmissionResult:
        """Returns the result for a submission that could not be graded; `--resume` retries it."""
        return SubmissionResult(
            student=submission.student,
            assignment=submission.assignment,
            submission_digest=NO_DIGEST,
            suite_digest=self.suite_digests[submission.assignment],
            isolation=tier,
            status=SubmissionStatus.FAILED,
            score=0.0,
            max_score=0.0,
            seconds=0.0,
            seed=0,
            attempt=submission.attempt,
            judging=JUDGING,
            error=error[-_LONGEST_ERROR:],
        )


class Backend(Protocol):
    """The place where submissions are graded: processes on this machine, or a cluster."""

    def grade(self, scope: Scope, source: Source, on_result: OnResult, ready: Ready) -> Costs:
        """Grades all submissions from a source; returns this machine's CPU seconds by stage."""
