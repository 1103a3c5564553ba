"""Finds an author's unfinished work: missing and unlisted files, and notes of `autograder new`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import ContentError
from ..records import Assignment, Exercise
from .content import VARIANTS, Course

_TO_DO = re.compile(r"TO DO: (?P<what>.*)")
_ENDS = '".,)->#] \t'


#: file, line, problem and fix
_Task = tuple[Path, int | None, str, str]


def refuse_unfinished(course: Course, chosen: Iterable[Assignment]) -> None:
    """Raises `ContentError` for the first unfinished place; the message lists the others."""
    tasks = (task for assignment in chosen for task in _tasks(course, assignment))
    found = sorted(tasks, key=lambda task: task[1] is not None)  # missing files first
    if found:
        path, line, what, fix = found[0]
        if len(found) > 1:
            what += f" (1 of {len(found)} things to do)"
            fix += "".join(f"\n  then: {_place(course, task)}: {task[2]}" for task in found[1:])
        raise ContentError(path, line, what, fix)


def _place(course: Course, task: _Task) -> str:
    path, line, _, _ = task
    return f"{path.relative_to(course.root)}" + (f":{line}" if line is not None else "")


def _tasks(course: Course, assignment: Assignment) -> Iterator[_Task]:
    folder = course.root / "source" / assignment.name
    for name, paths in course.unlisted(assignment.name).items():
        files = ", ".join(str(path.relative_to(course.root)) for path in paths)
        fix = f'add "{name}" to `exercises`, or remove the files'
        yield folder / "assignment.toml", None, f"files that belong to no exercise: {files}", fix
    for exercise in assignment.exercises:
        yield from _of_exercise(course, exercise)
    for name in ("hints.toml", "afterwards.toml", "assignment.toml"):
        yield from _in_file(folder / name)


def _of_exercise(course: Course, exercise: Exercise) -> Iterator[_Task]:
    scaffold = f"autograder new {exercise.assignment}/{exercise.name} writes one to fill in"
    for path, what in (
        (exercise.solution, "solution"),
        (exercise.hidden_suite, "hidden suite"),
        (exercise.public_suite, "public suite"),
        (exercise.source, "text"),
    ):
        if not path.is_file():
            yield path, None, f"no {what}", f"write it (see docs/authoring.md); {scaffold}"
        else:
            yield from _in_file(path)
    for kind in VARIANTS:
        yield from _in_file(course.variants(kind, exercise))


def _in_file(path: Path) -> Iterator[_Task]:
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TO_DO.search(line):
            what = match["what"].strip(_ENDS)
            yield path, number, f"to do: {what}", "complete it, delete TO DO, and validate again"
