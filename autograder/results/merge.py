"""Results files of shards become one; a submission with two different scores is an error."""

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

from ..errors import UserError
from ..files import replacing
from ..records import SubmissionResult, SubmissionStatus
from .lines import lines_of, parsed

#: nobody submits so often, and sums of points are rounded
_MOST_ATTEMPTS, _ROUNDING = 1_000_000, 1e-6


@dataclass(frozen=True, slots=True)
class MergeReport:
    """Lines that were written, and those left out: equal ones, and failed ones graded elsewhere."""

    to: Path
    lines: int
    equal: int
    failed_before: int


class _Entry(NamedTuple):
    """What a line is about, and where it stands. Sorting brings a submission's lines together."""

    student: str
    assignment: str
    attempt: int
    source: int
    number: int
    start: int
    is_failed: bool
    said: str
    score: float

    @property
    def submission(self) -> tuple[str, str, int]:
        """Whose work it is."""
        return self.student, self.assignment, self.attempt


def merge_results(paths: Sequence[Path], to: Path) -> MergeReport:
    """Writes the lines of results files into one file, by student, assignment and attempt.

    The order of the files does not matter. Raises `UserError` where two files have different
    results of one submission, where a file is damaged or being written, and where `to` is there
    and not one of them. A line must have the form of a result: it is another machine's.
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
            raise UserError(f"{path} is not there, or is not a file; name the results of a shard")
    own = {path.resolve() for path in paths}
    if len(own) < len(paths):
        raise UserError("a file is named twice among the results; name each once")
    if to.exists() and to.resolve() not in own:
        raise UserError(
            f"{to} is there already: name another file, or name it among the results as well, so "
            "that its lines stay"
        )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            raise UserError(f"a grader is writing {path}; wait for it") from error
        yield file


def _entries(source: int, path: Path) -> Iterator[_Entry]:
    for line in lines_of(path):
        result = parsed(path, line, _in_form)
        yield _Entry(
            *(*result.key, result.attempt, source, line.number, line.start),
            is_failed=result.status is SubmissionStatus.FAILED,
            said=_said(result),
            score=result.score,
        )


def _in_form(document: Any) -> SubmissionResult:
    """The record of a document from another machine; raises `ValueError` if it is of another form.

    The schema says most of it. It can't say that a number is finite, that nobody has more points
    than there are, and that no name of a student or an assignment leads out of its folder.
    """
    errors = (f"{e.json_path}: {e.message[:120]}" for e in _schema().iter_errors(document))
    if problem := next(errors, None):
        raise ValueError(problem)
    result = SubmissionResult.from_json(document)
    for name in result.key:
        if {"/", "\0"} & set(name) or name in ("", ".", ".."):
            raise ValueError(f"{name[:80]!r} is no name of a student or an assignment")
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


def _said(result: SubmissionResult) -> str:
    """All of a result that has to be equal on every machine."""
    points = [
        f"{exercise.exercise}/{question.question}={question.score!r}"
        for exercise, question in result.questions()
    ]
    # sums as well: a line that was changed by hand may say another total than its parts do
    sums = [repr(score) for score in (result.score, *(e.score for e in result.exercises))]
    return " ".join((result.submission_digest, result.suite_digest, *sums, *points))


def _chosen(entries: Iterable[_Entry], paths: Sequence[Path]) -> tuple[list[_Entry], int, int]:
    """The lines that stay, and how many equal and how many failed ones do not."""
    kept: list[_Entry] = []
    equal = failed = 0
    for _, group in groupby(entries, key=lambda entry: entry.submission):
        lines = list(group)
        # of one file the last line counts, as ever; earlier ones stay as they are
        last = {line.source: line for line in lines if not line.is_failed}
        said = list(last.values())
        for other in said[1:]:
            _compare(said[0], other, paths)
        for line in lines:
            if line.is_failed and any(source != line.source for source in last):
                failed += 1
            elif not line.is_failed and line.source != said[0].source:
                equal += 1
            else:
                kept.append(line)
    return kept, equal, failed


def _compare(one: _Entry, other: _Entry, paths: Sequence[Path]) -> None:
    """Raises `UserError` where two files say different things of one submission."""
    if one.said == other.said:
        return
    first, second = (
        f"{line.score:g} points in {paths[line.source]}:{line.number}" for line in (one, other)
    )
    names = "the files submitted", "the course and the grader"
    facts = zip(names, _digests(one), _digests(other), strict=True)
    ask = " and ".join(name for name, a, b in facts if a != b) or "secret.key"
    raise UserError(
        f"{one.student}/{one.assignment}, attempt {one.attempt}, has two results: {first}, "
        f"{second}. Look whether {ask} were the same on both machines, then leave out the file "
        "that is wrong, and grade its shard again"
    )


def _digests(entry: _Entry) -> list[str]:
    return entry.said.split(" ")[:2]
