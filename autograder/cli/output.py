"""How commands speak: a console for people, one JSON document for machines, errors on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.console import Console

from ..escaping import for_json

F = TypeVar("F", bound=Callable[..., Any])

#: the exit status of a command that did all that could be done, and left something to a person
WAITS = 3

#: columns where nobody looks at a terminal: a log, a file
_WIDE = 160

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
