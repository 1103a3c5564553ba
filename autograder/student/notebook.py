"""`check("<question>")` in a notebook: the public checks of the answer defined there."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from IPython.display import display

from ..course.points import points_of
from ..errors import AutograderError, UserError
from ..suite import LocalImplementation
from .display import Shown, as_text, notice, shown
from .results import CheckedQuestion, Standing
from .runner import run_checks

#: nbgrader says here that it runs the notebook: "autograde" or "validate"
_NBGRADER = "NBGRADER_EXECUTION"


def check(question: str) -> None:
    """Runs the public checks of one question on the answer defined in this notebook.

    Shows what passed and what to mend. A mistake in the answer never raises here, except when
    nbgrader runs the notebook: a display is no verdict to it, an error is.
    """
    namespace = sys._getframe(1).f_globals
    mode = os.environ.get(_NBGRADER)
    if mode == "autograde":
        raise UserError("public checks give no points: grade with `autograder grade`")
    try:
        result = check_namespace(question, namespace, _here())
    except AutograderError as error:
        if mode:
            raise
        _show(notice("✗", str(error)))
        return
    if mode and result.standing is not Standing.PASSED:
        raise AssertionError(as_text(result))
    _show(shown(result))


def _here() -> Path:
    """The notebook's folder; raises `UserError` where it was moved or deleted since."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UserError(
            "the folder of this notebook is gone: it was moved or replaced. "
            "Close the notebook, open it again, and restart the kernel."
        ) from None


def _show(result: Shown) -> None:
    display(result)  # type: ignore[no-untyped-call]  # IPython leaves it without types


def check_namespace(question: str, namespace: Mapping[str, Any], folder: Path) -> CheckedQuestion:
    """The public checks of a question, for the definitions of a namespace.

    Raises `UserError` where the folder has no checks of that question.
    """
    suite = find_suite(question, folder)
    implementation = LocalImplementation(namespace, _source(namespace))
    (result,) = run_checks(suite, implementation, {question})
    return result


def find_suite(question: str, folder: Path) -> Path:
    """The checks file beside a notebook that judges a question; raises `UserError`."""
    suites = sorted((folder / "checks").glob("test_*.py"))
    if not suites:
        raise UserError(
            f"no checks in {folder / 'checks'}: keep the notebook in the folder that you unzipped"
        )
    known: list[str] = []
    for suite in suites:
        questions = points_of(suite)
        if question in questions:
            return suite
        known += questions
    raise UserError(f"no question is called {question!r} here; there are: {', '.join(known)}")


def _source(namespace: Mapping[str, Any]) -> str:
    """The cells run so far, as one text: for messages about calls that are not allowed."""
    cells = namespace.get("In", [])
    if not isinstance(cells, list):
        return ""
    return "\n".join(cell for cell in cells if isinstance(cell, str) and _is_python(cell))


def _is_python(cell: str) -> bool:
    try:
        ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
