"""Reads and writes results files, to which each grading of a submission adds one line of JSON."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..errors import GraderError, UserError
from ..escaping import for_json
from ..records import Key, SubmissionResult, SubmissionStatus
from ..submission.class_files import RESULTS_FILE, SUBMITTED
from ..untrusted_json import read_untrusted_json

MAX_LINE_BYTES = 256 * 1024
_SHORT_MESSAGE = 300

#: student, assignment, and the digests of submission and suite
GradedKey = tuple[str, str, str, str]


class History:
    """The gradings in a results file.

    The length does not include failed gradings, nor gradings that repeat a submission's previous
    grading with the same files and the same suite.

    A key is in the history only if the submission's last line has this key and reports no failure.
    Earlier lines do not count, because files and suites may return to an earlier version.
    """

    def __init__(self) -> None:
        #: the (submission, suite) digests in order, by student and assignment; for a large class,
        #: tuples take half the memory of a set and a list
        self._graded: dict[Key, tuple[tuple[str, str], ...]] = {}
        self._failed: set[Key] = set()

    def __len__(self) -> int:
        return sum(map(len, self._graded.values()))

    def __contains__(self, key: GradedKey) -> bool:
        student, assignment, *digests = key
        own = student, assignment
        return own not in self._failed and self._graded.get(own, ())[-1:] == (tuple(digests),)

    def add(self, key: GradedKey, status: SubmissionStatus) -> None:
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
        """Returns the number of an attempt, starting at 1; different files count as a new attempt.

        `digest` computes the submission's digest; this function is called only if there are earlier
        lines for the submission.
        """
        lines = self._graded.get((student, assignment))
        if not lines:
            return 1
        before, own = list(dict.fromkeys(submitted for submitted, _ in lines)), digest()
        return before.index(own) + 1 if own in before else len(before) + 1


class ResultsFile:
    """An open results file, to which only this grader appends.

    If a killed grader has left a truncated last line, this line is moved to `<name>.truncated`.
    Raises `UserError` if the file can't be written, is not a regular file, or is in use by another
    grader.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truncated: Path | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # unbuffered, because closing the file must not retry a write that failed
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - kept open
        except OSError as error:
            raise UserError(
                f"{path} can't be written ({error.strerror}); use --results FILE"
            ) from error
        if not path.is_file():
            self._file.close()
            raise UserError(f"{path} is not a regular file; use --results FILE")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise UserError(f"another grader is writing {path}; wait until it ends") from error
        self._set_truncated_line_aside()

    def history(self) -> History:
        """Returns the history of earlier gradings."""
        history = History()
        for line in lines_of(self.path):
            history.add(*parsed(self.path, line, _key_of))
        return history

    def append(self, result: SubmissionResult) -> None:
        """Writes one line and syncs it to disk; raises `GraderError` if that fails."""
        line = _line(result)
        end = self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # if this also fails, the truncated line is set aside at the next start
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), end)
            raise GraderError(
                f"{self.path} can't be written: {error.strerror}. Its lines are complete; free "
                "some space and run the command again with --resume."
            ) from error

    def close(self) -> None:
        """Closes the file, so that other graders can use it."""
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
                f"{aside}, the file for the truncated last line of {self.path.name}, can't be "
                f"written ({error.strerror}); free some space"
            ) from error
        self.truncated = aside


def read_results(path: Path) -> list[SubmissionResult]:
    """Returns all results in a file, or an empty list if the file does not exist.

    Raises `UserError` for a line that is not a result, and for a truncated last line. The message
    contains the line number and, for a truncated line, the command that repairs the file.
    """
    return list(iterate_results(path))


def _key_of(document: dict[str, Any]) -> tuple[GradedKey, SubmissionStatus]:
    key = (
        # many lines share these strings, so keep only one copy of each
        *(str(document["student"]), sys.intern(str(document["assignment"]))),
        *(str(document["submission_digest"]), sys.intern(str(document["suite_digest"]))),
    )
    return key, SubmissionStatus(document["status"])


def graded_key(result: SubmissionResult) -> GradedKey:
    """Returns the key that the history uses for a result."""
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


T = TypeVar("T")

_BLOCK = 1 << 16


class Line(NamedTuple):
    """One line: its number, counted from 1, its position in the file, and its bytes."""

    number: int
    start: int
    data: bytes


def lines_of(path: Path) -> Iterator[Line]:
    """Yields a file's non-empty lines, or none if the file does not exist.

    If the last line is truncated, raises `UserError` with the command that repairs the file.
    """
    if not path.is_file():
        return
    start = 0
    with open(path, "rb") as file:
        for number, data in enumerate(file, start=1):
            if not data.endswith(b"\n"):
                raise UserError(
                    f"{path}:{number} is truncated: the run that wrote it was killed. To repair "
                    f"it, grade again: {_repair(path)}"
                )
            if data.strip():
                yield Line(number, start, data)
            start += len(data)


def whole_size(path: Path) -> int:
    """Returns a file's size without a truncated last line; reads only the end of the file."""
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            if (last := file.read(end - start).rfind(b"\n")) >= 0:
                return start + last + 1
            end = start
    return 0


def parsed(path: Path, line: Line, of: Callable[[Any], T]) -> T:
    """Applies `of` to the JSON in a line; raises `UserError` with the line number if that fails."""
    try:
        text = line.data.decode("utf-8")  # json would guess the encoding
        return of(read_untrusted_json(text, strict=True))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{path}:{line.number} is not a line of results ({what[:200]}); remove this line, "
            "and grade with --resume: its submission is graded again"
        ) from error


def iterate_results(path: Path) -> Iterator[SubmissionResult]:
    """Yields all results in a file; raises `UserError` for a line that is not a result."""
    for line in lines_of(path):
        yield parsed(path, line, SubmissionResult.from_json)


def _repair(path: Path) -> str:
    command = f"autograder grade {path.parent / SUBMITTED}"
    if path.name == RESULTS_FILE:
        return f"{command} --resume"
    return f"{command} --results {path} --resume (and the --shard that it was graded with)"
