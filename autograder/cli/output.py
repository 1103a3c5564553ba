"""How commands speak: a console for people, one JSON document for machines, errors on stderr."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click
from rich.console import Console

from ..escaping import for_json

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
