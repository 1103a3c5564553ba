"""The command that finds similar submissions: similar."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..escaping import for_terminal
from ..operations import results as operations
from .options import ANONYMOUS, CLASS, in_course, of_people
from .output import as_json, console, emit, number_of
from .strict_command import command

if TYPE_CHECKING:
    from ..classroom import Selection
    from ..feedback.similar import SimilarPair

_MOST_ROWS = 20


@command()
@CLASS
@click.option(
    "--to",
    "path",
    type=click.Path(path_type=Path),
    help="Output file (default: CLASS/similar.html).",
)
@of_people
@ANONYMOUS
@in_course
@as_json
def similar(
    class_folder: Path,
    path: Path | None,
    selection: Selection,
    anonymous: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Find pairs of similar submissions for a person to look at. A pair is not an accusation.

    Code from the stub, and code that many students of the class wrote, is left out. The page shows
    both submissions side by side.

    \b
    Example: autograder similar course --assignment causal_attention
    """
    from ..feedback import write_similar
    from ..operations.grades import DisplayOptions

    # compare everybody even if one student is selected: that student's pairs are chosen below
    showing = DisplayOptions(dataclasses.replace(selection, student=None), is_anonymous=anonymous)
    pairs = operations.similar(class_folder, showing, course=course_folder)
    who = selection.student
    if who is not None and not anonymous:
        pairs = [pair for pair in pairs if who in (pair.left.student, pair.right.student)]
    if as_json:
        emit([_row(pair) for pair in pairs])
        return 0
    for pair in pairs[:_MOST_ROWS]:
        both = f"{pair.left.student} and {pair.right.student}"
        line = f"{both}: {pair.assignment}/{pair.exercise}, {pair.shared} rare passages in common"
        console.print(for_terminal(line), soft_wrap=True)
    written = write_similar(pairs, path or class_folder / "similar.html")
    console.print(
        f"{number_of(len(pairs), 'pair')} to look at, side by side: {for_terminal(str(written))}"
    )
    return 0


def _row(pair: SimilarPair) -> dict[str, object]:
    return {
        "students": [pair.left.student, pair.right.student],
        "assignment": pair.assignment,
        "exercise": pair.exercise,
        "shared": pair.shared,
        "share": round(pair.share, 4),
    }


COMMANDS = (similar,)
