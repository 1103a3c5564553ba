"""The command for classes that work with nbgrader."""

from __future__ import annotations

from pathlib import Path

import click

from ..escaping import for_terminal
from ..operations import course_content
from .options import in_course
from .output import as_json, console, emit, number_of
from .strict_command import command


@command()
@click.argument("class_folder", type=click.Path(path_type=Path))
@click.argument("assignments", nargs=-1)
@click.option("--force", is_flag=True, help="Overwrite existing source files that differ.")
@in_course
@as_json
def nbgrader(
    class_folder: Path,
    assignments: tuple[str, ...],
    force: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Turn CLASS_FOLDER into a course of nbgrader, or add assignments to one.

    Writes source/<assignment>/ and, if there is none, nbgrader_config.py. From then on, nbgrader's
    commands and formgrader work there, and grade in the sandbox.

    \b
    Example: autograder nbgrader course
             autograder nbgrader ~/cs101 causal_attention
    """
    made = course_content.prepare_nbgrader(
        class_folder, assignments, force=force, course=course_folder
    )
    if as_json:
        emit(
            {
                "config": str(made.config),
                "add_to_config": made.add_to_config,
                "changed": made.changed,
            }
        )
        return 0
    for name, files in made.changed.items():
        what = f"{number_of(len(files), 'file')} written" if files else "unchanged"
        console.print(f"{name}: {what} in {for_terminal(str(made.folders[name]))}", soft_wrap=True)
    if made.add_to_config:
        console.print(f"add to {for_terminal(str(made.config))}:", soft_wrap=True)
        for line in made.add_to_config:
            console.print(f"    {for_terminal(line)}", soft_wrap=True)
    else:
        console.print(f"settings: {for_terminal(str(made.config))}", soft_wrap=True)
    return 0


COMMANDS = (nbgrader,)
