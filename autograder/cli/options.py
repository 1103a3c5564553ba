"""Options that several of an instructor's commands have."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from ..operations.class_folder import class_home
from ..operations.courses import HERE

F = TypeVar("F", bound=Callable[..., Any])


class ClassFolder(click.Path):
    """The folder of a class, or a folder in it: commands get the class's own."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click does it; then the class around it is looked for."""
        return class_home(Path(os.fsdecode(super().convert(value, param, ctx))))


#: of commands on a class: its folder
CLASS = click.argument("class_folder", metavar="CLASS", type=ClassFolder())
#: of commands whose page may be projected
ANONYMOUS = click.option(
    "--anonymous", is_flag=True, help="Without names: for a page that may be projected."
)
#: of commands that judge the course's own content
JOBS = click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=2,
    show_default=True,
    help="Processes that judge at a time.",
)


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
