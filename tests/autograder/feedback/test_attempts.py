"""The changes page shows the code of successive attempts side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import autograder
from autograder.feedback.attempts import CodeLine, side_by_side
from autograder.operations.grades import DisplayOptions
from autograder.records import SubmissionResult
from autograder.submission.read import digest_of_files

FIRST = "def mask_scores(x):\n    # by Ada\n    return x\n"
SECOND = "def mask_scores(x):\n    # by Ada\n    return x + 1\n"


@pytest.fixture(params=["ada", "a%3Ada"])
def class_folder(
    tmp_path: Path, make_result: Callable[..., SubmissionResult], request: pytest.FixtureRequest
) -> Path:
    """Returns a class in which ada (or `a:da`) and ben submitted twice.

    Ben's first attempt has a result, but its files no longer exist.
    """
    folder, ada = tmp_path / "course", request.param
    places = {FIRST: f"earlier/{ada}/masks/2026", SECOND: f"submitted/{ada}/masks"}
    lines = []
    for attempt, (code, place) in enumerate(places.items(), start=1):
        (folder / place).mkdir(parents=True)
        (folder / place / "masking.py").write_text(code)
        result = make_result(ada, (float(attempt), 0.0, 0.0))
        names = [exercise.exercise for exercise in result.exercises]
        digest = digest_of_files(folder / place, names)
        lines.append(replace(result, submission_digest=digest, attempt=attempt))
    lines += [replace(line, student="ben") for line in lines]
    text = "".join(json.dumps(line.to_json()) + "\n" for line in lines)
    (folder / "results.jsonl").write_text(text)
    return folder


def test_both_attempts_are_side_by_side_with_new_lines_marked(class_folder: Path) -> None:
    found = autograder.class_changes(class_folder)
    page = autograder.write_changes(found, class_folder / "changes.html").read_text()
    assert page.count("return x\n") == 1
    assert '<mark><span class="visually-hidden">new: </span>    return x + 1</mark>' in page
    assert page.count("by Ada") == 2


def test_without_names_there_are_no_comments(class_folder: Path) -> None:
    found = autograder.class_changes(class_folder, DisplayOptions(is_anonymous=True))
    page = autograder.write_changes(found, class_folder / "changes.html").read_text()
    assert "return x + 1" in page and "Ada" not in page and "ada" not in page


def test_the_first_version_has_nothing_new() -> None:
    assert side_by_side(["a\nb", "a\nc"]) == (
        (CodeLine("a", False), CodeLine("b", False)),
        (CodeLine("a", False), CodeLine("c", True)),
    )
