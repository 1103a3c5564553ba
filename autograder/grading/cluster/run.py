"""The instructor's side: batches go to dask's workers, lines come back into the results file."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from distributed import Client, Future, as_completed
from distributed.comm import CommClosedError

from ...course import Course, graded_files
from ...errors import GraderError, UserError
from ...records import SubmissionResult, SubmissionStatus, Tier
from ...results.file import ResultsFile
from ...submission import find_submissions
from ..digests import submitted_digest
from ..failure import failed
from ..options import RunEvents, RunOptions
from ..secret import FILE_NAME, class_secret
from ..shards import RunReport, ToGrade, in_shard, suite_digests_of
from ..sources import Task
from .node import GraderPlugin, grade_batch
from .packing import Document, encode, pack

#: what a lost worker costs at most; some seconds of grading
BATCH = 16
#: batches ahead of each thread, so that none waits for this machine
_AHEAD = 2
_CONNECT_SECONDS = 30


def grade_on_cluster(
    course: Course, address: str, options: RunOptions, events: RunEvents
) -> RunReport:
    """Grades a class on the workers of a scheduler; see `grading.run.grade_class`.

    A worker that is lost costs its batch, which others grade again. Raises `UserError` where no
    scheduler or no worker answers, `GraderError` where a worker has another grader.
    """
    names = sorted(assignment.name for assignment in course.assignments)
    found = find_submissions(options.submitted, names, options.assignment)
    mine = in_shard(found.or_refuse(options.submitted).submissions, options.shard)
    digests = suite_digests_of(course, mine)
    with ResultsFile(options.results) as file:
        new = ToGrade(submitted_digest, digests, file.history(), options.resume)
        tasks = [(s, course.assignment(s.assignment)) for s in mine]
        tasks = [new.numbered(task) for task in tasks if new.has(task)]
        done = _Done(file, digests, events)
        if tasks:
            secret = options.secret or options.results.with_name(FILE_NAME)
            plugin = _plugin(course, sorted(digests), class_secret(secret), options.tier)
            with _client(address) as client:
                _Run(client, plugin, done).grade(tasks)
        already = len(mine) - done.graded
        return RunReport(found, done.graded, done.failed, already, done.tier, file.truncated)


@dataclass(slots=True)
class _Done:
    """Takes lines as they come back."""

    file: ResultsFile
    digests: dict[str, str]
    events: RunEvents
    graded: int = 0
    failed: int = 0
    tier: Tier | None = None

    def take(self, task: Task, line: bytes) -> None:
        """Keeps the line of a submission under its student's name, which did not travel."""
        submission, assignment = task
        result = SubmissionResult.from_json(json.loads(line))
        if result.suite_digest != self.digests[assignment.name]:
            raise GraderError(
                "a worker has another version of the grader than this machine: install the same "
                "one, then call again with --resume"
            )
        self.keep(replace(result, student=submission.student))

    def give_up(self, task: Task, reason: str) -> None:
        """Keeps that no worker could grade a submission."""
        submission, assignment = task
        digest = self.digests[assignment.name]
        self.keep(failed(submission, assignment, digest, self.tier or Tier.NONE, reason))

    def keep(self, result: SubmissionResult) -> None:
        """Appends a line."""
        self.file.append(result)
        self.graded += 1
        if result.status is SubmissionStatus.FAILED:
            self.failed += 1
        else:
            self.tier = result.isolation
        self.events.graded(result)


@dataclass(slots=True)
class _Run:
    """Keeps all workers busy, and no more than some batches in memory."""

    client: Client
    plugin: GraderPlugin
    done: _Done
    _batches: dict[Future, Sequence[Task]] = field(default_factory=dict)

    def grade(self, tasks: Sequence[Task]) -> None:
        """Grades all."""
        try:
            self.client.register_plugin(self.plugin)
            self.done.events.starts(None, len(tasks), 0)
            self._grade(_in_batches(tasks))
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
            if future.status == "lost":  # with its worker, before it was fetched: it is done again
                self._batches[future] = batch
                running.add(future)
                continue
            if future.status == "finished":
                for task, line in zip(batch, future.result().splitlines(), strict=True):
                    self.done.take(task, line)
            elif future.status != "error":
                raise _gone(future.status)
            elif len(batch) > 1:  # one of them ends graders, or all that were tried were lost
                for task in batch:
                    self._begin([task], running)
            else:
                self.done.give_up(batch[0], str(future.exception()))
            future.release()
            self._fill(waiting, running)

    def _fill(self, waiting: Iterator[Sequence[Task]], running: as_completed) -> None:
        while self._room() and (batch := next(waiting, None)):
            self._begin(batch, running)

    def _begin(self, batch: Sequence[Task], running: as_completed) -> None:
        """Sends a batch; a submission whose folder can't be read has its line at once."""
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
            self.done.give_up(task, str(error))
            return None

    def _room(self) -> int:
        """How many batches may be begun now; workers come and go."""
        threads: int = sum(self.client.nthreads().values())
        return max(0, _AHEAD * max(1, threads) - len(self._batches))


def _gone(reason: str) -> GraderError:
    return GraderError(
        f"the scheduler is gone ({reason}). What was graded has its line: start the scheduler, and "
        "call again with --resume"
    )


def _in_batches(tasks: Sequence[Task]) -> Iterator[Sequence[Task]]:
    for start in range(0, len(tasks), BATCH):
        yield tasks[start : start + BATCH]


def _client(address: str) -> Client:
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no scheduler of dask answers at {address} ({error}); start one with `dask scheduler`"
        ) from error
    try:
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except TimeoutError as error:
        client.close()
        raise UserError(
            f"the scheduler at {address} has no worker; start some: dask worker {address}"
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
