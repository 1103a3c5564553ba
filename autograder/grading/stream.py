"""Grades submissions as they are named: a path a line, for as long as there are any."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import UserError
from ..records import Assignment, SubmissionResult, SubmissionStatus, Tier
from ..results.file import History, ResultsFile, graded_key
from ..submission import submission_at
from .run import Engine, run_jobs
from .secret import class_secret
from .sources import Streamed, Task

ERROR_SCHEMA = "autograder/refused/v1"


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How a stream is graded. `assignment` is the only one there is, whatever folders are called.

    With `results` lines are kept as well, and attempts counted from what stands there.
    """

    secret: Path
    jobs: int = 1
    assignment: str | None = None
    tier: Tier | None = None
    results: Path | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A line (from 1) that names no submission: what it says, and why nothing was graded."""

    line: int
    path: str
    reason: str

    def to_json(self) -> dict[str, object]:
        """What stands in the place of a result."""
        return {
            "schema": ERROR_SCHEMA,
            "line": self.line,
            "path": self.path,
            "error": self.reason,
        }


@dataclass(slots=True)
class StreamReport:
    """How many lines came to what."""

    graded: int = 0
    failed: int = 0
    refused: int = 0


#: is told of every line what came of it, in order of completion
Answer = Callable[[SubmissionResult | Refused], None]


def grade_lines(
    engine: Engine,
    descriptor: int,
    options: StreamOptions,
    ready: Callable[[Tier], None],
    answer: Answer,
) -> StreamReport:
    """Grades what the lines of a descriptor name, until it is closed; see `grade -`.

    `ready` is told when the sandbox is there and the suites are loaded.
    """
    file = ResultsFile(options.results) if options.results else None
    try:
        history = file.history() if file else History()
        return _grade(engine, descriptor, options, ready, _Desk(engine, answer, file, history))
    finally:
        if file:
            file.close()


def _grade(
    engine: Engine,
    descriptor: int,
    options: StreamOptions,
    ready: Callable[[Tier], None],
    desk: _Desk,
) -> StreamReport:
    names = [options.assignment] if options.assignment else sorted(engine.names)
    desk.assignments = {name: engine.assignment(name) for name in names}
    desk.only = options.assignment
    assignments = list(desk.assignments.values())
    digests = {assignment.name: engine.suite_digest(assignment) for assignment in assignments}
    with engine.start_sandbox(options.tier, assignments) as fork_server:
        grader = engine.grader(fork_server, assignments, digests, class_secret(options.secret))
        # the only one ahead: who waits for an answer is to wait for nothing else. Of several, each
        # when it is needed: all take as long as hundreds of submissions
        prepared = assignments if options.assignment else []
        grader.prepare(prepared)
        fork_server.wait_until_ready()
        ready(fork_server.tier)
        source = Streamed(descriptor, desk.task_of)
        run_jobs(grader, assignments, prepared, source, digests, options.jobs, desk.take)
    return desk.report


class _Desk:
    """Turns lines into submissions, and results into answers."""

    def __init__(
        self, engine: Engine, answer: Answer, file: ResultsFile | None, history: History
    ) -> None:
        self.assignments: dict[str, Assignment] = {}
        self.only: str | None = None
        self.report = StreamReport()
        self._engine = engine
        self._answer = answer
        self._file = file
        self._history = history
        self._line = 0

    def task_of(self, line: bytes) -> Task | None:
        """The submission that a line names; one that names none is answered, an empty one not."""
        self._line += 1
        text = os.fsdecode(line.strip(b"\r\n"))
        if not text:
            return None
        try:
            path, attempt = _parsed(text)
            submission = submission_at(Path(path), list(self.assignments), self.only)
            assignment = self.assignments[submission.assignment]
            if attempt is None:
                attempt = self._history.attempt(
                    submission.student,
                    assignment.name,
                    lambda: self._engine.submission_digest(submission, assignment),
                )
            return replace(submission, attempt=attempt), assignment
        except (UserError, OSError, ValueError) as error:
            self.report.refused += 1
            self._answer(Refused(self._line, text, str(error)))
            return None

    def take(self, result: SubmissionResult) -> None:
        """Keeps a result and gives it out."""
        if self._file:
            self._file.append(result)
            self._history.add(graded_key(result), result.status)
        self.report.graded += 1
        self.report.failed += result.status is SubmissionStatus.FAILED
        self._answer(result)


def _parsed(text: str) -> tuple[str, int | None]:
    """Path and number of the attempt, which a line may give as JSON; raises `UserError`."""
    if not text.startswith("{"):
        return text, None
    try:
        document = json.loads(text)
        path, attempt = document.pop("path"), document.pop("attempt", None)
    except (ValueError, LookupError, RecursionError):
        document, path, attempt = {}, None, None
    # with any other key, a misspelt one would go unnoticed
    if document or not isinstance(path, str) or not (attempt is None or _is_number(attempt)):
        raise UserError(
            'a line is a path, or {"path": PATH, "attempt": N} with N from 1; write ./{ for a path '
            "that begins so"
        )
    return path, attempt


def _is_number(attempt: object) -> bool:
    return isinstance(attempt, int) and not isinstance(attempt, bool) and attempt >= 1
