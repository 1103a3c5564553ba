"""Grades a whole class with jobs, which are forks of one loaded grader that share fork servers.

If a job dies, the submission that it was grading is graded again, and the run continues. If a
student's file or answer ended the job (see `watch`), only that file or answer is left out, and the
rest is graded.
"""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait

from ..records import Assignment, SubmissionResult, Tier
from ..sandbox import ForkServer
from ..sandbox.clock import cpu_seconds
from ..submission import Submission
from .engine import OnResult, Ready, Scope
from .job import Grader, Job, JobTask, SandboxFailure
from .sources import Source
from .watch import Costs, Stage, Watch, total_costs

_TRIES = 2
#: the maximum number of jobs that share a fork server (see `benchmarks/many_jobs.py`)
JOBS_EACH = 8
#: a submission is given up if this many fork servers have been lost while it was being graded
_LOSSES = 5

#: creates the result for a submission that could not be graded, given the reason
Failed = Callable[[Submission, str], SubmissionResult]


@dataclass(frozen=True, slots=True)
class Jobs:
    """Grades on this machine: the default backend of a run.

    `around` may wrap the engine's grader in a different grader. If the isolation tier was not
    requested and is not the strongest one, `weaker` is called before anything is graded, with the
    tier and the reasons why stronger tiers were not used. `weaker` may raise `UserError`.
    """

    secret: bytes = b""
    jobs: int = 1
    tier: Tier | None = None
    around: Callable[[Grader], Grader] = lambda grader: grader
    weaker: Callable[[Tier, Sequence[str]], None] = lambda tier, why: None

    def grade(self, scope: Scope, source: Source, on_result: OnResult, ready: Ready) -> Costs:
        Watch.require()
        assignments = list(scope.assignments.values())
        workers = source.workers()
        busy = self.jobs if workers is None else min(self.jobs, workers)
        with (
            scope.engine.start_sandbox(self.tier, assignments, workers) as first,
            for_jobs(first, busy) as fork_server,
        ):
            if fork_server.passed_over:
                self.weaker(fork_server.tier, fork_server.passed_over)
            grader = self.around(
                scope.engine.grader(fork_server, assignments, scope.suite_digests, self.secret)
            )
            collected = time.process_time()
            prepared = source.planned()
            grader.prepare(prepared)
            planned = time.process_time()
            fork_server.wait_until_ready()
            started = fork_server.cpu_seconds()
            ready(fork_server.tier)

            def failed(submission: Submission, reason: str) -> SubmissionResult:
                return scope.failed(submission, grader.fork_server.tier, reason)

            names = frozenset(assignment.name for assignment in prepared)
            class_grader = ClassGrader(grader, failed, on_result, self.jobs, names)
            class_grader.run(source)
            return {
                Stage.START: started,
                Stage.PLAN: planned - collected,
                # the difference is negative if the fork server was restarted meanwhile
                Stage.ASK: max(0.0, fork_server.cpu_seconds() - started),
                **class_grader.costs,
                Stage.WRITE: time.process_time() - planned,
            }


@contextlib.contextmanager
def for_jobs(first: ForkServer, jobs: int) -> Iterator[ForkServer]:
    """Yields as many fork servers as the jobs need, combined into one; `first` is one of them."""
    count = math.ceil(jobs / JOBS_EACH)
    if count <= 1:
        yield first
        return
    from ..sandbox.fork_servers import ForkServers

    fork_servers = ForkServers(first, count)
    try:
        yield fork_servers
    finally:
        fork_servers.close()


@dataclass(slots=True)
class _Queue:
    """The submissions to grade: first those to be graded again, then those from the source."""

    source: Source
    _again: list[JobTask] = field(default_factory=list)

    def append(self, task: JobTask) -> None:
        self._again.append(task)

    def take(self) -> JobTask | None:
        if self._again:
            return self._again.pop()
        task = self.source.take()
        return JobTask(*task) if task else None

    @property
    def has_ended(self) -> bool:
        return not self._again and self.source.has_ended


