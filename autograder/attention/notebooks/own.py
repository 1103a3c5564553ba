"""Loads students' own answers for the notebooks that use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from IPython.display import display

from ... import parts
from ...course.manifest import read_manifest
from ...errors import AutograderError, UserError
from ...student.answers import answer_of, execute
from ...student.assignment_folder import assignment_folder, questions_of
from ...student.check_results import Standing
from ...student.display import notice
from ...student.folder import check_folder


def own_or_part(question: str) -> Any:
    """Return a student's own answer if it passes its checks, otherwise the ready-made part.

    Also shows which of the two is returned. Raises `UserError` if the answer does not pass and
    there is no ready-made part. The notebook must be in the assignment's folder or in a folder
    below it.
    """
    folder = assignment_folder(Path.cwd(), question)
    try:
        return _own(question, folder)
    except AutograderError as error:
        part = getattr(parts, question, None)
        if part is None:
            raise UserError(f"{error}; there is no ready-made part with that name") from error
        _say("○", f"{question}: a ready-made part is used instead of your own answer ({error})")
        return part


def _own(question: str, folder: Path) -> Any:
    """Return the student's answer; raise `UserError` with the reason if it must not be used."""
    manifest = read_manifest(folder)
    (checked,) = check_folder(folder, [question])
    (result,) = [item for item in checked.questions if item.question == question]
    if result.standing is not Standing.PASSED:
        raise UserError(f"run  autograder check {question}  to see what is wrong with your answer")
    questions = questions_of(folder, manifest)[checked.exercise]
    answer = answer_of(folder, checked.exercise, questions)
    if answer is None:
        raise UserError(f"{checked.exercise} has no answer")
    _say("✓", f"{question}: your own answer is used, from {answer.path.name}")
    return execute(answer).namespace[question]


def _say(sign: str, text: str) -> None:
    display(notice(sign, text))  # type: ignore[no-untyped-call]  # IPython has no types
