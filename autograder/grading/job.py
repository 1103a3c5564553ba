"""Runs jobs; a job is a fork of the loaded grader, and grades one submission after another."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from ..errors import SandboxError, SubmissionError
from ..records import Assignment, SubmissionResult
from ..sandbox import ForkServer
from ..sandbox.clock import cpu_seconds
from ..submission import Submission
from .watch import FailureLog, Stage, Watch

#: the seconds that are added to the time limit for a submission or a question
_MORE_SECONDS = 60.0
#: the maximum number of seconds for making a table of known mistakes: tens of CPU seconds are
#: usual, but the machine may be busy
_TABLE_SECONDS = 1800.0
#: if the grader looks at a job this many seconds too late, the grader was suspended, or the clock
#: was changed
_LATE_SECONDS = 10.0
#: the CPU seconds that a job must use between two looks at it to count as making progress
_COMPUTES = 0.5


@dataclass(slots=True)
class JobTimeout:
    """The time limits for a job's process, which reports its current place to `watch`.

    The kernel ends a job that computes endlessly. A job that sleeps, waits or is suspended uses no
    CPU time, so it is abandoned after `quiet_seconds` without progress. A job that makes a table of
    known mistakes, or waits for a job that does, gets more time. Time during which the grader
    itself was not running does not count.
    """

    watch: Watch
    pid: int
    _end: float = 0.0
    _look: float = 0.0
    _quiet: float = 0.0
    _steps: int = 0
    _seconds: float = 0.0
    _table_end: float | None = None

    def begin(self, assignment: Assignment) -> None:
        """Starts the clock for a submission."""
        self._end = time.monotonic() + whole_seconds(assignment)
        self._quiet = quiet_seconds(assignment)
        self._note()

    @property
    def due(self) -> float:
        """The time at which `is_out` should be called again."""
        return min(self._end, self._look)

    def is_out(self) -> bool:
        """Returns whether the job has taken too long altogether, or too long without progress."""
        now = time.monotonic()
        if now <= self.due:
            return False
        if (late := now - self.due) > _LATE_SECONDS:
            self._forgive(late)
            return False
        if self._is_in_time_for_a_table(now):
            return False
        seconds = cpu_seconds(self.pid) - self._seconds
        if now > self._end or (self.watch.steps == self._steps and seconds < _COMPUTES):
            return True
        self._note()
        return False

    def _forgive(self, seconds: float) -> None:
        """Extends the limits by the seconds during which the grader was not running."""
        self._end += seconds
        if self._table_end is not None:
            self._table_end += seconds
        self._note()

    def _is_in_time_for_a_table(self, now: float) -> bool:
        """Returns whether the job is making a table and has time left for it.

        In that case, extends the submission's time limit.
        """
        if self.watch.stage is not Stage.TABLES:
            self._table_end = None
            return False
        self._table_end = self._table_end or now + _TABLE_SECONDS
        self._end = max(self._end, now + self._quiet)
        self._note()
        return now < self._table_end

    def _note(self) -> None:
        self._steps, self._seconds = self.watch.steps, cpu_seconds(self.pid)
        self._look = time.monotonic() + self._quiet


def whole_seconds(assignment: Assignment) -> float:
    """Returns a submission's time limit in seconds: twice its questions' limits, plus a minute."""
    questions = sum(len(exercise.questions) for exercise in assignment.exercises)
    return 2 * questions * assignment.limits.wall_seconds + _MORE_SECONDS


def quiet_seconds(assignment: Assignment) -> float:
    """Returns how many seconds a job may spend on a question without making progress."""
    return 2 * assignment.limits.wall_seconds + _MORE_SECONDS


_fork = multiprocessing.get_context("fork")
_PR_SET_PDEATHSIG = 1


class Grader(Protocol):
    """Grades one submission after another, each in the sandbox."""

    @property
    def fork_server(self) -> ForkServer:
        """The fork server that provides workers."""

    def prepare(self, assignments: Sequence[Assignment]) -> None:
        """Prepares to grade these assignments, in this process and in all jobs forked later."""

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        watch: Watch | None = None,
    ) -> SubmissionResult:
        """Returns the result for a submission; raises an error only if the grader itself fails.

        `watch` records the place in the submission that is being graded, and contains the places
        that must be left out.
        """


@dataclass(slots=True)
class JobTask:
    """A submission to grade.

    `tries` counts the attempts to grade the submission, and `losses` counts the fork servers lost
    during these attempts. `ends` counts how often a job has ended at each place in the submission.
    """

    submission: Submission
    assignment: Assignment
    tries: int = 0
    losses: int = 0
    ends: FailureLog = field(default_factory=FailureLog)


class SandboxFailure(str):
    """A job's reply if the sandbox has failed; the string is the reason."""


@dataclass(slots=True)
class Job:
    """A grading process and its current submission.

    `prepared` contains the names of the assignments for which the job's grader was prepared.
    """

    process: BaseProcess
    pipe: Connection
    watch: Watch
    patience: JobTimeout
    prepared: frozenset[str]
    #: the number of the fork server that starts this job's workers
    fork_server: int = 0
    #: the assignment that the job already has, so that it need not be sent again
    known: Assignment | None = None
    task: JobTask | None = None

    @classmethod
    def start(cls, grader: Grader, prepared: frozenset[str], others: Sequence[Job]) -> Job:
        """Forks a job; the new process closes its copies of the other jobs' pipes.

        The job uses the fork server with the fewest other jobs.
        """
        near, far = _fork.Pipe()
        watch = Watch()
        used = [job.fork_server for job in others]
        number = min(range(grader.fork_server.count), key=used.count)
        args = (grader, number, far, [near, *(job.pipe for job in others)], watch)
        process = _fork.Process(target=_work, args=args, daemon=True)
        process.start()
        far.close()
        return cls(process, near, watch, JobTimeout(watch, process.pid or 0), prepared, number)

    def give(self, task: JobTask) -> None:
        """Sends a submission to the job; the pipe becomes readable when the job replies or ends."""
        self.task = task
        task.tries += 1
        self.patience.begin(task.assignment)
        new = None if task.assignment is self.known else task.assignment
        self.known = task.assignment
        with contextlib.suppress(OSError):  # the job may have ended while it was idle
            self.pipe.send((task.submission, new, task.ends.left_out))

    def stop(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _work(
    grader: Grader,
    fork_server: int,
    pipe: Connection,
    not_mine: Sequence[Connection],
    watch: Watch,
) -> None:
    """Grades submissions from the pipe until the pipe closes; this is the main loop of a job."""
    _end_with_the_grader()
    grader.fork_server.choose(fork_server)
    watch.begin()
    for other in not_mine:
        other.close()
    gc.freeze()  # torch and the suites are never freed, and each collection would take 0.1 s
    assignment: Any = None
    while True:
        try:
            submission, new, watch.left_out = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        assignment = new or assignment  # an assignment is sent only if it differs from the last
        try:
            answer: SubmissionResult | str = grader.grade(submission, assignment, watch)
        except KeyboardInterrupt:
            return
        except SandboxError as error:
            answer = SandboxFailure(error)
        except (SubmissionError, PermissionError) as error:
            answer = str(error)
        except Exception:
            answer = traceback.format_exc()
        try:
            pipe.send(answer)
        except OSError:
            return


def _end_with_the_grader() -> None:
    """Makes this process end when its parent ends: an orphaned job would lock the results file."""
    grader = multiprocessing.parent_process()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if grader is not None and os.getppid() != grader.pid:
        os._exit(1)
