"""Defines commands for a class's results, such as merge, record, export and gradescope-bundle."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..counts import number_of
from ..escaping import for_terminal
from ..operations import course_content
from ..operations import results as operations
from ..operations.marking import bank_uses
from .options import ANONYMOUS, CLASS, ClassFolder, in_course, of_people
from .output import WAITS, as_json, command, console, emit

if TYPE_CHECKING:
    from ..classroom import Selection
    from ..feedback import DeliveryReport
    from ..feedback.similar import SimilarPair

_MOST_NOTES = 10
_MOST_PAIRS = 20


@command()
@CLASS
@click.option("--db", "db_url", help="The gradebook's URL (default: the class folder's own).")
@in_course
@as_json
def record(class_folder: Path, db_url: str | None, course_folder: Path, as_json: bool) -> int:
    """Write or rebuild nbgrader's gradebook and autograded/ from results.jsonl.

    \b
    Example: autograder record course

    Exit status: 0 if everything was recorded; 3 if some results could not be recorded (the notes
    say why).
    """
    summary = operations.record(class_folder, course=course_folder, db_url=db_url)
    notes = [f"{note.student}/{note.assignment}: {note.text}" for note in summary.notes]
    if as_json:
        emit({"db_url": summary.db_url, "submissions": summary.submissions, "notes": notes})
        return WAITS if summary.unrecorded else 0
    for note in notes:
        console.print(f"note: {for_terminal(note)}", soft_wrap=True)
    recorded = number_of(summary.submissions, "submission")
    console.print(
        f"{recorded} recorded in {for_terminal(summary.db_url)}",
        soft_wrap=True,
    )
    return WAITS if summary.unrecorded else 0


@command()
@CLASS
@of_people
@click.option(
    "--for",
    "ways",
    multiple=True,
    type=click.Choice(["moodle", "canvas", "mail"]),
    help="Also pack the pages, as an archive that Moodle or Canvas imports, or as a folder for "
    "mail merge.",
)
@in_course
@as_json
def feedback(
    class_folder: Path,
    selection: Selection,
    ways: tuple[str, ...],
    course_folder: Path,
    as_json: bool,
) -> int:
    """Write a feedback page for every student and assignment, with a plain-text copy.

    \b
    Example: autograder feedback course
             autograder feedback course --assignment causal_attention --for moodle

    Exit status: 0 if everything was done; 1 if the command did not finish; 3 if the pages were
    written, but somebody has no email address, or no ID on the platform.
    """
    pages = operations.write_feedback(class_folder, course=course_folder, selection=selection)
    packed = list(_packed(class_folder, ways, course_folder, selection)) if ways else []
    status = WAITS if any(one.waits for one in packed) else 0
    if as_json:
        emit([str(path) for path in (*pages, *(path for one in packed for path in one.paths))])
        return status
    console.print(
        f"{number_of(len(pages), 'feedback page')} in {class_folder / 'feedback'}",
        soft_wrap=True,
    )
    for use in bank_uses(class_folder):
        if use.is_missing:
            name, place = for_terminal(use.comment.name), for_terminal(use.comment.question)
            line = f"note: the bank has no comment #{name} for {place}: students see only its name"
            console.print(line, soft_wrap=True)
    for one in packed:
        for note in one.notes[:_MOST_NOTES]:
            console.print(f"note: {for_terminal(note)}", soft_wrap=True)
        if len(one.notes) > _MOST_NOTES:
            console.print(f"note: and {len(one.notes) - _MOST_NOTES} more")
        for path in one.paths:
            console.print(f"packed: {for_terminal(str(path))}", soft_wrap=True)
    return status


def _packed(
    class_folder: Path, ways: Sequence[str], course: Path, selection: Selection
) -> Iterator[DeliveryReport]:
    from ..feedback import DeliveryFormat

    for way in map(DeliveryFormat, ways):
        yield operations.deliver_feedback(class_folder, way, course=course, selection=selection)


@command()
@CLASS
@click.option(
    "--to",
    "path",
    type=click.Path(path_type=Path),
    help="Output file (default: CLASS/report.html).",
)
@of_people
@ANONYMOUS
@in_course
@as_json
def report(
    class_folder: Path,
    path: Path | None,
    selection: Selection,
    anonymous: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Write a report on the class: shared mistakes, questions, points, and students to look at.

    \b
    Example: autograder report course
    """
    from ..operations import report as reports
    from ..operations.grades import DisplayOptions

    showing = DisplayOptions(selection, is_anonymous=anonymous)
    if as_json:
        emit(dataclasses.asdict(reports.report(class_folder, showing, course=course_folder)))
        return 0
    written = reports.write_report(class_folder, path, showing, course=course_folder)
    console.print(f"report: {written}", soft_wrap=True)
    return 0