@dataclass(slots=True)
class ClassGrader:
    """Grades submissions in up to `jobs` processes; passes on each result when it is ready.

    `prepared` contains the names of the assignments for which the grader is prepared. When the
    first submission for any other assignment arrives, the grader is prepared for it, and the
    processes that were forked before are replaced.
    """

    grader: Grader
    failed: Failed
    on_result: OnResult
    jobs: int
    prepared: frozenset[str] = frozenset()
    #: the costs of all jobs that have ended
    costs: Costs = field(default_factory=dict)
    _running: list[Job] = field(default_factory=list)

    def run(self, source: Source) -> None:
        """Grades all submissions; returns when the source has ended and each has a result."""
        waiting = _Queue(source)
        try:
            self._feed(waiting)
            while not waiting.has_ended or any(job.task for job in self._running):
                self._collect(waiting)
                self._feed(waiting)
        finally:
            for job in self._running:
                self._stop(job)
            self._running = []

    def _stop(self, job: Job) -> None:
        job.watch.book_end(cpu_seconds(job.process.pid or 0))  # also for a job that has died
        job.stop()
        self.costs = total_costs(self.costs, job.watch.costs)

    def _feed(self, waiting: _Queue) -> None:
        for job in list(self._running):
            if job.task is None and (task := waiting.take()):
                self._prepare_for(task.assignment)
                if task.assignment.name not in job.prepared:
                    self._end(job)
                    job = self._begin()
                job.give(task)
        while len(self._running) < self.jobs and (task := waiting.take()):
            self._prepare_for(task.assignment)
            self._begin().give(task)

    def _prepare_for(self, assignment: Assignment) -> None:
        if assignment.name not in self.prepared:
            self.grader.prepare([assignment])
            self.prepared |= {assignment.name}

    def _begin(self) -> Job:
        job = Job.start(self.grader, self.prepared, self._running)
        self._running.append(job)
        return job

    def _end(self, job: Job) -> None:
        self._stop(job)
        self._running.remove(job)

    def _collect(self, waiting: _Queue) -> None:
        busy = [job for job in self._running if job.task]
        has_room = len(busy) < self.jobs
        ready = wait(
            [*(job.pipe for job in busy), *(waiting.source.awaited() if has_room else ())],
            max(0.0, min(job.patience.due for job in busy) - time.monotonic()) if busy else None,
        )
        for job in busy:
            if job.pipe in ready:
                if not self._take(job, waiting):
                    return
            elif job.patience.is_out():
                self._replace(job, waiting, "the grader got stuck on this submission")

    def _take(self, job: Job, waiting: _Queue) -> bool:
        """Handles a job's reply; returns False if the fork server and all jobs were replaced."""
        assert job.task is not None
        try:
            answer = job.pipe.recv()
        except (EOFError, OSError):
            self._replace(job, waiting, "the grader's process ended during this submission")
            return True
        if isinstance(answer, SandboxFailure) and self.grader.fork_server.has_ended():
            self._restart(waiting, answer)
            return False
        task, job.task = job.task, None
        if isinstance(answer, SubmissionResult):
            self._feed(waiting)  # give the job more work before the result is written
            self.on_result(answer)
        else:
            self._again(task, waiting, answer)
        return True

    def _replace(self, job: Job, waiting: _Queue, reason: str) -> None:
        task = job.task
        assert task is not None
        self._end(job)
        self._begin()
        out_of_time = job.process.exitcode == -signal.SIGXCPU
        if task.ends.count(job.watch.place(), out_of_time):
            waiting.append(task)
        else:
            self._again(task, waiting, reason)

    def _restart(self, waiting: _Queue, reason: str) -> None:
        """Replaces all fork servers, and all jobs that use them, because one server was lost."""
        tasks = [job.task for job in self._running if job.task]
        count = len(self._running)
        for job in self._running:
            self._stop(job)
        self._running = []
        for task in tasks:
            task.losses += 1
            task.tries -= task.losses < _LOSSES
            self._again(task, waiting, reason)
        self.grader.fork_server.restart()
        for _ in range(count):
            self._begin()

    def _again(self, task: JobTask, waiting: _Queue, reason: str) -> None:
        if task.tries < _TRIES:
            waiting.append(task)
        else:
            self.on_result(self.failed(task.submission, reason))
