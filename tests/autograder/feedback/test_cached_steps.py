"""Feedback is written again only if one of its inputs has changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import autograder
from autograder.results.file import ResultsFile

OLD = 1_000_000_000


@pytest.fixture
def a_class(
    class_folder: Path,
    submit: Callable[..., Path],
    make_result: Callable[..., autograder.SubmissionResult],
) -> Path:
    """Returns the folder of a class with one student, whose feedback has been written."""
    submit("ada", {"masking.py": "def causal_mask(size): ..."})
    with ResultsFile(class_folder / "results.jsonl") as file:
        file.append(make_result("ada"))
    _write(class_folder)
    return class_folder


def _write(class_folder: Path) -> Path:
    (page,) = autograder.write_feedback(class_folder, course=class_folder.parent)
    return page


def _refuse(*_: object) -> None:
    raise AssertionError("feedback was written again")


def test_feedback_of_unchanged_files_is_not_written_again(
    a_class: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autograder.feedback.write_feedback", _refuse)
    assert _write(a_class) == a_class / "feedback/ada/masks/feedback.html"


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ("extensions.csv", "student,assignment,duration,why\n"),
        ("results.jsonl", "\n"),
        ("submitted/ada/masks/masking.py", "\n"),
        ("feedback/ada/masks/feedback.txt", "\n"),
    ],
)
def test_feedback_is_written_again_after_any_change(
    a_class: Path, monkeypatch: pytest.MonkeyPatch, changed: str, text: str
) -> None:
    with (a_class / changed).open("a") as file:
        file.write(text)
    monkeypatch.setattr("autograder.feedback.write_feedback", _refuse)
    with pytest.raises(AssertionError, match="written again"):
        _write(a_class)


def test_a_removed_page_is_written_again(a_class: Path) -> None:
    (a_class / "feedback/ada/masks/feedback.html").unlink()
    assert _write(a_class).is_file()


def test_a_damaged_record_of_written_pages_is_ignored(a_class: Path) -> None:
    (a_class / ".made.json").write_text('{"feedback": 3}')
    page = a_class / "feedback/ada/masks/feedback.html"
    page.write_text("torn")
    os.utime(page, (OLD, OLD))
    assert "ada" in _write(a_class).read_text()
