"""Defines the commands for students: check, retry, watch, hint, status."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from .output import as_json, command, console, emit
from .showing import Screen
from .torch_start import loading

_in_folder = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="The assignment's folder (default: the folder of the given file, or this folder).",
)
_plain = click.option(
    "--plain", is_flag=True, help="Text only, for screen readers: no colors, symbols or bars."
)


def _place(folder: Path | None, names: tuple[str, ...]) -> Path:
    """Returns the assignment's folder, such as `homework` for the argument `homework/scores.py`."""
    return folder or next((Path(name).parent for name in names if Path(name).name != name), Path())


@contextlib.contextmanager
def _document_alone(is_asked: bool) -> Iterator[None]:
    """If `is_asked` is true, sends all printed text to stderr, even from answers' child processes.

    Standard output then contains only the JSON document.
    """
    if not is_asked:
        yield
        return
    stdout = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


@command()
@click.argument("names", nargs=-1, metavar="[EXERCISE or QUESTION]...")
@click.option("--trace", is_flag=True, help="Show the shapes in each line of a failing call.")
@click.option(
    "--all", "everything", is_flag=True, help="Show every check, not just the first failure."
)
@click.option(
    "--rule",
    default="",
    metavar="RULE",
    help='Also check a constraint that is not graded: "one line", "no loop" or "no @".',
)
@_plain
@_in_folder
@as_json
def check(
    names: tuple[str, ...],
    trace: bool,
    everything: bool,
    rule: str,
    plain: bool,
    folder: Path | None,
    as_json: bool,
) -> int:
    """Run the public checks on the answers in this folder.

    For each question, only the first failure is shown, unless --all is given.

    \b
    Example: autograder check scores
             autograder check query_scores --trace
             autograder check query_scores --all
             autograder check query_scores --rule "one line"
    """
    folder = _place(folder, names)
    with loading():
        from ..student import check_folder, trace_folder

    with _document_alone(as_json):
        results = check_folder(folder, names)
    if as_json:
        emit([dataclasses.asdict(result) for result in results])
        return _code(results)
    screen = Screen(console, plain)
    for result in results:
        screen.exercise(result, everything)
        for question in result.questions:
            if question.standing.value == "passed" and question.question in names:
                _show_more(screen, folder, question.question, rule)
            elif trace and question.standing.value == "fix":
                screen.say(trace_folder(folder, question.question), indent=4)
    return _code(results)


def _show_more(screen: Screen, folder: Path, question: str, rule: str) -> None:
    """Shows more about a correct answer: the second star, further reading, and other solutions."""
    from ..student import afterwards, other_ways, star_of

    if star := star_of(folder, question, rule):
        screen.prose(star, indent=4)
    screen.prose(afterwards(folder, question), indent=4)
    for text, code in other_ways(folder, question):
        screen.prose(f"another way: {text}", indent=4)
        screen.say(code, indent=8)


def _code(results: tuple[Any, ...]) -> int:
    return 0 if all(result.passed == len(result.questions) for result in results) else 1


@command()
@click.argument("question", metavar="QUESTION")
@_in_folder
def retry(question: str, folder: Path | None) -> int:
    """Repeat the call that makes a question's check fail, with the same numbers and weights.

    Shows what your code prints, and what it returns or raises. A `breakpoint()` in your code stops
    there.

    \b
    Example: autograder retry query_scores
    """
    with loading():
        from ..student import retry_folder

    message, passed = retry_folder(_place(folder, ()), question)
    Screen(console).say(message)
    return 0 if passed else 1


@command()
@click.argument("exercises", nargs=-1)
@_plain
@_in_folder
def watch(exercises: tuple[str, ...], plain: bool, folder: Path | None) -> int:
    """Run the checks again after every save, until you press q or Ctrl-C.

    Keys: h shows the next hint, n the next question, l a list of all questions; q quits.

    \b
    Example: autograder watch
             autograder watch scores
    """
    from .watching import Watch

    with loading():
        importlib.import_module("autograder.student.folder")
    Watch(Screen(console, plain), _place(folder, exercises), exercises).run()
    return 0


@command()
@click.argument("name", metavar="EXERCISE or QUESTION")
@click.option("--again", is_flag=True, help="Start again with the first hint.")
@_plain
@_in_folder
@as_json
def hint(name: str, again: bool, plain: bool, folder: Path | None, as_json: bool) -> int:
    """Show the hints for an exercise or a question, one at a time.

    For an exercise, each hint is for the first question that does not pass its checks yet. If an
    exercise and a question have the same name, the hints are for the question.

    \b
    Example: autograder hint scores
             autograder hint attention_scores --again
    """
    from ..student import next_hint

    with loading():  # to find an exercise's next hint, its checks are run
        found = next_hint(_place(folder, (name,)), name, again=again)
    screen = Screen(console, plain)
    if as_json:
        emit(dataclasses.asdict(found))
    elif found.text:
        screen.say(f"{found.question}: hint {found.number} of {found.of}", "bold")
        screen.prose(found.text)
        if found.number < found.of:
            screen.say("Try this hint first; the same command shows the next one.", "dim")
    else:
        screen.say(f"{found.question or found.exercise}: {found.why}")
        if found.of:
            screen.say(f"from the start: autograder hint {name} --again")
    return 0


@command()
@_plain
@_in_folder
@as_json
def status(plain: bool, folder: Path | None, as_json: bool) -> int:
    """Show the progress and points for this folder's exercises, and what to submit when all pass.

    \b
    Example: autograder status
    """
    with loading():
        from ..student import status as progress_of

    with _document_alone(as_json):
        progress = progress_of(_place(folder, ()))
    if as_json:
        emit(dataclasses.asdict(progress))
    else:
        Screen(console, plain).progress(progress)
    return 0


COMMANDS = (check, retry, watch, hint, status)
