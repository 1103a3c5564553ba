"""Finds an answer that uses another file of the student's, which is missing when it is graded."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ..suite.names import imports_of, names_used
from .results import CheckedQuestion, CheckedTest, Standing

_MESSAGE = (
    "{question}: your code imports {module!r}, another file of yours.\n"
    "got       {name}\n"
    "expected  a file that needs no other: torch, Python's own modules, and what the stub imports\n"
    "likely: when your work is graded, each exercise is alone: write what you need here"
)


def leans_on_another_file(
    question: str, source: str, folder: Path, exercises: Collection[str]
) -> CheckedQuestion | None:
    """Return the question as not right yet if it reaches code in another file, otherwise None.

    Such a file belongs to another exercise, or is a module in the folder.
    """
    stars = [name for short, name in imports_of(source).items() if short == "*"]
    for name in sorted([*names_used(source, question), *stars]):
        module = name.partition(".")[0]
        if module in exercises or (folder / f"{module}.py").is_file():
            text = _MESSAGE.format(question=question, module=module, name=name)
            test = CheckedTest("imports", False, text, cause="another file")
            return CheckedQuestion(question, Standing.FIX, (test,))
    return None
