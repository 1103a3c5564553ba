"""Defines the command `collect`, which brings submissions into a class folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..collecting import Outcome
from ..counts import number_of
from ..escaping import for_terminal
from ..operations.collect import collect as bring
from ..operations.collect import undo_collect
from .options import in_course
from .output import WAITS, as_json, command, console, emit

if TYPE_CHECKING:
    from ..collecting import CollectedSubmission, CollectReport


@command()
@click.argument(
    "sources",
    metavar="ARCHIVE_OR_FOLDER...",
    nargs=-1,
    type=click.Path(path_type=Path),
)
@click.option(
    "--into",
    "submitted",
    type=click.Path(path_type=Path),
    default=Path("course/submitted"),
    show_default=True,
    help="The class folder, or its folder of submissions.",
)
@click.option("--assignment", help="The assignment, if the file names do not contain it.")
@click.option(
    "--times",
    type=click.Path(path_type=Path),
    help="A table of submission times: Moodle's grading worksheet, Gradescope's or GitHub "
    "Classroom's grades, or a CSV file with the columns student and time.",
)
@click.option(
    "--zone",
    help="The time zone, such as Europe/Berlin, for times that do not name one (default: that of "
    "the due dates).",
)
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="GitHub Classroom's roster (CSV), which maps logins to students; another platform's "
    "list updates the class's roster, as `autograder roster` does.",
)
@click.option("--undo", is_flag=True, help="Undo the last collection that changed something.")
@in_course
@as_json
def collect(
    sources: tuple[Path, ...],
    submitted: Path,
    assignment: str | None,
    times: Path | None,
    zone: str | None,
    roster: Path | None,
    undo: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Copy downloads from Canvas, Moodle or Gradescope, or cloned repositories, into a class.

    An earlier submission is never overwritten: it moves to earlier/<student>/<assignment>/<time>
    next to the folder of submissions. Files that you have edited or renamed since they were
    collected stay as they are: collecting the same upload again changes nothing, and a new upload
    is kept in waiting/ until you have looked at it. The time of a submission is the one that the
    platform reports, never the date of a download. If the platform reports no time, the time is
    unknown, and the submission is not counted as late.

    \b
    Example: autograder collect submissions.zip --assignment causal_attention
             autograder collect moodle.zip --times worksheet.csv --zone Europe/Berlin
             autograder collect causal-attention-submissions --roster classroom_roster.csv
             autograder collect --undo --into course

    \b
    Exit status: 0 if everything was done; 1 if nothing was collected; 3 if something needs
    your attention.
    """
    if undo:
        return _undo(submitted, sources, as_json)
    if not sources:
        raise click.UsageError("give an archive or a folder, or --undo")
    report = bring(
        sources,
        into=submitted,
        course=course_folder,
        assignment=assignment,
        times=times,
        zone=zone,
        roster=roster,
    )
    emit(collected_document(report)) if as_json else print_collected(report, submitted)
    if not report.collected and not report.asked:
        return 1
    return WAITS if needs_a_person(report) else 0


COMMANDS = (collect,)


def needs_a_person(report: CollectReport) -> bool:
    return bool(report.missing or report.waiting or report.looks or report.asked)


def _undo(submitted: Path, sources: Sequence[Path], as_json: bool) -> int:
    if sources:
        raise click.UsageError("--undo reverts the last collection: leave out the sources")
    found = undo_collect(submitted if submitted.exists() else submitted.parent)
    if as_json:
        emit(
            {
                "began": found.began,
                "taken_back": ["/".join(key) for key in found.taken_back],
                "left": [{"submission": "/".join(key), "why": why} for key, why in found.left],
            }
        )
    else:
        for key, why in found.left:
            console.print(f"left {for_terminal('/'.join(key))}: {for_terminal(why)}")
        console.print(
            f"the collection from {found.began} has been reverted, "
            f"{number_of(len(found.taken_back), 'submission')} in all; grade again with --resume",
            soft_wrap=True,
        )
    return WAITS if found.left else 0


