"""Collects the code of wrong answers, for excerpts and for details about single answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ..records import ExerciseResult, SubmissionResult, SubmissionStatus
from ..submission.class_files import submission_folder
from .answer_code import definitions_of, plain_code_reader
from .mistakes import Codes, GroupKey, group_of

#: the maximum number of files to read; with all files from 2,000 students, a page would have 40 MB
_MOST_FILES = 2_000
_ENOUGH = 3


@dataclass(frozen=True, slots=True)
class _File:
    """A file with wrong answers, its student, and the questions whose answers in it are wrong."""

    student: str
    assignment: str
    exercise: ExerciseResult
    questions: tuple[str, ...]


def wrong_code(class_folder: Path, results: Iterable[SubmissionResult]) -> Codes:
    """Returns the code of wrong answers without comments; for a large class, only some of the code.

    Reads files first if they contain a mistake for which there are not enough excerpts yet.
    """
    found: dict[tuple[str, str, str, str], str] = {}
    with plain_code_reader() as reader:
        for file in _in_order(results)[:_MOST_FILES]:
            folder = submission_folder(class_folder, file.student, file.assignment)
            code = definitions_of(folder, file.exercise, reader)
            for question in file.questions:
                if question in code:
                    key = (file.student, file.assignment, file.exercise.exercise, question)
                    found[key] = code[question]
    return found


def _in_order(results: Iterable[SubmissionResult]) -> list[_File]:
    """Returns the files to read: first files whose mistakes still need excerpts, then other files.

    Returns at most `_MOST_FILES` of the other files.
    """
    seen: Counter[GroupKey] = Counter()
    first: list[_File] = []
    later: list[_File] = []
    for result in results:
        if result.status is not SubmissionStatus.GRADED:
            continue
        for exercise in result.exercises:
            groups = {q.question: group_of(result, exercise, q) for q in exercise.questions}
            wrong = {question: key for question, key in groups.items() if key}
            is_first = any(seen[key] < _ENOUGH for key in wrong.values())
            if wrong and (is_first or len(later) < _MOST_FILES):
                alone = replace(exercise, questions=(), notes=())
                file = _File(result.student, result.assignment, alone, tuple(wrong))
                (first if is_first else later).append(file)
            if is_first:
                seen.update(wrong.values())
    return [*first, *later]
