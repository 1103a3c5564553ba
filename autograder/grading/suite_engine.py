"""Assignments of our own: their hidden suites judge what students wrote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch

from ..course import Course
from ..records import Assignment, Tier
from ..sandbox import ForkServer, start_fork_server
from ..submission import Submission
from .digests import asked_digest, submitted_digest, suite_digest
from .judging.suites import collect_suites
from .naming.diagnosis import Diagnosis
from .secret import Seeds
from .submissions import SubmissionGrader

#: gives the fork server for the wanted tier
Start = Callable[[Tier | None], AbstractContextManager[ForkServer]]


@dataclass(frozen=True, slots=True)
class SuiteEngine:
    """Grades the assignments of a course by their suites; see `grading.run.Engine`.

    `seed`, if given, is the seed of every attempt; by default the class's secret makes one each.
    """

    course: Course
    start: Start = start_fork_server
    seed: int | None = None

    @property
    def names(self) -> Collection[str]:
        """The course's assignments."""
        return [assignment.name for assignment in self.course.assignments]

    def assignment(self, name: str) -> Assignment:
        """One of them."""
        return self.course.assignment(name)

    def suite_digest(self, assignment: Assignment) -> str:
        """A digest of everything a score depends on besides the submission."""
        return suite_digest(assignment)

    def submission_digest(self, submission: Submission, assignment: Assignment) -> str:
        """A digest of the files that count."""
        return submitted_digest(submission, assignment)

    def start_sandbox(
        self, tier: Tier | None, assignments: Sequence[Assignment]
    ) -> AbstractContextManager[ForkServer]:
        """The fork server whose workers run students' code."""
        return self.start(tier)

    def grader(
        self,
        fork_server: ForkServer,
        assignments: Sequence[Assignment],
        suite_digests: Mapping[str, str],
        secret: bytes,
    ) -> SubmissionGrader:
        """Collects the suites, and is ready to grade."""
        torch.set_num_threads(1)  # before anything is forked: forks of more threads may hang
        exercises = [exercise for a in assignments for exercise in a.exercises]
        runner = collect_suites(self.course.root, [e.hidden_suite for e in exercises])
        diagnoses = {
            exercise.hidden_suite: Diagnosis(runner, self.course, exercise)
            for exercise in exercises
        }
        seeds = Seeds({a.name: asked_digest(a) for a in assignments}, secret, self.seed)
        return SubmissionGrader(runner, fork_server, suite_digests, diagnoses, seeds)
