"""Finds answers that do not count because their file has the wrong name or place."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from ..errors import SubmissionError
from ..submission import is_unanswered
from ..submission.similar import closest
from .answers import answer_of

_CODE = (".py", ".ipynb")
#: the most files of one folder that are read
_MOST_FILES = 200


def nearly_named(folder: Path, exercise: str) -> str:
    """Find a file with a similar name instead of an exercise's file, or one in a folder below."""
    if near := closest(exercise, [path.stem for path in folder.glob("*") if _is_code(path)]):
        return f"; there is {near}: is it misnamed?"
    moved = [path for path in sorted(folder.glob(f"*/{exercise}.*")) if _is_code(path)]
    return f"; there is {moved[0].relative_to(folder)}: move it back" if moved else ""


def answered_in(
    folder: Path, exercise: str, questions: Sequence[str], exercises: Collection[str]
) -> str:
    """Find a file with another name that answers an exercise's questions, as a copy does."""
    code = [path for path in sorted(folder.glob("*")) if _is_code(path)]
    for path in [path for path in code if path.stem not in exercises][:_MOST_FILES]:
        try:
            answer = answer_of(folder, path.stem, questions)
        except SubmissionError:
            continue
        if answer and any(_answers(answer.text, question) for question in questions):
            wanted = f"{exercise}{path.suffix}"
            return f"{path.name} has answers, and does not count: should its name be {wanted}?"
    return ""


def _answers(text: str, question: str) -> bool:
    is_there = re.search(rf"^(?:def|class) {question}\b", text, re.MULTILINE)
    return bool(is_there) and not is_unanswered(text, [question])


def _is_code(path: Path) -> bool:
    return path.suffix in _CODE
