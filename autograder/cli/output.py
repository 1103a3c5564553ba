"""The output of commands: a console for people, JSON documents for machines, errors on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.console import Console

from ..escaping import for_json

F = TypeVar("F", bound=Callable[..., Any])

#: the exit status of a command that did all that could be done, but left something to a person
WAITS = 3

#: the width of output, in columns, if it is not a terminal but a log or a file
_WIDE = 160

console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else _WIDE)
errors = Console(stderr=True, highlight=False, emoji=False)


def number_of(count: int, noun: str) -> str:
    """Returns a number with its noun, such as `1 page` or `2 pages`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def emit(document: Any) -> None:
    """Prints the one JSON document of a command called with `--json`."""
    click.echo(for_json(document, indent=2, default=str))


def as_json(command: F) -> F:
    """Adds `--json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document, and nothing else."
    )(command)
