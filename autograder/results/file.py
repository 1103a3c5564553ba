"""The results file: one JSON line per submission, appended and never rewritten."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from types import TracebackType

from ..errors import GraderError, UserError
from ..records import SubmissionResult, SubmissionStatus

MAX_LINE_BYTES = 256 * 1024
_SHORT_MESSAGE = 300


class ResultsFile:
    """An open results file that this grader alone appends to.

    A torn last line, left by a killed grader, is moved to `<name>.torn`. Raises `UserError` where
    the file can't be written, is not a results file, or is in use by another grader.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn: Path | None = None
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
        self._set_torn_line_aside()

    def graded(self) -> set[tuple[str, str, str, str]]:
        """What needs no grading again: student, assignment, and the two digests."""
        return {
            (r.student, r.assignment, r.submission_digest, r.suite_digest)
            for r in read_results(self.path)
            if r.status is SubmissionStatus.GRADED
        }

    def append(self, result: SubmissionResult) -> None:
        """Writes one line and makes it last; raises `GraderError` for a full disk."""
        line = _line(result)
        end = self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):  # else the torn line is set aside at the next start
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

    def _set_torn_line_aside(self) -> None:
        data = self.path.read_bytes()
        if not data or data.endswith(b"\n"):
            return
        whole = data.rfind(b"\n") + 1
        torn = self.path.with_name(self.path.name + ".torn")
        try:
            with open(torn, "ab") as file:
                file.write(data[whole:] + b"\n")
            os.ftruncate(self._file.fileno(), whole)
        except OSError as error:
            self._file.close()
            raise UserError(
                f"{torn} can't be written ({error.strerror}), which takes the torn last line of "
                f"{self.path.name}; make room"
            ) from error
        self.torn = torn


def read_results(path: Path) -> list[SubmissionResult]:
    """All whole lines of a results file; raises `UserError` that names a line that is none."""
    if not path.is_file():
        return []
    results = []
    # the part after the last newline is torn, or empty
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        if not line.strip():
            continue
        try:
            results.append(SubmissionResult.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{path}:{number} is not a line of results ({error!r}); move the file away "
                "and grade again"
            ) from error
    return results


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
