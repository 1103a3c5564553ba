"""Defines the engine for assignments in which hidden suites judge students' code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..course import Course
from ..records import Assignment, Tier
from ..sandbox import ForkServer, Preparation, fork_server_ahead
from ..submission import Submission
from .secret import Seeds, asked_digest, submitted_digest, suite_digest

if TYPE_CHECKING:  # this loads torch, which is better done while the fork server does so, too
    from .submissions import SubmissionGrader

#: starts the fork server for the requested tier
Start = Callable[[Tier | None], AbstractContextManager[ForkServer]]

#: the minimum number of workers for which preparing in the fork server pays off (see
#: `benchmarks/tricks.py`)
_MANY_WORKERS = 30


@dataclass(frozen=True, slots=True)
class SuiteEngine:
    """Grades a course's assignments with their suites; see `grading.engine.Engine`.

    `start` may provide a fork server that is already running. If `seed` is given, it is the seed
    for every attempt; by default, seeds are derived from the class secret.
    """

    course: Course
    start: Start | None = None
    seed: int | None = None

    @property
    def names(self) -> Collection[str]:
        return [assignment.name for assignment in self.course.assignments]

    def assignment(self, name: str) -> Assignment:
        return self.course.assignment(name)

    def suite_digest(self, assignment: Assignment) -> str:
        return suite_digest(assignment)

    def submission_digest(self, submission: Submission, assignment: Assignment) -> str:
        return submitted_digest(submission, assignment)

    @contextlib.contextmanager
    def start_sandbox(
        self, tier: Tier | None, assignments: Sequence[Assignment], workers: int | None = None
    ) -> Iterator[ForkServer]:
        """Starts the fork server for students' code; meanwhile, loads torch in this process."""
        if self.start:
            with self.start(tier) as fork_server:
                yield fork_server
            return
        ahead = Preparation(
            second_device=_asks_for_layers(assignments),
            many_workers=workers is None or workers >= _MANY_WORKERS,
        )
        with fork_server_ahead(tier, ahead) as start:
            from . import submissions  # noqa: F401 - loads torch

            with start(tier) as fork_server:
                yield fork_server

    def grader(
        self,
        fork_server: ForkServer,
        assignments: Sequence[Assignment],
        suite_digests: Mapping[str, str],
        secret: bytes,
    ) -> SubmissionGrader:
        """Collects the suites, and returns a grader."""
        import torch

        from .exercises import ask_text
        from .judging.suites import collect_suites
        from .naming.diagnosis import Diagnosis
        from .submissions import SubmissionGrader

        torch.set_num_threads(1)  # before forking: a fork of a threaded process may hang
        exercises = [(a, exercise) for a in assignments for exercise in a.exercises]
        runner = collect_suites(self.course.root, [e.hidden_suite for _, e in exercises])
        diagnoses = {
            exercise.hidden_suite: Diagnosis(
                runner, self.course, exercise, partial(ask_text, fork_server, assignment, exercise)
            )
            for assignment, exercise in exercises
        }
        seeds = Seeds({a.name: asked_digest(a) for a in assignments}, secret, self.seed)
        return SubmissionGrader(runner, fork_server, suite_digests, diagnoses, seeds)


def _asks_for_layers(assignments: Sequence[Assignment]) -> bool:
    """Returns whether any question asks for a class: tests move such answers to another device."""
    return any(q.is_class for a in assignments for e in a.exercises for q in e.questions)