class _Format(click.ParamType[str]):
    """The type of an argument that names an export format; imports formats only for the help."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        from ..exports import export_formats

        return f"{{{'|'.join(export_formats())}}}"


@command()
@click.argument("format_name", type=_Format())
@click.argument(
    "class_folder",
    metavar="[CLASS]",
    type=ClassFolder(),
    default=Path("course"),
)
@click.option(
    "--to",
    "path",
    type=click.Path(path_type=Path),
    help="Output file (default: in the class folder).",
)
@of_people
@ANONYMOUS
@click.option(
    "--missing",
    type=click.Choice(["keep", "blank", "zero"]),
    default="keep",
    show_default=True,
    help="What to write for people on the roster who have not submitted.",
)
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="A CSV file with the platform's IDs: Canvas's gradebook or Moodle's grading worksheet.",
)
@in_course
@as_json
def export(
    format_name: str,
    class_folder: Path,
    path: Path | None,
    selection: Selection,
    anonymous: bool,
    missing: str,
    roster: Path | None,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Export grades, as a table or in the format of a learning platform.

    \b
    Example: autograder export csv course
             autograder export canvas course --roster gradebook.csv

    Exit status: 0 if everything was done; 1 if nothing was written; 3 if the grades were written,
    but a person must act before all of them arrive on the platform.
    """
    from ..exports import Missing
    from ..operations.grades import DisplayOptions

    showing = DisplayOptions(selection, Missing(missing), anonymous)
    written = operations.export(
        format_name,
        class_folder,
        to=path,
        showing=showing,
        roster=roster,
        course=course_folder,
    )
    if as_json:
        emit({"file": str(written.path), "notes": written.notes})
        return WAITS if written.waits else 0
    for note in written.notes:
        console.print(f"note: {for_terminal(note)}", soft_wrap=True)
    console.print(f"grades: {for_terminal(str(written.path))}", soft_wrap=True)
    return WAITS if written.waits else 0


@command("gradescope-bundle")
@click.argument("assignment")
@click.option("--to", "path", type=click.Path(path_type=Path), help="Output file (a zip archive).")
@in_course
@as_json
def gradescope_bundle(
    assignment: str, path: Path | None, course_folder: Path, as_json: bool
) -> int:
    """Write the autograder that Gradescope runs for ASSIGNMENT. It contains hidden tests.

    \b
    Example: autograder gradescope-bundle causal_attention
    """
    written = course_content.gradescope_bundle(assignment, to=path, course=course_folder)
    if as_json:
        emit({"file": str(written)})
        return 0
    console.print(f"autograder for Gradescope: {for_terminal(str(written))}", soft_wrap=True)
    console.print(
        "it contains solutions and hidden tests: upload it, and do not give it to anybody else"
    )
    return 0


@command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "to", required=True, type=click.Path(path_type=Path), help="Output file.")
@as_json
def merge(results: tuple[Path, ...], to: Path, as_json: bool) -> int:
    """Merge the RESULTS from shards, or from other machines, into one file.

    It is an error if a submission has different points in two files; the message names both files.
    The output file may be one of RESULTS.

    \b
    Example: autograder merge shards/1.jsonl shards/2.jsonl --to course/results.jsonl
             autograder record course
    """
    report = operations.merge(results, to)
    if as_json:
        emit(
            {
                "to": str(report.to),
                "lines": report.lines,
                "equal": report.equal,
                "failed_before": report.failed_before,
            }
        )
        return 0
    left_out = f", {report.equal} equal lines counted once" if report.equal else ""
    if report.failed_before:
        left_out += f", {report.failed_before} failed results left out (graded elsewhere)"
    console.print(
        f"{number_of(report.lines, 'line')} from {number_of(len(results), 'file')} in "
        f"{for_terminal(str(report.to))}{left_out}",
        soft_wrap=True,
    )
    return 0


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
    """Find pairs of similar submissions for a person to look at. A pair does not prove copying.

    Code from the stub, and code that many students in the class wrote, is left out. The page shows
    both submissions side by side.

    \b
    Example: autograder similar course --assignment causal_attention
    """
    from ..feedback import write_similar
    from ..operations.courses import course_if_found
    from ..operations.grades import DisplayOptions

    # compare all students even if one is selected; that student's pairs are chosen below
    showing = DisplayOptions(dataclasses.replace(selection, student=None), is_anonymous=anonymous)
    pairs = operations.similar(class_folder, showing, course=course_folder)
    who = selection.student
    if who is not None and not anonymous:
        pairs = [pair for pair in pairs if who in (pair.left.student, pair.right.student)]
    if as_json:
        emit([_pair(pair) for pair in pairs])
        return 0
    for pair in pairs[:_MOST_PAIRS]:
        both = f"{pair.left.student} and {pair.right.student}"
        line = f"{both}: {pair.assignment}/{pair.exercise}, {pair.shared} rare passages in common"
        console.print(for_terminal(line), soft_wrap=True)
    titles = course_if_found(course_folder, class_folder).titles
    written = write_similar(pairs, path or class_folder / "similar.html", titles)
    console.print(
        f"{number_of(len(pairs), 'pair')} to look at, side by side: {for_terminal(str(written))}"
    )
    return 0


def _pair(pair: SimilarPair) -> dict[str, object]:
    return {
        "students": [pair.left.student, pair.right.student],
        "assignment": pair.assignment,
        "exercise": pair.exercise,
        "shared": pair.shared,
        "share": round(pair.share, 4),
    }


COMMANDS = (record, feedback, report, export, gradescope_bundle, merge, similar)
