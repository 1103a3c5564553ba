"""What a person is told of a file that is not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.submission.missing import about_missing


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "scores.py is not a file but a pipe or a device"),
        (os.mkdir, "scores.py is a folder"),
        (lambda path: path.symlink_to("/etc/passwd"), "scores.py is a link, which is not followed"),
        (lambda path: path.with_name("all.rar").touch(), "look at all.rar: expected scores.py"),
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
