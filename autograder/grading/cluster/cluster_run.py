"""Defines the instructor's side of a cluster run: sends batches to workers and collects results."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from distributed import Client, Future, as_completed
from distributed.comm import CommClosedError

from ...course import Course, graded_files
from ...errors import GraderError, UserError
from ...records import SubmissionResult, SubmissionStatus, Tier
from ..engine import OnResult, Ready, Scope
from ..secret import class_secret
from ..sources import Source, Task
from ..suite_engine import SuiteEngine
from ..watch import Costs
from .node import GraderPlugin, grade_batch
from .packing import Document, encode, pack

#: the number of submissions in a batch, which takes a few seconds; if a worker is lost, its batches
#: are graded again
BATCH = 16
#: the number of batches queued for each thread of a worker, so that no thread waits for this
#: machine
_AHEAD = 2
_CONNECT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Cluster:
    """A backend for `grading.run.grade_class` that grades on the workers of a Dask scheduler.

    If a worker is lost, other workers grade its batches again. Raises `UserError` for an assignment
    without hidden suites, or if no scheduler or no worker responds. Raises `GraderError` if a
    worker has a different version of the grader.
    """

    address: str
    secret: Path
    tier: Tier | None = None

    def grade(self, scope: Scope, source: Source, on_result: OnResult, ready: Ready) -> Costs:
        """Grades on the workers; returns no costs, because workers don't report theirs."""
        engine = scope.engine
        if not isinstance(engine, SuiteEngine):
            raise UserError(
                "a cluster grades only assignments with hidden suites: for notebooks with "
                "nbgrader's own tests, leave out --scheduler"
            )
        plugin = _plugin(
            engine.course, sorted(scope.suite_digests), class_secret(self.secret), self.tier
        )
        with _client(self.address) as client:
            _Run(client, plugin, _Lines(scope, on_result)).grade(source, ready)
        return {}


@dataclass(slots=True)
class _Lines:
    scope: Scope
    on_result: OnResult
    tier: Tier = Tier.NONE

    def take(self, task: Task, line: bytes) -> None:
        """Reports a result after adding the student's name, which workers don't receive."""
        submission, assignment = task
        result = SubmissionResult.from_json(json.loads(line))
        if result.suite_digest != self.scope.suite_digests[assignment.name]:
            raise GraderError(
                "a worker has a different version of the grader than this machine: install the "
                "same version there, then run the command again with --resume"
            )
        if result.status is not SubmissionStatus.FAILED:
            self.tier = result.isolation
        self.on_result(replace(result, student=submission.student))

    def give_up(self, task: Task, reason: str) -> None:
        self.on_result(self.scope.failed(task[0], self.tier, reason))


@dataclass(slots=True)
class _Run:
    """Keeps all workers busy while holding only a few batches in memory."""

    client: Client
    plugin: GraderPlugin
    lines: _Lines
    _batches: dict[Future, Sequence[Task]] = field(default_factory=dict)

    def grade(self, source: Source, ready: Ready) -> None:
        try:
            self.client.register_plugin(self.plugin)
            ready(None)
            self._grade(_in_batches(source))
        except CommClosedError as error:
            raise _gone(str(error)) from error
        finally:
            with contextlib.suppress(OSError):
                self.client.unregister_worker_plugin(self.plugin.name)

    def _grade(self, waiting: Iterator[Sequence[Task]]) -> None:
        running = as_completed(loop=self.client.loop)
        self._fill(waiting, running)
        for future in running:
            batch = self._batches.pop(future)
            if future.status == "lost":  # the result was lost with its worker: wait for it again
                self._batches[future] = batch
                running.add(future)
                continue
            if future.status == "finished":
                for task, line in zip(batch, future.result().splitlines(), strict=True):
                    self.lines.take(task, line)
            elif future.status != "error":
                raise _gone(future.status)
            elif len(batch) > 1:  # one of them may have ended a grader: send each separately
                for task in batch:
                    self._begin([task], running)
            else:
                self.lines.give_up(batch[0], str(future.exception()))
            future.release()
            self._fill(waiting, running)

    def _fill(self, waiting: Iterator[Sequence[Task]], running: as_completed) -> None:
        while self._room() and (batch := next(waiting, None)):
            self._begin(batch, running)

    def _begin(self, batch: Sequence[Task], running: as_completed) -> None:
        """Sends a batch; a submission whose folder can't be read is reported as failed at once."""
        packed = [(task, document) for task in batch if (document := self._packed(task))]
        if not packed:
            return
        data = encode([document for _, document in packed])
        future = self.client.submit(grade_batch, self.plugin.name, data, pure=False, retries=1)
        self._batches[future] = [task for task, _ in packed]
        running.add(future)

    def _packed(self, task: Task) -> Document | None:
        submission, assignment = task
        try:
            return {**pack(submission.folder, assignment), "attempt": submission.attempt}
        except OSError as error:
            self.lines.give_up(task, str(error))
            return None

    def _room(self) -> int:
        """Returns the number of batches that may still be sent to the current workers."""
        threads: int = sum(self.client.nthreads().values())
        return max(0, _AHEAD * max(1, threads) - len(self._batches))


def _gone(reason: str) -> GraderError:
    return GraderError(
        f"the scheduler is gone ({reason}). Finished results are kept: start the scheduler, and "
        "run the command again with --resume"
    )


def _in_batches(source: Source) -> Iterator[Sequence[Task]]:
    tasks = iter(source.take, None)
    while batch := list(itertools.islice(tasks, BATCH)):
        yield batch


def _client(address: str) -> Client:
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no Dask scheduler answers at {address} ({error}); start one with `dask scheduler`"
        ) from error
    try:
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except TimeoutError as error:
        client.close()
        raise UserError(
            f"the scheduler at {address} has no worker; start some with `dask worker {address}`"
        ) from error
    return client


def _plugin(course: Course, names: Sequence[str], secret: bytes, tier: Tier | None) -> GraderPlugin:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            for path in graded_files(course, course.assignment(name)):
                archive.write(path, path.relative_to(course.root))
    data = buffer.getvalue()
    digest = hashlib.sha256(data + secret).hexdigest()[:16]
    options = ["--tier", tier.value] if tier else []
    return GraderPlugin(f"autograder-{digest}", data, secret, options)
