"""Commands of a student: check, status."""

from __future__ import annotations

import dataclasses
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
        console.print(f"next: autograder check {progress.next.exercise}")
    return 0


COMMANDS = (check, status)


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
    for test in question.tests:
        if not test.passed:
            console.print(f"    [red]{escape(test.name)}[/]")
            for line in test.message.splitlines():
                console.print(f"      {escape(line)}", soft_wrap=True)
