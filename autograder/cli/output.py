"""How commands speak: a console for people, one JSON document for machines, errors on stderr."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import click
from rich.console import Console

from ..course import Course, find_root, load_course
from ..errors import UserError

F = TypeVar("F", bound=Callable[..., Any])

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def emit(document: Any) -> None:
    """The one JSON document of a command called with `--json`."""
    click.echo(json.dumps(document, indent=2, default=str))


def as_json(command: F) -> F:
    """Adds `--json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document, and nothing else."
    )(command)


def in_course(command: F) -> F:
    """Adds `--course`."""
    return click.option(
        "--course",
        "course_folder",
        type=click.Path(path_type=Path),
        default=Path(),
        help="The instructor's folder, with source/ and solutions/ (default: here or above).",
    )(command)


def course_at(folder: Path) -> Course:
    """The course at or above a folder."""
    return load_course(find_root(folder))


def instructor_part(name: str) -> ModuleType:
    """A package of ours that needs the `[instructor]` extra; raises `UserError` without it."""
    try:
        return importlib.import_module(f"autograder.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("autograder"):
            raise
        raise UserError(
            f"this command needs {error.name}: pip install 'attention-autograder[instructor]'"
        ) from error


def plain(text: str) -> str:
    """Text from students' names and files, safe for a terminal: control characters are shown."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
