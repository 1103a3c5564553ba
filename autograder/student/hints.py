"""Shows one hint at a time, and remembers in the folder which hints have been shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..course.manifest import (
    HINTS,
    Manifest,
    read_afterwards,
    read_hints,
    read_manifest,
    read_ways,
)
from ..errors import UserError
from .assignment_folder import questions_of, unknown
from .check_results import Standing

#: the file that stores which hints were shown; the dot keeps it out of submissions
STATE = ".autograder.json"
_SHOWN = "hints_shown"


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint for a question; `number` counts from 1, and `of` is how many hints the question has.

    If there are no more hints, `text` is empty, and `why` gives the reason.
    """

    exercise: str
    question: str | None
    number: int
    of: int
    text: str
    why: str = ""


def next_hint(folder: Path, name: str, *, again: bool = False) -> Hint:
    """Returns the next hint for a question, or for an exercise's first question that does not pass.

    If an exercise and a question have the same name, the name refers to the question. With `again`,
    starts with the question's first hint. A file in the folder records which hints have been shown.
    Raises `UserError` if the folder is not an assignment or has no hints, or the name is unknown.
    """
    manifest = read_manifest(folder)
    hints = read_hints(folder)
    if not hints:
        raise UserError(
            f"{folder.resolve()} has no hints, because checks/{HINTS} is missing. Ask your "
            "instructor for them."
        )
    exercise, question = _asked(folder, manifest, name)
    if question is None:
        return Hint(exercise, None, 0, 0, "", "all questions of this exercise pass their checks")
    shown = _shown(folder)
    texts = hints.get(question, ())
    before = 0 if again else min(shown.get(question, 0), len(texts))
    if before == len(texts):
        why = "you have seen all hints for this question" if texts else "this question has no hints"
        return Hint(exercise, question, before, len(texts), "", why)
    _remember(folder, {**shown, question: before + 1})
    return Hint(exercise, question, before + 1, len(texts), texts[before])


def _asked(folder: Path, manifest: Manifest, name: str) -> tuple[str, str | None]:
    """Returns the exercise that a name refers to, and the question that needs a hint.

    The question is None if all of the exercise's questions pass their checks.
    """
    questions = questions_of(folder, manifest)
    for exercise, known in questions.items():
        if name in known:  # a check says `hint("softmax")` about the question, not its exercise
            return exercise, name
    stem = Path(name).stem  # a shell completes `scores.py` and `scores.ipynb`
    if stem not in questions:
        raise unknown(name, questions)
    from .folder import check_folder  # loads torch, which a question's hint does not need

    (result,) = check_folder(folder, [stem])
    passed = {item.question for item in result.questions if item.standing is Standing.PASSED}
    return stem, next((item for item in questions[stem] if item not in passed), None)


def _shown(folder: Path) -> dict[str, int]:
    """Returns how many hints for each question have been shown in this folder."""
    path = folder / STATE
    try:
        shown = _document(path).get(_SHOWN, {})
        return {str(question): max(0, int(count)) for question, count in shown.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is damaged: {error!r}. Delete it: it only stores which hints you have seen."
        ) from error


def _document(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _remember(folder: Path, shown: Mapping[str, int]) -> None:
    path = folder / STATE
    new = path.with_name(f"{STATE}.new")
    try:
        new.write_text(json.dumps({_SHOWN: dict(shown)}, indent=1) + "\n", encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise UserError(
            f"{path} can't be written: {error.strerror}. Make the folder writable: "
            "this file stores which hints you have seen."
        ) from error


def afterwards(folder: Path, question: str) -> str:
    """Returns the text to read after a correct answer, or an empty string if there is none."""
    return read_afterwards(folder).get(question, "")


def other_ways(folder: Path, question: str) -> tuple[tuple[str, str], ...]:
    """Returns other solutions as pairs of text and code, or () if the course has published none."""
    return read_ways(folder).get(question, ())
