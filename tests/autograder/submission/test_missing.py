"""What a person is told of a file that is not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.submission.missing import about_missing, about_strange


def _deeper(name: str, path: Path) -> None:
    path.with_name("homework").mkdir()
    path.with_name("homework").joinpath(name).touch()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "scores.py is not a file but a pipe or a device"),
        (os.mkdir, "scores.py is a folder"),
        (lambda path: path.symlink_to("/etc/passwd"), "scores.py is a link, which is not followed"),
        (partial(_deeper, "scores.py"), "look at homework/scores.py: expected scores.py"),
        (lambda path: path.with_name("all.rar").touch(), "look at all.rar: expected scores.py"),
        (partial(_deeper, "scores copy.py"), "look at homework/scores copy.py: expected scores.py"),
        (lambda path: path.with_name("readme.txt").touch(), "expected scores.py or scores.ipynb"),
    ],
)
def test_what_is_there_instead_is_said(
    course: Course, tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    make(tmp_path / "scores.py")
    exercise = course.assignment("simplified_attention").exercise("scores")
    (note,) = about_missing(tmp_path, exercise)
    assert note.startswith(said)


def test_code_of_another_assignment_is_named_and_the_bundles_own_is_not(tmp_path: Path) -> None:
    for name in ("README.md", "checks/test_scores.py", "timestamp.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert about_strange(tmp_path) == ()
    (tmp_path / "masking.py").touch()
    (note,) = about_strange(tmp_path)
    assert note.startswith("look at masking.py: no exercise of this assignment")
