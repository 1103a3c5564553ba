"""Commands of a student: check, watch, hint, status."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from .output import as_json, console, emit, plain

if TYPE_CHECKING:
    from ..student import CheckedExercise, CheckedQuestion

_MARKS = {
    "passed": "[green]ok[/]",
    "mend": "[red]to mend[/]",
    "not_implemented": "[dim]not implemented yet[/]",
    "missing": "[yellow]missing[/]",
    "stopped": "[yellow]stopped[/]",
}


_in_folder = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The assignment's folder (default: here).",
)


@click.command()
@click.argument("exercises", nargs=-1)
@_in_folder
@as_json
def check(exercises: tuple[str, ...], folder: Path, as_json: bool) -> int:
    """Run the public checks on the answers in this folder.

    \b
    Example: autograder check scores
    """
    from ..student import check_folder

    results = check_folder(folder, exercises)
    if as_json:
        emit([dataclasses.asdict(result) for result in results])
    else:
        for result in results:
            _print_exercise(result)
    return 0 if all(result.finished for result in results) else 1


@click.command()
@click.argument("exercises", nargs=-1)
@_in_folder
def watch(exercises: tuple[str, ...], folder: Path) -> int:
    """Run the checks again after every save, until Ctrl-C.

    \b
    Example: autograder watch
             autograder watch scores
    """
    from ..student import check_folder, saved_exercises

    results = {result.exercise: result for result in check_folder(folder, exercises)}
    _show_watched(results, tuple(results))
    with contextlib.suppress(KeyboardInterrupt):
        for saved in saved_exercises(folder, tuple(results)):
            results |= {result.exercise: result for result in check_folder(folder, saved)}
            _show_watched(results, saved)
    console.print()
    return 0


@click.command()
@click.argument("exercise")
@click.option("--again", is_flag=True, help="Start with the first hint once more.")
@_in_folder
@as_json
def hint(exercise: str, again: bool, folder: Path, as_json: bool) -> int:
    """Show the next hint for EXERCISE, one at a time.

    It is a hint for the first question that does not pass its checks yet; give the question's name
    to ask for another one.

    \b
    Example: autograder hint scores
             autograder hint attention_scores --again
    """
    from ..student import next_hint

    found = next_hint(folder, exercise, again=again)
    if as_json:
        emit(dataclasses.asdict(found))
    elif found.text:
        head = f"{found.question}: hint {found.number} of {found.of}"
        console.print(f"[bold]{escape(head)}[/]\n{escape(found.text)}")
        if found.number < found.of:
            console.print("[dim]Try it out first; the same command gives the next hint.[/]")
    else:
        console.print(f"{escape(found.question or found.exercise)}: {escape(found.why)}")
        if found.of:
            console.print(f"from the start: autograder hint {escape(exercise)} --again")
    return 0


@click.command()
@_in_folder
@as_json
def status(folder: Path, as_json: bool) -> int:
    """Show the progress through the exercises of this folder.

    \b
    Example: autograder status
    """
    from ..student import status as progress_of

    progress = progress_of(folder)
    if as_json:
        emit(dataclasses.asdict(progress))
        return 0
    console.print(f"[bold]{escape(progress.title)}[/]")
    for exercise in progress.exercises:
        total = len(exercise.questions)
        bar = "#" * exercise.passed + "." * (total - exercise.passed)
        console.print(f"  {exercise.exercise:28} {bar:10} {exercise.passed} of {total}")
    console.print(f"{progress.passed} of {progress.questions} questions pass their public checks")
    if progress.next:
        name = escape(progress.next.exercise)
        console.print(f"next: autograder check {name} (stuck? autograder hint {name})")
    return 0


COMMANDS = (check, watch, hint, status)


def _show_watched(results: Mapping[str, CheckedExercise], saved: Sequence[str]) -> None:
    """What was just checked, in full, and where the whole folder stands."""
    console.clear()
    for name in saved:
        if name in results:
            _print_exercise(results[name])
    passed = sum(result.passed for result in results.values())
    total = sum(len(result.questions) for result in results.values())
    console.print(f"\n{passed} of {total} questions pass their public checks")
    console.print("[dim]Save a file to check it again; Ctrl-C ends.[/]")


def _print_exercise(result: CheckedExercise) -> None:
    file = f" ({result.file})" if result.file else ""
    console.print(f"[bold]{escape(result.exercise)}[/]{escape(plain(file))}")
    for text in (result.problem, result.note):
        if text:
            console.print(f"  {escape(text)}", soft_wrap=True)
    for question in result.questions:
        console.print(f"  {escape(question.question)}: {_MARKS[question.standing.value]}")
        if question.standing.value == "mend":
            _print_failures(question)


def _print_failures(question: CheckedQuestion) -> None:
    from ..student import readable

    for test in question.tests:
        if not test.passed:
            console.print(f"    [red]{escape(readable(test.name))}[/]")
            for line in test.message.splitlines():
                console.print(f"      {escape(line)}", soft_wrap=True)
