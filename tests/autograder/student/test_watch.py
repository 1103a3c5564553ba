"""`autograder watch` notices saved files, and shows the questions that these files answer."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from autograder.cli import cli
from autograder.cli.showing import Screen
from autograder.cli.watching import KeyReader
from autograder.errors import UserError
from autograder.student import saved_exercises

from .test_folder import BY_THREAD

Step = Callable[[], object]


def save(path: Path, text: str) -> None:
    """Writes a file and advances its time, even if the file system's clock is coarse."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before + 10**9, before + 10**9))


def seen(folder: Path, *steps: Step, exercises: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Returns the exercises that are reported as saved if one step is carried out in each pause."""
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


def test_a_deleted_or_new_answer_counts_but_no_other_file(folder: Path) -> None:
    assert seen(
        folder,
        lambda: (folder / "halves.py").unlink(),
        lambda: save(folder / "halves.py", "x = 1\n"),
        lambda: save(folder / "notes.py", "x = 1\n"),
        lambda: save(folder / "README.md", "x"),
    ) == [("halves",), ("halves",)]


def test_a_file_that_an_editor_emptied_is_not_saved_yet(folder: Path) -> None:
    module = folder / "halves.py"
    assert seen(folder, lambda: save(module, ""), lambda: save(module, "x = 1\n")) == [("halves",)]


def test_exercises_saved_together_come_together(folder: Path) -> None:
    def both() -> None:
        save(folder / "halves.py", "x = 1\n")
        save(folder / "sums.py", "x = 1\n")

    assert seen(folder, both) == [("sums", "halves")]


def test_only_the_named_exercises_are_watched(folder: Path) -> None:
    assert seen(folder, lambda: save(folder / "sums.py", "x = 1\n"), exercises=("halves",)) == []


def test_a_folder_that_is_no_assignment_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not an assignment"):
        next(saved_exercises(tmp_path))


@pytest.fixture
def watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Returns a function that runs the command; each step is a key, or a function to call."""

    def run(*steps: str | Step, options: tuple[str, ...] = ()) -> list[str]:
        left = iter(steps)

        def read(keys: KeyReader, seconds: float) -> str:
            step = next(left, "q")
            if isinstance(step, str):
                return step
            step()
            return ""

        monkeypatch.setattr(KeyReader, "read", read)
        result = CliRunner().invoke(
            cli, ["watch", "--folder", str(folder), *options], standalone_mode=False
        )
        assert result.exception is None
        return str(result.output).split("q quit\n")

    return run


Watched = Callable[..., list[str]]


def test_the_command_checks_what_was_saved_and_ends_with_q(folder: Path, watched: Watched) -> None:
    first, second, _ = watched(
        lambda: save(folder / "halves.py", "def half(x):\n    return x / 2.0\n"), "q"
    )
    assert "plus_one: not implemented yet" in first
    assert "0 of 3 questions pass" in first
    assert "✓ half: all checks passed" in second
    assert "halves is done." in second
    assert "1 of 3 questions pass" in second


def test_a_watched_file_runs_without_a_sandbox(folder: Path, watched: Watched) -> None:
    note = folder.parent / "note.txt"
    watched(lambda: save(folder / "halves.py", BY_THREAD.format(str(note))), "q")
    assert note.read_text() == "written"


def test_only_the_first_failure_of_the_first_question_is_shown(
    folder: Path, watched: Watched
) -> None:
    save(folder / "sums.py", "def plus_one(x):\n    return x[:1, None]\nLayer = plus_one\n")
    save(folder / "halves.py", "def half(x):\n    return x\n")
    first, second, _ = watched("n", "q")
    assert "✗ plus_one" in first
    assert first.count("expected") == 1
    assert "then: " in first and "half" in first
    assert "✗ half of six" not in first
    assert "✗ Layer" in second or "✗ half" in second


def test_a_question_broken_by_a_save_is_always_shown(folder: Path, watched: Watched) -> None:
    save(folder / "halves.py", "def half(x):\n    return x / 2.0\n")
    wrong = "def half(x):\n    return x\n"
    shown = watched("n", lambda: save(folder / "halves.py", wrong), "n", "q")
    assert "✗ half" in shown[2]
    assert "✗ half" not in shown[3]


def test_keys_give_a_hint_and_a_list(watched: Watched) -> None:
    _, output = watched("h", "l", "h", "q")
    assert "plus_one, hint 1 of 2: What is one more than two?" in output
    assert "plus_one, hint 2 of 2: Add a `1`." in output
    assert "half: not implemented yet  [halves]" in output


def test_the_last_right_answer_says_what_to_submit(
    folder: Path, solve: Callable[[str], None], watched: Watched
) -> None:
    solve("sums")
    output = watched(lambda: solve("halves"), "q")[1]
    assert "Submit these files: sums.py, halves.py" in output


def test_a_plain_watch_draws_nothing(watched: Watched) -> None:
    first = watched("q", options=("--plain",))[0]
    assert "[...." not in first and "○" not in first
    assert "- plus_one: not implemented yet" in first


@pytest.mark.parametrize("is_terminal", [True, False])
def test_sentences_are_wrapped_between_words(is_terminal: bool) -> None:
    written = io.StringIO()
    console = Console(file=written, width=40, force_terminal=is_terminal, no_color=True)
    text = " ".join(["the sum of the exponentials"] * 4)
    Screen(console, is_plain=True).prose(text, indent=2)
    lines = written.getvalue().splitlines()
    assert (len(lines) > 1) == is_terminal
    assert " ".join(line.strip() for line in lines) == text
