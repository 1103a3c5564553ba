"""Defines the command `changes`, which reports what regrading has changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from ..escaping import for_terminal
from ..operations import changes as operations
from ..results.changes import Change, OutdatedScore
from ..results.manual import Request
from .options import ANONYMOUS, CLASS, of_people
from .output import as_json, command, console, emit

if TYPE_CHECKING:
    from ..classroom import Selection

_MOST_ROWS = 40


@command()
@CLASS
@click.option(
    "--to",
    "path",
    type=click.Path(path_type=Path),
    help="Output file (default: CLASS/changes.html).",
)
@click.option(
    "--all",
    "since_first",
    is_flag=True,
    help="Compare with the first grading of each submission.",
)
@of_people
@ANONYMOUS
@as_json
def changes(
    class_folder: Path,
    path: Path | None,
    since_first: bool,
    selection: Selection,
    anonymous: bool,
    as_json: bool,
) -> int:
    """Show which scores the last grading changed, by how much, and why.

    Compares the scores with those at the last run of this command for all students. Also lists
    manual scores that are in doubt because the automatic score or the answer has changed since they
    were entered, and writes a page that shows all grading runs side by side.

    \b
    Example: autograder changes course
             autograder changes course --student ada --all
    """
    from ..operations.grades import DisplayOptions

    showing = DisplayOptions(selection, is_anonymous=anonymous)
    found = operations.class_changes(class_folder, showing, since_first=since_first)
    if as_json:
        emit(
            {
                "changes": [_row(change) for change in found.changes],
                "manual": [_row(change) for change in found.manual],
                "in_doubt": [dataclasses.asdict(doubt) for doubt in found.in_doubt],
                "requests": [dataclasses.asdict(request) for request in found.requests],
            }
        )
        return 0
    _print(found)
    home = class_folder if class_folder.is_dir() else class_folder.parent
    written = operations.write_changes(found, path or home / "changes.html")
    console.print(f"all grading runs side by side: {for_terminal(str(written))}", soft_wrap=True)
    return 0


COMMANDS = (changes,)


def _row(change: Change) -> dict[str, object]:
    return {**dataclasses.asdict(change), "difference": change.difference}


def _print(found: operations.ClassChanges) -> None:
    from ..feedback import before_text, by_question, score_text

    for row in by_question(found.changes):
        texts = (
            *(f"{row.up} up", f"{row.down} down"),
            *(f"{row.back} changed and changed back", f"{row.other} with a different maximum"),
        )
        counts = [text for text in texts if not text.startswith("0 ")]
        name = f"{row.assignment}/{row.exercise}/{row.question}"
        why = ", ".join(row.causes)
        console.print(f"{for_terminal(name)}: {', '.join(counts)}; because of {why}")
    table = Table("student", "question", "from", "to", "cause", box=None, pad_edge=False)
    every = (*found.changes, *found.manual)
    for item in every[:_MOST_ROWS]:
        cells = (
            *(item.student, f"{item.assignment}/{item.exercise}/{item.question}"),
            *(before_text(item), score_text(item.after), ", ".join(item.causes)),
        )
        table.add_row(*(for_terminal(cell) for cell in cells))
    if every:
        console.print(table)
    if len(every) > _MOST_ROWS:
        console.print(f"... and {len(every) - _MOST_ROWS} more; the page shows them all")
    if not found.changes:
        other = "other " if found.manual else ""
        console.print(f"no {other}score has changed since somebody last looked")
    for request in found.requests:
        console.print(for_terminal(request_line(request)), soft_wrap=True)
    for doubt in found.in_doubt:
        console.print(for_terminal(_doubt_line(doubt)), soft_wrap=True)


def request_line(request: Request) -> str:
    """Describes a request for a second look, with its answer, in one line."""
    about = "/".join(filter(None, (request.assignment, request.question)))
    words = " ".join(request.request.split())
    asked = f"{request.student} asked for a second look at {about}: {words!r}"
    if request.is_open:
        return f"{asked}; nobody has answered yet"
    return f"{asked}; {request.answered_by} answered: {' '.join(request.answer.split())!r}"


def _doubt_line(doubt: OutdatedScore) -> str:
    from ..feedback import score_text

    question = f"{doubt.assignment}/{doubt.exercise}/{doubt.question}"
    return (
        f"in doubt: {doubt.student} has a manual score of {doubt.entered:g} for {question}; the "
        f"automatic score was {score_text(doubt.before)}, and is {score_text(doubt.after)} now"
    )
