"""The results file: one JSON line per submission, appended and never rewritten."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from ..errors import GraderError, UserError
from ..records import SubmissionResult, SubmissionStatus

MAX_LINE_BYTES = 256 * 1024
_SHORT_MESSAGE = 300

#: of a graded submission: student, assignment, and the digests of submission and suite
GradedKey = tuple[str, str, str, str]


class ResultsFile:
    """An open results file that this grader alone appends to.

    A truncated last line, left by a killed grader, is moved to `<name>.torn`. Raises `UserError`
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
            raise UserError(f"{path} is no regular file; say --results FILE")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise UserError(f"another grader is writing {path}; wait for it") from error
        self._set_truncated_line_aside()

    def graded(self) -> frozenset[GradedKey]:
        """What needs no grading again."""
        return frozenset(
            (r.student, r.assignment, r.submission_digest, r.suite_digest)
            for r in iterate_results(self.path)
            if r.status is SubmissionStatus.GRADED
        )

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _set_truncated_line_aside(self) -> None:
        data = self.path.read_bytes()
        if not data or data.endswith(b"\n"):
            return
        whole = data.rfind(b"\n") + 1
        aside = self.path.with_name(self.path.name + ".torn")
        try:
            with open(aside, "ab") as file:
                file.write(data[whole:] + b"\n")
            os.ftruncate(self._file.fileno(), whole)
        except OSError as error:
            self._file.close()
            raise UserError(
                f"{aside} can't be written ({error.strerror}), which takes the truncated "
                f"last line of {self.path.name}; make room"
            ) from error
        self.truncated = aside


def read_results(path: Path) -> list[SubmissionResult]:
    """All results of a file, none where it is not there.

    Raises `UserError` that names a line which is not a result, or the command that repairs a file
    whose last line is truncated.
    """
    return list(iterate_results(path))


def iterate_results(path: Path) -> Iterator[SubmissionResult]:
    """As `read_results`, a line at a time."""
    if not path.is_file():
        return
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                raise UserError(
                    f"{path}:{number} is truncated: the run that wrote it was killed. To repair "
                    f"it, grade again: autograder grade {path.parent / 'submitted'} --resume"
                )
            if line.strip():
                yield _result(path, number, line)


def _result(path: Path, number: int, line: bytes) -> SubmissionResult:
    try:
        return SubmissionResult.from_json(json.loads(line))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{path}:{number} is not a line of results ({what[:200]}); move the file away and "
            "grade again"
        ) from error


def _line(result: SubmissionResult) -> bytes:
    document = result.to_json()
    line = json.dumps(document).encode() + b"\n"
    if len(line) <= MAX_LINE_BYTES:
        return line
    for exercise in document["exercises"]:
        for question in exercise["questions"]:
            for test in question["tests"]:
                test["message"] = test["message"][:_SHORT_MESSAGE]
    return json.dumps(document).encode() + b"\n"
