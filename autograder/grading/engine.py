"""The parts of a run: engines grade a kind of assignment, backends are where that happens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ..errors import SubmissionError
from ..records import Assignment, SubmissionResult, SubmissionStatus, Tier
from ..sandbox import ForkServer
from ..submission import Submission
from .costs import Costs
from .digests import JUDGING
from .job import Grader
from .sources import Source, Task

_LONGEST_ERROR = 2000

#: is called with every result as soon as it is there
OnResult = Callable[[SubmissionResult], None]
#: is called with the tier before the first submission is graded; None where machines differ
Ready = Callable[[Tier | None], None]


class Engine(Protocol):
    """How one kind of assignment is graded. Only `start_sandbox` and `grader` load torch."""

    @property
    def names(self) -> Collection[str]:
        """The assignments that it grades."""

    def assignment(self, name: str) -> Assignment:
        """One of them; raises `UserError` if it is not ready to be graded."""

    def suite_digest(self, assignment: Assignment) -> str:
        """A digest of everything a score depends on besides the submission."""

    def submission_digest(self, submission: Submission, assignment: Assignment) -> str:
        """A digest of what a student submitted."""

    def start_sandbox(
        self, tier: Tier | None, assignments: Sequence[Assignment], workers: int | None = None
    ) -> AbstractContextManager[ForkServer]:
        """The fork server whose workers run students' code; `workers` is how many are expected."""

    def grader(
        self,
        fork_server: ForkServer,
        assignments: Sequence[Assignment],
        suite_digests: Mapping[str, str],
        secret: bytes,
    ) -> Grader:
        """Grades one submission after the other; jobs are forks of it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The assignments of a run that one engine grades, by name, and the digests of their suites."""

    engine: Engine
    assignments: Mapping[str, Assignment]
    suite_digests: Mapping[str, str]

    @classmethod
    def of(cls, engine: Engine, assignments: Iterable[Assignment]) -> Scope:
        """Some assignments of an engine, perhaps with some of their exercises only."""
        by_name = {assignment.name: assignment for assignment in assignments}
        digests = {name: engine.suite_digest(one) for name, one in by_name.items()}
        return cls(engine, by_name, digests)

    def submission_digest(self, task: Task) -> str:
        """The digest of what was submitted; empty if it can't be read: grading reports that."""
        try:
            return self.engine.submission_digest(*task)
        except (OSError, SubmissionError):
            return ""

    def failed(self, submission: Submission, tier: Tier, error: str) -> SubmissionResult:
        """The line of a submission on which the grader failed; `--resume` grades it again."""
        return SubmissionResult(
            student=submission.student,
            assignment=submission.assignment,
            submission_digest="sha256:" + "0" * 64,
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
    """Where submissions are graded: processes of this machine, or the workers of a cluster."""

    def grade(self, scope: Scope, source: Source, on_result: OnResult, ready: Ready) -> Costs:
        """Grades what a source gives, to its end; returns CPU seconds of this machine by stage."""
