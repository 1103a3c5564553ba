"""Defines options that several commands for instructors share."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from ..operations.courses import HERE
from ..submission.class_files import class_home

F = TypeVar("F", bound=Callable[..., Any])


class ClassFolder(click.Path):
    """The type of an argument that names a class folder, or a folder inside one."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Converts the path as click does, and returns the class folder that is at or above it."""
        return class_home(Path(os.fsdecode(super().convert(value, param, ctx))))


#: the argument that names a class folder
CLASS = click.argument("class_folder", metavar="CLASS", type=ClassFolder())
#: an option for commands whose output may be shown to a class
ANONYMOUS = click.option(
    "--anonymous", is_flag=True, help="Leave out names, so that the output can be shown to a class."
)
#: an option for commands that grade the course's own content
JOBS = click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=2,
    show_default=True,
    help="Number of processes that grade at the same time.",
)


def in_course(command: F) -> F:
    """Adds the option `--course` to a command."""
    return click.option(
        "--course",
        "course_folder",
        type=click.Path(path_type=Path),
        default=HERE,
        help="The instructor's folder, with source/ and solutions/ (default: this folder or one "
        "above it; for a class elsewhere, the folder named in its nbgrader_config.py).",
    )(command)


def of_people(command: F) -> F:
    """Adds the options that select results, and passes them to the command as `selection`."""

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
        ("--grader", "Only this grader's students, as in the roster's grader column."),
        ("--section", "Only students in this section, as in the roster's section column."),
        ("--student", "Only this student."),
        ("--assignment", "Only this assignment."),
    ):
        with_selection = click.option(name, help=what)(with_selection)
    return cast(F, with_selection)
