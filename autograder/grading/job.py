"""One job of a run: a fork of the warm grader that grades one submission after the other."""

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
from .patience import Patience
from .watch import Ends, Watch

_fork = multiprocessing.get_context("fork")
_PR_SET_PDEATHSIG = 1


class Grader(Protocol):
    """Grades one submission after the other, each in the sandbox."""

    @property
    def fork_server(self) -> ForkServer:
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


@dataclass(slots=True)
class JobTask:
    """A submission that is to be graded, and how often that was tried."""

    submission: Submission
    assignment: Assignment
    tries: int = 0
    losses: int = 0
    ends: Ends = field(default_factory=Ends)


class Lost(str):
    """A job's answer when the sandbox failed it."""


@dataclass(slots=True)
class Job:
    """A process that grades, and the submission that it is at.

    `prepared` are the assignments that its grader was prepared for.
    """

    process: BaseProcess
    pipe: Connection
    watch: Watch
    patience: Patience
    prepared: frozenset[str]
    task: JobTask | None = None

    @classmethod
    def start(cls, grader: Grader, prepared: frozenset[str], others: Sequence[Job]) -> Job:
        """Forks one; `others` are those that run already."""
        near, far = _fork.Pipe()
        watch = Watch()
        args = (grader, far, [near, *(job.pipe for job in others)], watch)
        process = _fork.Process(target=_work, args=args, daemon=True)
        process.start()
        far.close()
        return cls(process, near, watch, Patience(watch, process.pid or 0), prepared)

    def give(self, task: JobTask) -> None:
        """Has it grade a submission; the answer, or its end, is at the pipe."""
        self.task = task
        task.tries += 1
        self.patience.begin(task.assignment)
        with contextlib.suppress(OSError):  # it ended while it had nothing to do
            self.pipe.send((task.submission, task.assignment, task.ends.left_out))

    def stop(self) -> None:
        """Ends it, whatever it does."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


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
            answer = Lost(traceback.format_exc())
        except (SubmissionError, PermissionError) as error:
            answer = str(error)
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
