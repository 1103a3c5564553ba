"""Grades submissions named on a stream, one path per line, until the stream ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

from ..errors import UserError
from ..records import Assignment, SubmissionResult, Tier
from ..results.file import ResultsFile
from ..submission import submission_at
from ..untrusted_json import read_untrusted_json
from .engine import Engine, Ready, Scope
from .jobs import Jobs
from .run import Ledger, refuse_weaker_tier
from .secret import class_secret
from .sources import Task

#: the maximum length of a line; any path, or line of JSON with a path, is shorter
LONGEST_LINE = 1 << 16
_PART, _PARTS = 1 << 16, 16
#: how many characters of a line are shown if it is too long
_SHOWN = 200
ERROR_SCHEMA = "autograder/refused/v1"


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Options for grading a stream.

    If `assignment` is given, all submissions belong to it, no matter what their folders are called.
    If `results` is given, result lines are also kept in this file, and attempts are counted from
    its lines.
    """

    secret: Path
    jobs: int = 1
    assignment: str | None = None
    tier: Tier | None = None
    results: Path | None = None


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that does not name a submission: its number (from 1), its text, and the reason."""

    line: int
    path: str
    reason: str

    def to_json(self) -> dict[str, object]:
        """Returns the JSON document that is written instead of a result."""
        return {
            "schema": ERROR_SCHEMA,
            "line": self.line,
            "path": self.path,
            "error": self.reason,
        }


@dataclass(frozen=True, slots=True)
class StreamReport:
    """The numbers of graded lines, of failures among these lines, and of rejected lines."""

    graded: int = 0
    failed: int = 0
    refused: int = 0


#: called with the outcome of every line, in the order of completion
Answer = Callable[[SubmissionResult | RefusedLine], None]


def grade_lines(
    engine: Engine, descriptor: int, options: StreamOptions, ready: Ready, answer: Answer
) -> StreamReport:
    """Grades the submissions named on a descriptor, one per line, until the descriptor is closed.

    Implements `grade -`. `ready` is called when the sandbox has started and the suites are loaded.
    """
    names = [options.assignment] if options.assignment else sorted(engine.names)
    scope = Scope.of(engine, map(engine.assignment, names))
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(ResultsFile(options.results)) if options.results else None
        desk = _LineReader(scope, options.assignment, Ledger.of(file, answer), answer)
        # Plan in advance only if there is just one assignment: planning all of them takes as long
        # as grading hundreds of submissions, and a caller should not wait for other assignments'
        # plans.
        planned = list(scope.assignments.values()) if options.assignment else []
        source = StreamedSubmissions(descriptor, desk.task_of, planned)
        backend = Jobs(class_secret(options.secret), options.jobs, options.tier)
        if options.results:
            backend = replace(backend, weaker=partial(refuse_weaker_tier, options.results))
        backend.grade(scope, source, desk.ledger.keep, ready)
    return StreamReport(desk.ledger.graded, desk.ledger.failed, desk.refused)


@dataclass(slots=True)
class _LineReader:
    """Turns lines into submissions; if `only` is given, all of them belong to that assignment."""

    scope: Scope
    only: str | None
    ledger: Ledger
    answer: Answer
    refused: int = 0
    _line: int = 0

    def task_of(self, line: bytes) -> Task | None:
        """Returns the submission that a line names; rejects other lines, except empty ones."""
        self._line += 1
        text = os.fsdecode(line.strip(b"\r\n"))
        if not text:
            return None
        if len(line) > LONGEST_LINE:
            self._refuse(text[:_SHOWN], f"a line of more than {LONGEST_LINE} bytes")
            return None
        try:
            path, attempt = _parsed(text)
            submission = submission_at(Path(path), list(self.scope.assignments), self.only)
            task = submission, self.scope.assignments[submission.assignment]
            if attempt is None:
                return self.ledger.numbered(self.scope, task)
            return replace(submission, attempt=attempt), task[1]
        except (UserError, OSError, ValueError) as error:
            self._refuse(text, str(error))
            return None

    def _refuse(self, text: str, reason: str) -> None:
        self.refused += 1
        self.answer(RefusedLine(self._line, text, reason))


def _parsed(text: str) -> tuple[str, int | None]:
    """Returns a line's path, and its attempt or None; raises `UserError` for an invalid line."""
    if not text.startswith("{"):
        return text, None
    try:
        document = read_untrusted_json(text)
        path, attempt = document.pop("path"), document.pop("attempt", None)
    except (ValueError, LookupError):
        document, path, attempt = {}, None, None
    # Refuse other keys, because a misspelled one would go unnoticed.
    if document or not isinstance(path, str) or not (attempt is None or _is_number(attempt)):
        raise UserError(
            'a line is a path, or {"path": PATH, "attempt": N}, where N is at least 1; write ./{ '
            "for a path that begins with {"
        )
    return path, attempt


def _is_number(attempt: object) -> bool:
    return isinstance(attempt, int) and not isinstance(attempt, bool) and attempt >= 1


class StreamedSubmissions:
    """A source of submissions named on a descriptor, one per line; reads no further than needed.

    `task_of` makes a task from a line; if a line does not name a submission, `task_of` reports the
    problem and returns None. `planned` contains the assignments to plan before the first line is
    read.
    """

    def __init__(
        self,
        descriptor: int,
        task_of: Callable[[bytes], Task | None],
        planned: Sequence[Assignment] = (),
    ) -> None:
        self._descriptor = descriptor
        self._task_of = task_of
        self._planned = planned
        self._buffer = bytearray()
        self._looked = 0
        self._is_open = True

    def take(self) -> Task | None:
        while (line := self._line()) is not None:
            if task := self._task_of(line):
                return task
        return None

    @property
    def has_ended(self) -> bool:
        return not self._is_open and not self._buffer

    def awaited(self) -> Sequence[int]:
        return [self._descriptor] if self._is_open else ()

    def planned(self) -> Sequence[Assignment]:
        return self._planned

    def workers(self) -> int | None:
        return None

    def _line(self) -> bytes | None:
        """Returns the next line without its line ending, or None if no line is available.

        Scans each byte only once. If a line is longer than a path can be, keeps only its beginning.
        Reads only a few parts in a row, so that an endless line does not block other work.
        """
        for _ in range(_PARTS):
            end = self._buffer.find(b"\n", self._looked)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._looked = 0
                return line
            del self._buffer[LONGEST_LINE + 1 :]
            self._looked = len(self._buffer)
            if not self._is_open or not wait([self._descriptor], 0):
                break
            part = os.read(self._descriptor, _PART)
            self._is_open = bool(part)
            self._buffer += part
        if self._is_open or not self._buffer:
            return None
        line, self._looked = bytes(self._buffer), 0
        self._buffer.clear()
        return line
