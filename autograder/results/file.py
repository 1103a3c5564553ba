"""The results file: one JSON line per submission, appended and never rewritten."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import GraderError, UserError
from ..escaping import for_json
from ..records import Key, SubmissionResult, SubmissionStatus
from .lines import iterate_results, lines_of, parsed, whole_size

MAX_LINE_BYTES = 256 * 1024
_SHORT_MESSAGE = 300

#: of a graded submission: student, assignment, and the digests of submission and suite
GradedKey = tuple[str, str, str, str]


class History:
    """What the lines of a results file say to have been graded; its length counts them.

    As the last line of a submission is its result, the last one alone says what it was graded for:
    files and suites may go back to what they were before.
    """

    def __init__(self) -> None:
        #: of each student and assignment the digests of submission and suite, in order; a tuple
        #: for a large class takes half the memory of a set and a list
        self._graded: dict[Key, tuple[tuple[str, str], ...]] = {}
        self._failed: set[Key] = set()

    def __len__(self) -> int:
        return sum(map(len, self._graded.values()))

    def __contains__(self, key: GradedKey) -> bool:
        student, assignment, *digests = key
        own = student, assignment
        return own not in self._failed and self._graded.get(own, ())[-1:] == (tuple(digests),)

    def add(self, key: GradedKey, status: SubmissionStatus) -> None:
        """Takes one line."""
        student, assignment, submission, suite = key
        own = student, assignment
        if status is not SubmissionStatus.GRADED:
            self._failed.add(own)
            return
        self._failed.discard(own)
        before = self._graded.get(own, ())
        if before[-1:] != ((submission, suite),):
            self._graded[own] = (*before, (submission, suite))

    def attempt(self, student: str, assignment: str, digest: Callable[[], str]) -> int:
        """The number of an attempt, from 1: other files are another attempt.

        `digest` is that of what was submitted; it is not asked for where there is no line.
        """
        lines = self._graded.get((student, assignment))
        if not lines:
            return 1
        before, own = list(dict.fromkeys(submitted for submitted, _ in lines)), digest()
        return before.index(own) + 1 if own in before else len(before) + 1


class ResultsFile:
    """An open results file that this grader alone appends to.

    A truncated last line, left by a killed grader, is moved to `<name>.truncated`. `UserError`
    where the file can't be written, is not a results file, or is in use by another grader.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truncated: Path | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # without a buffer: what the disk refuses must not be tried again when it is closed
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - kept open
        except OSError as error:
            raise UserError(
                f"{path} can't be written ({error.strerror}); say --results FILE"
            ) from error
        if not path.is_file():
            self._file.close()
            raise UserError(f"{path} is not a regular file; say --results FILE")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise UserError(f"another grader is writing {path}; wait for it") from error
        self._set_truncated_line_aside()

    def history(self) -> History:
        """What was graded before."""
        return _history(self.path)

    def append(self, result: SubmissionResult) -> None:
        """Writes one line and makes it last; raises `GraderError` for a full disk."""
        line = _line(result)
        end = self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # where this fails too, the truncated line is set aside at the next start
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), end)
            raise GraderError(
                f"{self.path} can't be written: {error.strerror}. What stands in it is whole; "
                "make room and call again with --resume."
            ) from error

    def close(self) -> None:
        """Closes the file and lets other graders have it."""
        self._file.close()

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _set_truncated_line_aside(self) -> None:
        whole = whole_size(self.path)
        if whole == self.path.stat().st_size:
            return
        aside = self.path.with_name(self.path.name + ".truncated")
        try:
            with open(aside, "ab") as file, open(self.path, "rb") as own:
                own.seek(whole)
                shutil.copyfileobj(own, file)
                file.write(b"\n")
            os.ftruncate(self._file.fileno(), whole)
        except OSError as error:
            self._file.close()
            raise UserError(
                f"{aside} can't be written ({error.strerror}), which takes the truncated "
                f"last line of {self.path.name}; make room"
            ) from error
        self.truncated = aside


def read_history(path: Path) -> History | None:
    """What was graded before; None where the file is not whole, and is to be repaired first."""
    if path.is_file() and whole_size(path) < path.stat().st_size:
        return None
    return _history(path)


def _history(path: Path) -> History:
    history = History()
    for line in lines_of(path):
        history.add(*parsed(path, line, _key_of))
    return history


def read_results(path: Path) -> list[SubmissionResult]:
    """All results of a file, none where it is not there.

    Raises `UserError` that names a line which is not a result, or the command that repairs a file
    whose last line is truncated.
    """
    return list(iterate_results(path))


def _key_of(document: dict[str, Any]) -> tuple[GradedKey, SubmissionStatus]:
    """What a line says to have been graded, or to have failed."""
    key = (
        # what many lines have in common is kept once
        *(str(document["student"]), sys.intern(str(document["assignment"]))),
        *(str(document["submission_digest"]), sys.intern(str(document["suite_digest"]))),
    )
    return key, SubmissionStatus(document["status"])


def graded_key(result: SubmissionResult) -> GradedKey:
    """What a result is the result of."""
    return result.student, result.assignment, result.submission_digest, result.suite_digest


def _line(result: SubmissionResult) -> bytes:
    document = result.to_json()
    line = for_json(document).encode() + b"\n"
    if len(line) <= MAX_LINE_BYTES:
        return line
    for exercise in document["exercises"]:
        for question in exercise["questions"]:
            for test in question["tests"]:
                test["message"] = test["message"][:_SHORT_MESSAGE]
    return for_json(document).encode() + b"\n"
