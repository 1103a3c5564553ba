"""How commands speak: a console for people, one JSON document for machines, errors on stderr."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ..escaping import for_json
from ..records import SubmissionResult, SubmissionStatus, Tier

F = TypeVar("F", bound=Callable[..., Any])

#: columns where nobody looks at a terminal: a log, a file
_WIDE = 160

#: of commands whose page may be projected
ANONYMOUS = click.option(
    "--anonymous", is_flag=True, help="Without names: for a page that may be projected."
)

console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else _WIDE)
errors = Console(stderr=True, highlight=False, emoji=False)


def emit(document: Any) -> None:
    """The one JSON document of a command called with `--json`."""
    click.echo(for_json(document, indent=2, default=str))


def as_json(command: F) -> F:
    """Adds `--json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document, and nothing else."
    )(command)


def of_people(command: F) -> F:
    """Adds the options that say whose work is looked at; the command gets them as `selection`."""

    @functools.wraps(command)
    def with_selection(
        *args: Any,
        assignment: str | None,
        student: str | None,
        section: str | None,
        grader: str | None,
        **others: Any,
    ) -> Any:
        from ..classroom import Selection

        selection = Selection(assignment, student, section, grader)
        return command(*args, selection=selection, **others)

    for name, what in (
        ("--grader", "Only people of this grader (a column of the class's roster)."),
        ("--section", "Only people of this section (a column of the class's roster)."),
        ("--student", "Only this student."),
        ("--assignment", "Only this assignment."),
    ):
        with_selection = click.option(name, help=what)(with_selection)
    return cast(F, with_selection)


@contextlib.contextmanager
def counting(what: str) -> Iterator[tuple[Callable[[int], None], Callable[[], None]]]:
    """A progress bar on stderr: gives a function that sets the total, and one for one more."""
    with progress_bar() as progress:
        task = progress.add_task("starting", total=None)
        yield (
            lambda total: progress.reset(task, total=total, description=what),
            lambda: progress.advance(task),
        )


def progress_bar() -> Progress:
    """What is done, the rate, and the time left; on stderr, gone at the end."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
    )


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """That many in a second."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "")


class RunProgress:
    """Shows a run's progress on stderr; the result, on stdout, stays clean."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("starting", total=None)
        self.failed = 0

    def starts(self, tier: Tier | None, to_grade: int, already_graded: int) -> None:
        """See `RunEvents.starts`."""
        already = f", {already_graded} graded before" if already_graded else ""
        where = f"isolation tier {tier}" if tier else "isolation as each worker has it"
        self._progress.console.print(f"{where}; {to_grade} to grade{already}")
        self._progress.update(self._task, total=to_grade, description="grading")
        self._progress.reset(self._task, total=to_grade)

    def graded(self, result: SubmissionResult) -> None:
        """See `RunEvents.graded`."""
        self.failed += result.status is SubmissionStatus.FAILED
        self._progress.advance(self._task)
