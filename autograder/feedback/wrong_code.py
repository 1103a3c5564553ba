"""What students wrote where it is not right: for excerpts, and to look into an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..records import ExerciseResult, SubmissionResult
from ..submission.names import submission_folder
from .code import definitions_of, plain_code_reader
from .mistakes import Codes, GroupKey, group_of

#: files that are read at most: those of 2,000 students would make a page of 40 MB
_MOST_FILES = 2_000
_ENOUGH = 3

_File = tuple[SubmissionResult, ExerciseResult]


def wrong_code(class_folder: Path, graded: Sequence[SubmissionResult]) -> Codes:
    """The code of wrong answers, without comments; of a large class not of all.

    Files with a mistake of which too few excerpts are there are read first.
    """
    found: dict[tuple[str, str, str, str], str] = {}
    with plain_code_reader() as reader:
        for result, exercise in list(_in_order(graded))[:_MOST_FILES]:
            folder = submission_folder(class_folder, result.student, result.assignment)
            code = definitions_of(folder, exercise, reader)
            for question in exercise.questions:
                if group_of(result, exercise, question) and question.question in code:
                    key = (*_place(result, exercise), question.question)
                    found[key] = code[question.question]
    return found


def _in_order(graded: Iterable[SubmissionResult]) -> Iterator[_File]:
    seen: Counter[GroupKey] = Counter()
    later: list[_File] = []
    for result in graded:
        for exercise in result.exercises:
            groups = [key for q in exercise.questions if (key := group_of(result, exercise, q))]
            if any(seen[key] < _ENOUGH for key in groups):
                seen.update(groups)
                yield result, exercise
            elif groups:
                later.append((result, exercise))
    yield from later


def _place(result: SubmissionResult, exercise: ExerciseResult) -> tuple[str, str, str]:
    return result.student, result.assignment, exercise.exercise
