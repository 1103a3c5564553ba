"""`--course`: the option of commands that need an instructor's course."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..operations.courses import HERE

F = TypeVar("F", bound=Callable[..., Any])


def in_course(command: F) -> F:
    """Adds `--course`."""
    return click.option(
        "--course",
        "course_folder",
        type=click.Path(path_type=Path),
        default=HERE,
        help="The instructor's folder, with source/ and solutions/ (default: here or above; for a "
        "class elsewhere, what its nbgrader_config.py names).",
    )(command)
