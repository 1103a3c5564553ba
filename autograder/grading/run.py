"""A grading run from end to end: one loop for any kind of assignment."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..records import Assignment, SubmissionResult, SubmissionStatus, Tier
from ..results.file import History, ResultsFile
from ..sandbox import ForkServer
from ..submission import Submission, find_submissions, is_submitted
from .costs import Costs, Stage, together
from .failure import failed
from .job import Grader
from .jobs import ClassGrader, OnResult
from .options import RunEvents, RunOptions
from .secret import FILE_NAME, class_secret
from .shards import RunReport, ToGrade, in_shard
from .sources import Listed, Source, Task


class Engine(Protocol):
    """How one kind of assignment is graded."""

    @property
    def names(self) -> Collection[str]:
        """The assignments that it grades."""

    def assignment(self, name: str) -> Assignment:
        """One of them; raises `UserError` where it is not ready to be graded."""

    def suite_digest(self, assignment: Assignment) -> str:
        """A digest of all that a score depends on besides the submission."""

    def submission_digest(self, submission: Submission, assignment: Assignment) -> str:
        """A digest of what a student submitted."""

    def start_sandbox(
        self, tier: Tier | None, assignments: Sequence[Assignment]
    ) -> AbstractContextManager[ForkServer]:
        """The fork server whose workers run students' code."""

    def grader(
        self,
        fork_server: ForkServer,
        assignments: Sequence[Assignment],
        suite_digests: Mapping[str, str],
        secret: bytes,
    ) -> Grader:
        """What grades one submission after the other; jobs are forks of it."""


def grade_class(engines: Sequence[Engine], options: RunOptions, events: RunEvents) -> RunReport:
    """Grades every submission below a folder and appends one line each to the results file.

    Raises `UserError` for what the user must change, `IsolationUnavailable` where there is no
    tier, and `GraderError` when the grader itself fails.
    """
    names = sorted(name for engine in engines for name in engine.names)
    found = find_submissions(options.submitted, names, options.assignment)
    found = found.or_refuse(options.submitted)
    mine = in_shard(found.submissions, options.shard)
    with ResultsFile(options.results) as file:
        history = file.history()
        parts = [
            _grade_part(engine, of_engine, history, options, file, events)
            for engine in engines
            if (of_engine := [s for s in mine if s.assignment in engine.names]) or not mine
        ]
        return RunReport(
            found,
            graded=sum(part.graded for part in parts),
            failed=sum(part.failed for part in parts),
            already_graded=len(mine) - sum(part.graded for part in parts),
            tier=parts[0].tier,
            truncated=file.truncated,
            costs=_all_costs(parts),
        )


def _all_costs(parts: Sequence[_Part]) -> Costs:
    """What all parts cost; empty where nothing was graded."""
    costs: Costs = {}
    for part in parts:
        costs = together(costs, part.costs)
    if not costs:
        return {}
    # all that this process did besides, from its birth
    start = time.process_time() - costs[Stage.PLAN] - costs[Stage.WRITE]
    return together(costs, {Stage.START: start})


@dataclass(slots=True)
class _Part:
    """What was done with one engine."""

    tier: Tier
    graded: int = 0
    failed: int = 0
    costs: Costs = field(default_factory=dict)


def _grade_part(
    engine: Engine,
    submissions: Sequence[Submission],
    history: History,
    options: RunOptions,
    file: ResultsFile,
    events: RunEvents,
) -> _Part:
    assignments = {
        name: engine.assignment(name) for name in sorted({s.assignment for s in submissions})
    }
    digests = {name: engine.suite_digest(a) for name, a in assignments.items()}
    with engine.start_sandbox(options.tier, list(assignments.values())) as fork_server:
        new = ToGrade(engine.submission_digest, digests, history, options.resume)
        tasks = [(s, assignments[s.assignment]) for s in submissions]
        tasks = [new.numbered(task) for task in tasks if new.has(task)]
        events.starts(fork_server.tier, len(tasks), len(submissions) - len(tasks))
        part = _Part(fork_server.tier)

        def on_result(result: SubmissionResult) -> None:
            file.append(result)
            part.graded += 1
            part.failed += result.status is SubmissionStatus.FAILED
            events.graded(result)

        if tasks:
            secret = class_secret(options.secret or options.results.with_name(FILE_NAME))
            part.costs = grade_submissions(
                engine, tasks, fork_server, digests, options.jobs, on_result, secret
            )
    return part


def grade_submissions(
    engine: Engine,
    tasks: Sequence[Task],
    fork_server: ForkServer,
    suite_digests: Mapping[str, str],
    jobs: int,
    on_result: OnResult,
    secret: bytes = b"",
) -> Costs:
    """Starts the jobs, and hands on every result as it comes; `secret` is the class's."""
    if not tasks:
        return {}
    assignments = list({assignment.name: assignment for _, assignment in tasks}.values())
    grader = engine.grader(fork_server, assignments, suite_digests, secret)
    collected = time.process_time()
    grader.prepare([_submitted_part(assignment, tasks) for assignment in assignments])
    planned = time.process_time()
    fork_server.wait_until_ready()
    started = fork_server.cpu_seconds()
    source = Listed(tasks)
    of_jobs = run_jobs(grader, assignments, assignments, source, suite_digests, jobs, on_result)
    return {
        Stage.START: started,
        Stage.PLAN: planned - collected,
        # less than nothing where it was replaced
        Stage.ASK: max(0.0, fork_server.cpu_seconds() - started),
        **of_jobs,
        Stage.WRITE: time.process_time() - planned,
    }


def _submitted_part(assignment: Assignment, tasks: Sequence[Task]) -> Assignment:
    """The assignment with those of its exercises that anybody submitted."""
    folders = [submission.folder for submission, own in tasks if own.name == assignment.name]
    exercises = (e for e in assignment.exercises if any(is_submitted(e, f) for f in folders))
    return replace(assignment, exercises=tuple(exercises))


def run_jobs(
    grader: Grader,
    assignments: Sequence[Assignment],
    prepared: Sequence[Assignment],
    source: Source,
    suite_digests: Mapping[str, str],
    jobs: int,
    on_result: OnResult,
) -> Costs:
    """Grades what a source gives of these assignments, to its end; returns what the jobs cost.

    `prepared` are those that the grader is prepared for.
    """
    by_name = {assignment.name: assignment for assignment in assignments}

    def on_failed(submission: Submission, reason: str) -> SubmissionResult:
        name = submission.assignment
        return failed(
            submission, by_name[name], suite_digests[name], grader.fork_server.tier, reason
        )

    names = frozenset(assignment.name for assignment in prepared)
    class_grader = ClassGrader(grader, on_failed, on_result, jobs, names)
    class_grader.run(source)
    return class_grader.costs
