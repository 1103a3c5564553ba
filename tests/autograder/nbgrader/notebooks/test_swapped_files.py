"""If a notebook is replaced while its cells run, the submission gets no result."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.errors import SubmissionError
from autograder.nbgrader.notebooks import notebook_engine as engine
from autograder.submission import Submission


@pytest.mark.parametrize("is_put_back", [True, False])
def test_a_notebook_that_is_swapped_meanwhile_has_no_result(
    is_put_back: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.ipynb").write_text("right")

    def swapping(*_: object) -> None:
        (tmp_path / "own.ipynb").rename(tmp_path / "aside")
        (tmp_path / "own.ipynb").write_text("wrong")
        if is_put_back:
            (tmp_path / "aside").rename(tmp_path / "own.ipynb")

    monkeypatch.setattr(engine, "autograde", swapping)
    monkeypatch.setattr(engine, "exercises_of", lambda *_: ())
    nothing: Any = SimpleNamespace()
    grader = engine.NotebookGrader(nothing, nothing, {})
    with pytest.raises(SubmissionError, match="changed or moved while they were graded"):
        grader.grade(Submission("ada", "walk", tmp_path), nothing)
