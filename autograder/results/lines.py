"""The lines of a results file: their positions and their contents."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..errors import UserError
from ..records import SubmissionResult
from ..submission.class_files import RESULTS_FILE, SUBMITTED

T = TypeVar("T")

_BLOCK = 1 << 16


class Line(NamedTuple):
    """One line: its number from 1, where it begins in the file, and its bytes."""

    number: int
    start: int
    data: bytes


def lines_of(path: Path) -> Iterator[Line]:
    """Yields the lines of a file that are not empty; none if it does not exist.

    Raises `UserError` with the command that repairs a truncated last line.
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
    """Returns the number of bytes up to the end of the last whole line; reads only the end."""
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
    """Applies `of` to a line's document; raises `UserError` with its number if that fails."""
    try:
        return of(json.loads(line.data.decode("utf-8")))  # json would guess another encoding
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{path}:{line.number} is not a line of results ({what[:200]}); remove this line, "
            "and grade with --resume: its submission is graded again"
        ) from error


def iterate_results(path: Path) -> Iterator[SubmissionResult]:
    """Yields all results of a file; raises `UserError` for a line that is not a result."""
    for line in lines_of(path):
        yield parsed(path, line, SubmissionResult.from_json)


def _repair(path: Path) -> str:
    command = f"autograder grade {path.parent / SUBMITTED}"
    if path.name == RESULTS_FILE:
        return f"{command} --resume"
    return f"{command} --results {path} --resume (and the --shard that it was graded with)"
