"""The command for classes that work with nbgrader."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape

from .output import as_json, console, course_at, emit, in_course, instructor_part


@click.command()
@click.argument("class_folder", type=click.Path(path_type=Path))
@click.argument("assignments", nargs=-1)
@click.option("--force", is_flag=True, help="Overwrite source files that are there and differ.")
@in_course
@as_json
def nbgrader(
    class_folder: Path,
    assignments: tuple[str, ...],
    force: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Make CLASS_FOLDER a course of nbgrader, or add assignments to one.

    Writes source/<assignment>/ and, where there is none, nbgrader_config.py. From then on
    nbgrader's commands and formgrader work there, and grade behind the wall.

    \b
    Example: autograder nbgrader course
             autograder nbgrader ~/cs101 causal_attention
    """
    gradebook = instructor_part("nbgrader")
    course = course_at(course_folder)
    chosen = [course.assignment(name) for name in assignments] or list(course.assignments)
    config = gradebook.prepare_class_folder(course, class_folder)
    settings = gradebook.load_settings(class_folder)
    folders = {item.name: settings.source(item.name) for item in chosen}
    changed = {
        item.name: gradebook.write_class_source(course, item, folders[item.name], force)
        for item in chosen
    }
    missing = gradebook.missing_lines(course, class_folder, settings)
    if as_json:
        emit({"config": str(config), "add_to_config": missing, "changed": changed})
        return 0
    for name, files in changed.items():
        what = f"{len(files)} files written" if files else "unchanged"
        console.print(f"{name}: {what} in {escape(str(folders[name]))}", soft_wrap=True)
    if missing:
        console.print(f"add to {escape(str(config))}:", soft_wrap=True)
        for line in missing:
            console.print(f"    {escape(line)}", soft_wrap=True)
    else:
        console.print(f"settings: {escape(str(config))}", soft_wrap=True)
    return 0


COMMANDS = (nbgrader,)
