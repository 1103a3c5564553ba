"""A grading run from end to end: which submissions, which tier, which results file."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from ..course import Course
from ..records import Assignment, SubmissionResult, Tier
from ..results.file import ResultsFile
from ..sandbox import ForkServer, start_fork_server
from ..submission import Found, Submission, find_submissions, submission_digest
from .jobs import ClassGrader
from .judging.suites import SuiteRunner, with_suites
from .naming.diagnosis import Diagnosis
from .options import RunOptions
from .submissions import SubmissionGrader, failed, suite_digest


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a grading run did."""

    found: Found
    graded: tuple[SubmissionResult, ...]
    already_graded: int
    tier: Tier
    torn: Path | None


class RunEvents(Protocol):
    """What a run tells while it goes on."""

    def starts(self, tier: Tier, to_grade: int, already_graded: int) -> None:
        """The wall stands, the suites are collected."""

    def graded(self, result: SubmissionResult) -> None:
        """A submission has its result, and the results file its line."""


def grade_class(
    course: Course,
    options: RunOptions,
    events: RunEvents,
    wall: Callable[[Tier | None], AbstractContextManager[ForkServer]] = start_fork_server,
) -> RunReport:
    """Grades every submission below a folder and appends one line each to the results file.

    `wall` gives the worker parent for the wanted tier: a new one, by default.
    Raises `UserError` for what the user must change, `IsolationUnavailable` where there is no
    tier, and `GraderError` when the grader itself fails.
    """
    found = find_submissions(
        options.submitted, [a.name for a in course.assignments], options.assignment
    ).or_refuse(options.submitted)
    mine = [s for s in found.submissions if _in_shard(s, options.shard)]
    used = {s.assignment for s in mine}
    assignments = {a.name: a for a in course.assignments if a.name in used}
    digests = {name: suite_digest(course.root, a) for name, a in assignments.items()}
    with ResultsFile(options.results) as file, wall(options.tier) as parent:
        tasks = _to_grade(mine, assignments, digests, file if options.resume else None)
        events.starts(parent.tier, len(tasks), len(mine) - len(tasks))
        graded: list[SubmissionResult] = []

        def on_result(result: SubmissionResult) -> None:
            file.append(result)
            graded.append(result)
            events.graded(result)

        if tasks:
            grade_submissions(course, tasks, parent, options.jobs, on_result)
        return RunReport(found, tuple(graded), len(mine) - len(tasks), parent.tier, file.torn)


def grade_submissions(
    course: Course,
    tasks: Sequence[tuple[Submission, Assignment]],
    parent: ForkServer,
    jobs: int,
    on_result: Callable[[SubmissionResult], None],
    seed: int | None = None,
) -> None:
    """Collects the suites, starts the jobs, and hands on every result as it comes.

    `seed` is one for all submissions; by default each has its own.
    """
    torch.set_num_threads(1)
    by_name = {assignment.name: assignment for _, assignment in tasks}
    digests = {name: suite_digest(course.root, a) for name, a in by_name.items()}
    exercises = [e for assignment in by_name.values() for e in assignment.exercises]

    def work(runner: SuiteRunner) -> None:
        diagnoses = {
            exercise.hidden_suite: Diagnosis(
                runner, exercise, course.variants("misconceptions", exercise)
            )
            for exercise in exercises
        }
        grader = SubmissionGrader(runner, parent, digests, diagnoses, seed)

        def on_failed(submission: Submission, reason: str) -> SubmissionResult:
            name = submission.assignment
            return failed(submission, by_name[name], digests[name], parent.tier, reason)

        ClassGrader(grader, on_failed, on_result, jobs).run(tasks)

    with_suites(course.root, [exercise.hidden_suite for exercise in exercises], work)


def _to_grade(
    submissions: list[Submission],
    assignments: dict[str, Assignment],
    digests: dict[str, str],
    file: ResultsFile | None,
) -> list[tuple[Submission, Assignment]]:
    done = file.graded() if file else set()
    return [
        (submission, assignments[submission.assignment])
        for submission in submissions
        if not done or _key(submission, assignments[submission.assignment], digests) not in done
    ]


def _key(
    submission: Submission, assignment: Assignment, digests: dict[str, str]
) -> tuple[str, str, str, str]:
    digest = submission_digest(submission.folder, assignment.exercises)
    return submission.student, submission.assignment, digest, digests[assignment.name]


def _in_shard(submission: Submission, shard: tuple[int, int]) -> bool:
    index, count = shard
    name = f"{submission.student}/{submission.assignment}".encode(errors="surrogateescape")
    return zlib.crc32(name) % count == index - 1
