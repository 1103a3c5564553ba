"""Finds a student's code in each attempt: in the submission that counts and in earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..errors import SubmissionError
from ..records import SubmissionResult
from ..results.changes import Attempts
from ..submission.bounded import BoundedReader
from ..submission.class_files import submission_folder
from ..submission.read import digest_of_files
from .answer_code import code_reader, definitions_of, plain_code_reader

#: code by exercise and question
Written = Mapping[tuple[str, str], str]
#: code by student, assignment and digest of the submission
AttemptCodes = Mapping[tuple[str, str, str], Written]

#: the maximum number of submissions whose code is shown; a larger page opens slowly
_MOST = 500


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of an answer, and whether it is new compared with the previous attempt."""

    text: str
    is_new: bool


def attempt_codes(
    class_folder: Path, earlier: Path, found: Iterable[Attempts], *, is_plain: bool = False
) -> dict[tuple[str, str, str], Written]:
    """Returns the code of all attempts by students who submitted more than once.

    `earlier` contains earlier submissions, each in a folder named after its time, below
    `<student>/<assignment>/`. Leaves out attempts whose files no longer exist. If `is_plain` is
    true, removes comments and docstrings, because they may reveal who wrote the code.
    """
    again = (one for one in found if len({line.submission_digest for line in one.lines}) > 1)
    codes: dict[tuple[str, str, str], Written] = {}
    with plain_code_reader() if is_plain else code_reader() as reader:
        for one in islice(again, _MOST):
            folders = list(_folders(class_folder, earlier, *one.key))
            for line in {line.submission_digest: line for line in one.lines}.values():
                folder = next((f for f in folders if _is_of(line, f)), None)
                if folder is not None:
                    codes[*one.key, line.submission_digest] = _written(folder, line, reader)
    return codes


def _folders(class_folder: Path, earlier: Path, student: str, assignment: str) -> Iterator[Path]:
    yield submission_folder(class_folder, student, assignment)
    kept = submission_folder(earlier.parent, student, assignment, earlier.name)
    yield from sorted(kept.iterdir()) if kept.is_dir() else ()


def _is_of(line: SubmissionResult, folder: Path) -> bool:
    names = [exercise.exercise for exercise in line.exercises]
    try:
        return folder.is_dir() and digest_of_files(folder, names) == line.submission_digest
    except SubmissionError:
        return False


def _written(folder: Path, line: SubmissionResult, reader: BoundedReader) -> Written:
    return {
        (exercise.exercise, question.question): definitions.get(question.question, "")
        for exercise in line.exercises
        for definitions in [definitions_of(folder, exercise, reader)]
        for question in exercise.questions
    }


def side_by_side(versions: Iterable[str]) -> tuple[tuple[CodeLine, ...], ...]:
    """Returns the lines of each version; marks lines that the previous version lacks as new."""
    found: list[tuple[CodeLine, ...]] = []
    before: set[str] | None = None
    for text in versions:
        lines = text.split("\n")
        found.append(tuple(CodeLine(t, before is not None and t not in before) for t in lines))
        before = set(lines)
    return tuple(found)
