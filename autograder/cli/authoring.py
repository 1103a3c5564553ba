"""Commands for authors: new, expected."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import UserError
from ..escaping import for_terminal
from ..operations import course_content
from .options import JOBS, in_course
from .output import as_json, console, emit, number_of
from .strict_command import command


@command()
@click.argument("name", metavar="ASSIGNMENT/EXERCISE")
@click.option(
    "--question",
    "questions",
    multiple=True,
    help="Name of a function or class; repeat the option to add several.",
)
@in_course
@as_json
def new(name: str, questions: tuple[str, ...], course_folder: Path, as_json: bool) -> int:
    """Write all files of a new exercise, or add questions to an existing one.

    In an empty folder, or with --course FOLDER, this begins a course of your own. Afterwards,
    `validate` shows what is left to do.

    \b
    Example: autograder new ciphers/shift --question shift_letter
    """
    assignment, slash, exercise = name.partition("/")
    if not slash:
        raise UserError(f"{name!r} does not name an exercise: write ASSIGNMENT/EXERCISE")
    made = course_content.new(assignment, exercise, questions, course=course_folder)
    if as_json:
        emit({"written": [str(path) for path in (*made.repository, *made.written)]})
        return 0
    if made.repository:
        console.print(f"a new course in {for_terminal(str(made.root))}", soft_wrap=True)
    for path in made.written:
        console.print(f"written: {for_terminal(str(path))}", soft_wrap=True)
    console.print(f"what is left to do, step by step: autograder validate {for_terminal(name)}")
    return 0


@command()
@JOBS
@in_course
@as_json
def expected(jobs: int, course_folder: Path, as_json: bool) -> int:
    """Grade the example class, write its scores to examples/expected.json, and print what changed.

    \b
    Example: autograder expected
    """
    from ..operations.expected import write_expected

    changed = write_expected(course=course_folder, jobs=jobs)
    if as_json:
        emit(list(changed))
        return 0
    for line in changed:
        console.print(for_terminal(line), soft_wrap=True)
    console.print(f"different score or verdict than before: {number_of(len(changed), 'question')}")
    return 0


COMMANDS = (new, expected)
