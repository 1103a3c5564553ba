"""A message about a missing file says what a person can do."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.submission import standard_name, unused_notes
from autograder.submission.intake import missing_answer_note


def _deeper(name: str, path: Path) -> None:
    path.with_name("homework").mkdir()
    path.with_name("homework").joinpath(name).touch()


@pytest.mark.parametrize(
    ("make", "beginning"),
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
def test_a_note_says_which_file_was_found_instead(
    course: Course, tmp_path: Path, make: Callable[[Path], None], beginning: str
) -> None:
    make(tmp_path / "scores.py")
    exercise = course.assignment("simplified_attention").exercise("scores")
    (note,) = missing_answer_note(tmp_path, exercise)
    assert note.startswith(beginning)


def test_unused_files_are_named_but_given_ones_are_not(tmp_path: Path) -> None:
    given = ("README.md", "checks/test_scores.py", "timestamp.txt", ".ipynb_checkpoints/a.ipynb")
    for name in (*given, "scores.py", "scores.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert unused_notes(tmp_path, ["scores"]) == ()
    for name in ("homework1.pdf", "a/b/plot.png", "data.zip", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    (note,) = unused_notes(tmp_path, ["scores"])
    assert note == ("look at data.zip, homework1.pdf, notes.txt and 1 more: nothing in it was used")
    assert "data.zip" not in unused_notes(tmp_path, ["scores"], ["look at data.zip: ..."])[0]


def test_code_of_another_assignment_is_recognized(tmp_path: Path) -> None:
    (tmp_path / "masking.py").touch()
    (note,) = unused_notes(tmp_path, ["scores"])
    assert note == (
        "look at masking.py: not an exercise of this assignment; does it belong to a different "
        "assignment?"
    )


@pytest.mark.parametrize(
    ("file", "name", "copy"),
    [
        ("Scores.PY", "scores.py", 0),
        ("scores (2).ipynb", "scores.ipynb", 2),
        ("scores-1.py", "scores.py", 1),
        ("scores(1).py", "scores.py", 1),
        ("scores-Copy1.ipynb", "scores.ipynb", -1),
        ("Copy of Scores.ipynb", "scores.ipynb", -1),
        ("Copy of scores (1).ipynb", "scores.ipynb", -1),
        ("scores copy 2.py", "scores.py", -1),
        ("scores - Copy (2).py", "scores.py", -1),
        ("scores final.py", "scores final.py", 0),
        ("part-1.py", "part-1.py", 0),
        ("scores.txt", "scores.txt", 0),
        ("scores", "scores", 0),
    ],
)
def test_a_file_has_one_name_however_it_was_written(file: str, name: str, copy: int) -> None:
    assert standard_name(file, ["scores", "softmax"]) == (name, copy)
