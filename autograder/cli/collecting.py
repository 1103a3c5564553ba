"""The command that brings hand-ins into a class folder: collect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from .output import as_json, console, course_at, emit, in_course, plain

if TYPE_CHECKING:
    from ..collecting import CollectReport


@click.command()
@click.argument("source", metavar="ARCHIVE_OR_FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--into",
    "submitted",
    type=click.Path(path_type=Path),
    default=Path("course/submitted"),
    show_default=True,
    help="The class's folder of submissions.",
)
@click.option("--assignment", help="The assignment, where the names do not say it.")
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="GitHub Classroom's CSV: whose login is whose.",
)
@in_course
@as_json
def collect(
    source: Path,
    submitted: Path,
    assignment: str | None,
    roster: Path | None,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Bring a download of Canvas or Moodle, or clones of repositories, into course/submitted.

    An earlier hand-in is never overwritten: it moves to earlier/<student>/<assignment>/<time>
    beside the folder of submissions.

    \b
    Example: autograder collect submissions.zip --assignment causal_attention
             autograder collect causal-attention-submissions --roster classroom_roster.csv
    """
    from ..collecting import collect as bring
    from ..collecting import read_logins

    course = course_at(course_folder)
    exercises = {a.name: [exercise.name for exercise in a.exercises] for a in course.assignments}
    logins = read_logins(roster) if roster else None
    report = bring(source, submitted, exercises, assignment, logins)
    emit(_document(report)) if as_json else _print(report, submitted)
    return 0 if report.hand_ins else 1


COMMANDS = (collect,)


def _document(report: CollectReport) -> dict[str, object]:
    return {
        "collected": [
            {
                "student": item.student,
                "assignment": item.assignment,
                "folder": str(item.folder),
                "files": list(item.files),
                "new": item.is_new,
                "late": item.is_late,
                "earlier": str(item.earlier) if item.earlier else None,
            }
            for item in report.hand_ins
        ],
        "skipped": [{"path": item.path, "reason": item.reason} for item in report.skipped],
        "notes": list(report.notes),
    }


def _print(report: CollectReport, submitted: Path) -> None:
    for item in report.hand_ins:
        who = escape(plain(f"{item.student}/{item.assignment}"))
        if item.earlier:
            kept = escape(plain(str(item.earlier)))
            console.print(f"{who}: a newer hand-in; the earlier one is in {kept}", soft_wrap=True)
    for refused in report.skipped:
        name, reason = escape(plain(refused.path)), escape(plain(refused.reason))
        console.print(f"skipped {name}: {reason}", soft_wrap=True)
    for note in report.notes:
        console.print(f"note: {escape(plain(note))}", soft_wrap=True)
    new = sum(item.is_new for item in report.hand_ins)
    console.print(
        f"{new} collected into {escape(str(submitted))}, {len(report.hand_ins) - new} there "
        f"before, {len(report.skipped)} files skipped",
        soft_wrap=True,
    )
