"""Grades a whole class: jobs are forks of one warm grader, and share one fork server.

A job that dies costs the submission it was at, which is tried again; the run goes on. Where a
student's file or answer ended it (`watch`), that is left out and the rest is graded.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Protocol

from ..errors import SandboxError
from ..records import Assignment, SubmissionResult
from ..sandbox import ForkServer
from ..submission import Submission
from .sources import Source
from .submissions import OnResult
from .watch import Ends, Watch

_fork = multiprocessing.get_context("fork")
#: beyond its questions' limits a submission may take so long before its job is given up
_PATIENCE_SECONDS = 60.0
_TRIES = 2
#: a lost fork server is replaced; a submission that was being graded so often then is given up
_LOSSES = 5
_PR_SET_PDEATHSIG = 1


class Grader(Protocol):
    """Grades one submission after the other, each in the sandbox."""

    @property
    def parent(self) -> ForkServer:
        """Where workers come from."""

    def prepare(self, assignments: Sequence[Assignment]) -> None:
        """Does ahead what every job would have to do for itself."""

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        watch: Watch | None = None,
    ) -> SubmissionResult:
        """The result of one submission; raises only for the grader's own faults.

        `watch` is told where grading is, and knows what is to be left out.
        """


Failed = Callable[[Submission, str], SubmissionResult]


@dataclass(slots=True)
class _Job:
    process: BaseProcess
    pipe: Connection
    watch: Watch
    task: _Task | None = None
    deadline: float = 0.0


@dataclass(slots=True)
class _Task:
    submission: Submission
    assignment: Assignment
    tries: int = 0
    losses: int = 0
    ends: Ends = field(default_factory=Ends)


@dataclass(slots=True)
class _Waiting:
    """What is to be graded: first what is tried again, then what the source gives."""

    source: Source
    _again: list[_Task] = field(default_factory=list)

    def append(self, task: _Task) -> None:
        """To be tried again."""
        self._again.append(task)

    def take(self) -> _Task | None:
        """The next one that is there."""
        if self._again:
            return self._again.pop()
        task = self.source.take()
        return _Task(*task) if task else None

    @property
    def has_ended(self) -> bool:
        """Whether there will be no other one."""
        return not self._again and self.source.has_ended


class _Lost(str):
    """A job's answer when the sandbox failed it."""


@dataclass(slots=True)
class ClassGrader:
    """Runs up to `jobs` processes over submissions and hands on each result as it comes."""

    grader: Grader
    failed: Failed
    on_result: OnResult
    jobs: int
    _running: list[_Job] = field(default_factory=list)

    def run(self, source: Source) -> None:
        """Grades all; returns when the source has ended and every submission has a result."""
        waiting = _Waiting(source)
        try:
            self._feed(waiting)
            while not waiting.has_ended or any(job.task for job in self._running):
                self._collect(waiting)
                self._feed(waiting)
        finally:
            for job in self._running:
                _stop(job)
            self._running = []

    def _start(self) -> _Job:
        near, far = _fork.Pipe()
        others = [job.pipe for job in self._running]
        watch = Watch()
        args = (self.grader, far, [near, *others], watch)
        process = _fork.Process(target=_work, args=args, daemon=True)
        process.start()
        far.close()
        return _Job(process, near, watch)

    def _feed(self, waiting: _Waiting) -> None:
        for job in self._running:
            if job.task is None and (task := waiting.take()):
                _give(job, task)
        while len(self._running) < self.jobs and (task := waiting.take()):
            self._running.append(self._start())
            _give(self._running[-1], task)

    def _collect(self, waiting: _Waiting) -> None:
        busy = [job for job in self._running if job.task]
        has_room = len(busy) < self.jobs
        ready = wait(
            [*(job.pipe for job in busy), *(waiting.source.awaited() if has_room else ())],
            max(0.0, min(job.deadline for job in busy) - time.monotonic()) if busy else None,
        )
        for job in busy:
            if job.pipe in ready:
                if not self._take(job, waiting):
                    return
            elif time.monotonic() > job.deadline:
                self._replace(job, waiting, "the grader got stuck on this submission")

    def _take(self, job: _Job, waiting: _Waiting) -> bool:
        """Takes a job's answer; False where that made an end of all jobs, and new ones began."""
        assert job.task is not None
        try:
            answer = job.pipe.recv()
        except (EOFError, OSError):
            self._replace(job, waiting, "the grader's process ended on this submission")
            return True
        if isinstance(answer, _Lost) and self.grader.parent.has_ended():
            self._start_anew(waiting, answer)
            return False
        task, job.task = job.task, None
        if isinstance(answer, SubmissionResult):
            self._feed(waiting)  # the job goes on while the result is written
            self.on_result(answer)
        else:
            self._again(task, waiting, answer)
        return True

    def _replace(self, job: _Job, waiting: _Waiting, reason: str) -> None:
        task = job.task
        assert task is not None
        _stop(job)
        self._running.remove(job)
        self._running.append(self._start())
        out_of_time = job.process.exitcode == -signal.SIGXCPU
        if task.ends.count(job.watch.place(), out_of_time):
            waiting.append(task)
        else:
            self._again(task, waiting, reason)

    def _start_anew(self, waiting: _Waiting, reason: str) -> None:
        """The fork server is gone: a new one, and jobs that know it."""
        tasks = [job.task for job in self._running if job.task]
        count = len(self._running)
        for job in self._running:
            _stop(job)
        self._running = []
        for task in tasks:
            task.losses += 1
            task.tries -= task.losses < _LOSSES
            self._again(task, waiting, reason)
        self.grader.parent.restart()
        for _ in range(count):
            self._running.append(self._start())

    def _again(self, task: _Task, waiting: _Waiting, reason: str) -> None:
        if task.tries < _TRIES:
            waiting.append(task)
        else:
            self.on_result(self.failed(task.submission, reason))


def _give(job: _Job, task: _Task) -> None:
    job.task = task
    task.tries += 1
    job.deadline = time.monotonic() + _patience(task.assignment)
    with contextlib.suppress(OSError):  # it ended while it had nothing to do: `_collect` notices
        job.pipe.send((task.submission, task.assignment, task.ends.left_out))


def _patience(assignment: Assignment) -> float:
    questions = sum(len(exercise.questions) for exercise in assignment.exercises)
    # a question may use its time twice over: once to be imported, once in its calls
    return 2 * questions * assignment.limits.wall_seconds + _PATIENCE_SECONDS


def _work(grader: Grader, pipe: Connection, not_mine: Sequence[Connection], watch: Watch) -> None:
    """A job's process: grades what it is sent until the pipe closes."""
    _end_with_the_grader()
    watch.begin()
    for other in not_mine:
        other.close()
    gc.freeze()  # torch and the suites stay: looking through them for garbage takes 0.1 s each time
    while True:
        try:
            submission, assignment, watch.left_out = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            answer: SubmissionResult | str = grader.grade(submission, assignment, watch)
        except KeyboardInterrupt:
            return
        except SandboxError:
            answer = _Lost(traceback.format_exc())
        except Exception:
            answer = traceback.format_exc()
        try:
            pipe.send(answer)
        except OSError:
            return


def _end_with_the_grader() -> None:
    """A killed grader leaves no job behind, which would keep the results file locked."""
    grader = multiprocessing.parent_process()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if grader is not None and os.getppid() != grader.pid:
        os._exit(1)


def _stop(job: _Job) -> None:
    job.pipe.close()
    job.process.kill()
    job.process.join()
