"""A grading run in a separate process imports nothing from the current folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.grading.sources import RunOptions
from autograder.nbgrader.apart import grade_apart


def test_no_module_of_the_current_folder_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "subprocess", "torch", "click"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    options = RunOptions(tmp_path / "submitted", tmp_path / "results.jsonl")
    message = grade_apart(tmp_path / "no-course", options)
    assert "no-course" in message
    assert not (tmp_path / "ran").exists()
