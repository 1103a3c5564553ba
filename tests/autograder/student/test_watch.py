"""`autograder watch`: what counts as saved, and what is shown then."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder import student
from autograder.cli import cli
from autograder.errors import UserError
from autograder.student import saved_exercises

Step = Callable[[], object]


def save(path: Path, text: str) -> None:
    """Writes a file with a time of its own, however coarse the file system's clock is."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before + 10**9, before + 10**9))


def seen(folder: Path, *steps: Step, exercises: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """What the watch gives while the steps happen, one in each pause."""
    left = iter(steps)

    def pause() -> None:
        step = next(left, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    found = []
    try:
        for saved in saved_exercises(folder, exercises, pause):
            found.append(saved)
    except KeyboardInterrupt:
        return found
    raise AssertionError("the watch ended by itself")


def test_nothing_is_saved_while_nothing_changes(folder: Path) -> None:
    assert seen(folder, lambda: None, lambda: None) == []


def test_a_saved_module_or_notebook_is_its_exercise(folder: Path) -> None:
    assert seen(
        folder,
        lambda: save(folder / "halves.py", "x = 1\n"),
        lambda: None,
        lambda: save(folder / "sums.ipynb", "{}"),
    ) == [("halves",), ("sums",)]


def test_files_that_come_and_go_count_and_others_do_not(folder: Path) -> None:
    assert seen(
        folder,
        lambda: (folder / "halves.py").unlink(),
        lambda: save(folder / "halves.py", "x = 1\n"),
        lambda: save(folder / "notes.py", "x = 1\n"),
        lambda: save(folder / "README.md", "x"),
    ) == [("halves",), ("halves",)]


def test_exercises_saved_together_come_together(folder: Path) -> None:
    def both() -> None:
        save(folder / "halves.py", "x = 1\n")
        save(folder / "sums.py", "x = 1\n")

    assert seen(folder, both) == [("sums", "halves")]


def test_only_the_exercises_asked_for_are_watched(folder: Path) -> None:
    assert seen(folder, lambda: save(folder / "sums.py", "x = 1\n"), exercises=("halves",)) == []


def test_a_folder_that_is_no_assignment_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no assignment"):
        next(saved_exercises(tmp_path))


def test_the_command_checks_what_was_saved_and_ends_with_ctrl_c(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def saved(folder: Path, exercises: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        assert exercises == ("sums", "halves")
        save(folder / "halves.py", "def half(x):\n    return x / 2.0\n")
        yield ("halves",)
        raise KeyboardInterrupt

    monkeypatch.setattr(student, "saved_exercises", saved)
    result = CliRunner().invoke(cli, ["watch", "--folder", str(folder)], standalone_mode=False)
    assert result.exception is None
    first, second = result.output.split("Save a file to check it again; Ctrl-C ends.\n")[:2]
    assert "plus_one: not implemented yet" in first
    assert "0 of 3 questions pass" in first
    assert "half: ok" in second
    assert "plus_one" not in second
    assert "1 of 3 questions pass" in second
