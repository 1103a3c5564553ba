"""One job of a run: a fork of the loaded grader that grades one submission after the other."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Protocol

from ..errors import SandboxError, SubmissionError
from ..records import Assignment, SubmissionResult
from ..sandbox import ForkServer
from ..submission import Submission
from .job_timeout import JobTimeout
from .watch import FailureLog, Watch

_fork = multiprocessing.get_context("fork")
_PR_SET_PDEATHSIG = 1


class Grader(Protocol):
    """Grades one submission after the other, each in the sandbox."""

    @property
    def fork_server(self) -> ForkServer:
        """The fork server that provides workers."""

    def prepare(self, assignments: Sequence[Assignment]) -> None:
        """Does once, in advance, what every job would otherwise have to do."""

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        watch: Watch | None = None,
    ) -> SubmissionResult:
        """Returns the result of one submission; raises an error only for the grader's own faults.

        `watch` records the current place, and says which places to leave out.
        """


@dataclass(slots=True)
class JobTask:
    """A submission to be graded, and how often that has been tried."""

    submission: Submission
    assignment: Assignment
    tries: int = 0
    losses: int = 0
    ends: FailureLog = field(default_factory=FailureLog)


class SandboxFailure(str):
    """The reply of a job when the sandbox has failed."""


@dataclass(slots=True)
class Job:
    """A grading process and its current submission.

    `prepared` are the assignments that its grader was prepared for.
    """

    process: BaseProcess
    pipe: Connection
    watch: Watch
    patience: JobTimeout
    prepared: frozenset[str]
    task: JobTask | None = None

    @classmethod
    def start(cls, grader: Grader, prepared: frozenset[str], others: Sequence[Job]) -> Job:
        """Forks a job; `others` are those that already run."""
        near, far = _fork.Pipe()
        watch = Watch()
        args = (grader, far, [near, *(job.pipe for job in others)], watch)
        process = _fork.Process(target=_work, args=args, daemon=True)
        process.start()
        far.close()
        return cls(process, near, watch, JobTimeout(watch, process.pid or 0), prepared)

    def give(self, task: JobTask) -> None:
        """Sends a submission to the job; its reply, or its end, arrives through the pipe."""
        self.task = task
        task.tries += 1
        self.patience.begin(task.assignment)
        with contextlib.suppress(OSError):  # the job ended while it had nothing to do
            self.pipe.send((task.submission, task.assignment, task.ends.left_out))

    def stop(self) -> None:
        """Ends the job, whatever it is doing."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _work(grader: Grader, pipe: Connection, not_mine: Sequence[Connection], watch: Watch) -> None:
    """Runs in a job's process: grades what it receives until the pipe closes."""
    _end_with_the_grader()
    watch.begin()
    for other in not_mine:
        other.close()
    gc.freeze()  # torch and the suites are never freed; collecting among them takes 0.1 s each time
    while True:
        try:
            submission, assignment, watch.left_out = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
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
    """Ends this process with its parent: an orphaned job would keep the results file locked."""
    grader = multiprocessing.parent_process()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if grader is not None and os.getppid() != grader.pid:
        os._exit(1)