def collected_document(report: CollectReport) -> dict[str, object]:
    return {
        "collected": [
            {
                "student": item.student,
                "assignment": item.assignment,
                "folder": str(item.folder),
                "files": list(item.files),
                "new": item.is_new,
                "late": item.is_late,
                "time": item.time.isoformat() if item.time else None,
                "earlier": str(item.earlier) if item.earlier else None,
                "older": item.is_older,
                "outcome": item.outcome.value,
                "lacks": list(item.lacks),
            }
            for item in report.collected
        ],
        "skipped": [
            {"path": item.path, "reason": item.reason, "student": item.student or None}
            for item in report.skipped
        ],
        "missing": list(report.missing),
        "waiting": [str(path) for path in report.waiting],
        "look_at": list(report.looks),
        "requests": [dataclasses.asdict(one) for one in report.asked],
        "notes": list(report.notes),
    }


def print_collected(report: CollectReport, submitted: Path) -> None:
    """Prints the outcome of a collection: remarks for the instructor, and totals."""
    for item in report.collected:
        if about := _remark(item):
            who = for_terminal(f"{item.student}/{item.assignment}")
            console.print(f"{who}: {for_terminal(about)}", soft_wrap=True)
    for refused in report.skipped:
        name, reason = for_terminal(refused.path), for_terminal(refused.reason)
        style = "[yellow]left out[/]" if refused.student else "skipped"
        console.print(f"{style} {name}: {reason}", soft_wrap=True)
    for look in report.looks:
        console.print(f"[yellow]{for_terminal(look)}[/]", soft_wrap=True)
    for asked in report.asked:
        who = for_terminal(f"{asked.who}/{asked.assignment}")
        words = for_terminal(" ".join(asked.text.split())[:200])
        console.print(f"[bold]request for a second look[/]: {who}: {words}", soft_wrap=True)
    for note in report.notes:
        console.print(f"note: {for_terminal(note)}", soft_wrap=True)
    _print_sums(report, submitted)


def _remark(item: CollectedSubmission) -> str:
    """Returns a remark for the instructor about a submission, or "" if nothing is unusual."""
    if item.is_older:
        return f"older than the existing one, so it does not count; it is kept in {item.earlier}"
    if item.outcome is Outcome.LATE:
        return f"late, so the last on-time submission counts; this one is kept in {item.earlier}"
    if item.outcome is Outcome.EDITED:
        return f"the same upload as before; {item.folder} was edited by hand, so it stays as it is"
    if item.outcome is Outcome.WORSE:
        return "the same upload as before; an earlier submission earned more points, so it counts"
    if item.earlier is None:
        return ""
    lacks = f"; the new one lacks {', '.join(item.lacks[:5])}" if item.lacks else ""
    return f"replaces an earlier submission, which is now in {item.earlier}{lacks}"


def _print_sums(report: CollectReport, submitted: Path) -> None:
    if not report.collected and not report.asked and not report.skipped:
        console.print(
            "[yellow]nothing was found[/]: expected a download from Canvas, Moodle or Gradescope, "
            "clones, or a folder for each student",
            soft_wrap=True,
        )
    new = sum(item.is_new for item in report.collected)
    console.print(
        f"{new} collected into {for_terminal(str(submitted))}, {len(report.collected) - new} "
        f"already there, {number_of(len(report.skipped), 'file')} skipped",
        soft_wrap=True,
    )
    for path in report.waiting:
        console.print(
            f"[bold red]submitted again[/], but the earlier submission was edited by hand, so "
            f"the new one is in {for_terminal(str(path))}. Copy what you want from it, then delete "
            "it (or delete the folder in submitted/ and collect again)",
            soft_wrap=True,
        )
    marked = sum(item.is_late and item.time is None for item in report.collected)
    unknown = sum(item.time is None for item in report.collected)
    if marked:
        which = number_of(marked, "submission")
        console.print(f"the platform marks {which} as late, by an unknown amount")
    if unknown:
        of_these = number_of(unknown, "submission has", "submissions have")
        do = "does" if unknown == 1 else "do"
        console.print(
            f"{of_these} no known time and {do} not count as late; --times reads times from a "
            "platform's table",
            soft_wrap=True,
        )
    if report.missing:
        names = ", ".join(map(repr, report.missing[:10]))
        more = f" and {len(report.missing) - 10} more" if len(report.missing) > 10 else ""
        console.print(
            f"[bold red]work by {for_terminal(names)}{more} was left out[/]: see above",
            soft_wrap=True,
        )
