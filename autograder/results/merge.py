"""Merges results files from shards; two different results for a submission are an error."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from jsonschema import Draft202012Validator

from ..counts import number_of
from ..errors import UserError
from ..files import replacing
from ..records import SubmissionResult, SubmissionStatus
from .file import lines_of, parsed

#: limits for lines from other machines: the number of attempts, and the rounding error of sums
_MOST_ATTEMPTS, _ROUNDING = 1_000_000, 1e-6
#: the maximum number of bytes in the name of a folder
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class MergeReport:
    """The numbers of lines that were written and left out.

    A line is left out if a different file contains an equal result, or if grading failed and a
    different file contains a successful grading.
    """

    to: Path
    lines: int
    equal: int
    failed_before: int


class _Entry(NamedTuple):
    """A line's submission and position; sorting entries puts a submission's lines together."""

    student: str
    assignment: str
    attempt: int
    source: int
    number: int
    start: int
    is_failed: bool
    comparable: str
    score: float

    @property
    def submission(self) -> tuple[str, str, int]:
        return self.student, self.assignment, self.attempt


def merge_results(paths: Sequence[Path], to: Path) -> MergeReport:
    """Writes the lines of results files into one file, sorted by student, assignment and attempt.

    The order of the files does not matter. Every line is validated, because it comes from another
    machine. Raises `UserError` if two files have different results for a submission, if a file is
    damaged or being written, or if `to` exists and is not one of the files.
    """
    _check(paths, to)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_opened(path)) for path in paths]
        entries = sorted(
            entry for number, path in enumerate(paths) for entry in _entries(number, path)
        )
        kept, equal, failed = _chosen(entries, paths)
        with replacing(to) as target:
            for entry in kept:
                files[entry.source].seek(entry.start)
                target.write(files[entry.source].readline())
    return MergeReport(to, len(kept), equal, failed)


def _check(paths: Sequence[Path], to: Path) -> None:
    for path in paths:
        if not path.is_file():
            raise UserError(f"{path} does not exist, or is not a file; give a shard's results file")
    own = {path.resolve() for path in paths}
    if len(own) < len(paths):
        raise UserError("a file is given twice; give each one once")
    if to.exists() and to.resolve() not in own:
        raise UserError(
            f"{to} exists: choose a different file, or list it among RESULTS, too, so that "
            "its lines are kept"
        )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError(f"a grader is writing {path}; wait until it ends") from error
        yield file


def _entries(source: int, path: Path) -> Iterator[_Entry]:
    for line in lines_of(path):
        result = parsed(path, line, _in_form)
        yield _Entry(
            *(*result.key, result.attempt, source, line.number, line.start),
            is_failed=result.status is SubmissionStatus.FAILED,
            comparable=_comparable(result),
            score=result.score,
        )


def _may_name_a_folder(name: str) -> bool:
    try:
        size = len(name.encode("utf-8", "surrogateescape"))  # on Linux, names may contain any bytes
    except UnicodeEncodeError:
        return False
    return size <= _LONGEST_NAME and not {"/", "\0"} & set(name) and name not in ("", ".", "..")


def _in_form(document: Any) -> SubmissionResult:
    """Returns the record for a document from another machine; raises `ValueError` if it is invalid.

    The schema checks most of the document, but the schema can't check that numbers are finite, that
    scores don't exceed their maximum, or that the names of students and assignments don't lead out
    of their folders.
    """
    errors = (f"{e.json_path}: {e.message[:120]}" for e in _schema().iter_errors(document))
    if problem := next(errors, None):
        raise ValueError(problem)
    result = SubmissionResult.from_json(document)
    for name in result.key:
        if not _may_name_a_folder(name):
            raise ValueError(f"{name[:80]!r} is not the name of a student or an assignment")
    if result.attempt > _MOST_ATTEMPTS:
        raise ValueError(f"attempt: more than {_MOST_ATTEMPTS}")
    points = [(result.score, result.max_score)]
    points += [(part.score, part.max_score) for part in result.exercises]
    points += [(part.score, part.max_score) for _, part in result.questions()]
    for score, most in points:
        if not (math.isfinite(most) and score <= most + _ROUNDING):
            raise ValueError(f"score: {score} of {most} points")
    return result


@cache
def _schema() -> Draft202012Validator:
    text = resources.files(__package__).joinpath("result.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def _comparable(result: SubmissionResult) -> str:
    """Returns the parts of a result that must be equal on all machines."""
    points = [
        f"{exercise.exercise}/{question.question}={question.score!r}"
        for exercise, question in result.questions()
    ]
    # compare the sums as well, which may be wrong in a line that was edited by hand
    sums = [repr(score) for score in (result.score, *(e.score for e in result.exercises))]
    return " ".join((result.submission_digest, result.suite_digest, *sums, *points))


def _chosen(entries: Iterable[_Entry], paths: Sequence[Path]) -> tuple[list[_Entry], int, int]:
    """Returns the lines to keep, and the numbers of equal and of failed lines that are left out."""
    kept: list[_Entry] = []
    equal = failed = 0
    for _, group in groupby(entries, key=lambda entry: entry.submission):
        lines = list(group)
        # in each file, only the last line counts, so earlier ones are not compared
        last = {line.source: line for line in lines if not line.is_failed}
        counted = list(last.values())
        for other in counted[1:]:
            _compare(counted[0], other, paths)
        for line in lines:
            if line.is_failed and any(source != line.source for source in last):
                failed += 1
            elif not line.is_failed and line.source != counted[0].source:
                equal += 1
            else:
                kept.append(line)
    return kept, equal, failed


def _compare(one: _Entry, other: _Entry, paths: Sequence[Path]) -> None:
    """Raises `UserError` if two files have different results for one submission."""
    if one.comparable == other.comparable:
        return
    first, second = (
        f"{number_of(line.score, 'point')} in {paths[line.source]}:{line.number}"
        for line in (one, other)
    )
    names = "the files submitted", "the course and the grader"
    facts = zip(names, _digests(one), _digests(other), strict=True)
    ask = " and ".join(name for name, a, b in facts if a != b) or "secret.key"
    raise UserError(
        f"{one.student}/{one.assignment}, attempt {one.attempt}, has two results: {first}, "
        f"{second}. Check whether {ask} were the same on both machines, then leave out the file "
        "that is wrong, and grade its shard again"
    )


def _digests(entry: _Entry) -> list[str]:
    return entry.comparable.split(" ")[:2]
