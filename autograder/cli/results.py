"""Commands on a class's results: record, feedback, report, export, and Gradescope's bundle."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click
from rich.markup import escape

from ..operations import content
from ..operations import results as operations
from .output import as_json, console, emit, in_course, plain


@click.command()
@click.argument("class_folder", type=click.Path(path_type=Path))
@click.option("--db", "db_url", help="The gradebook's URL (default: the class folder's own).")
@in_course
@as_json
def record(class_folder: Path, db_url: str | None, course_folder: Path, as_json: bool) -> int:
    """Write, or build anew, nbgrader's gradebook and autograded/ from results.jsonl.

    \b
    Example: autograder record course
    """
    summary = operations.record(class_folder, course=course_folder, db_url=db_url)
    notes = [f"{note.student}/{note.assignment}: {note.text}" for note in summary.notes]
    if as_json:
        emit({"db_url": summary.db_url, "submissions": summary.submissions, "notes": notes})
        return 0
    for note in notes:
        console.print(f"note: {escape(plain(note))}", soft_wrap=True)
    console.print(
        f"{summary.submissions} submissions recorded in {escape(summary.db_url)}", soft_wrap=True
    )
    return 0


@click.command()
@click.argument("class_folder", type=click.Path(path_type=Path))
@in_course
@as_json
def feedback(class_folder: Path, course_folder: Path, as_json: bool) -> int:
    """Write a page of feedback for every student and assignment.

    \b
    Example: autograder feedback course
    """
    pages = operations.write_feedback(class_folder, course=course_folder)
    if as_json:
        emit([str(page) for page in pages])
    else:
        console.print(
            f"{len(pages)} pages of feedback below {class_folder / 'feedback'}", soft_wrap=True
        )
    return 0


@click.command()
@click.argument("class_folder", type=click.Path(path_type=Path))
@click.option("--to", "path", type=click.Path(path_type=Path), help="Default: report.html there.")
@as_json
def report(class_folder: Path, path: Path | None, as_json: bool) -> int:
    """Write a report of the class: questions, frequent mistakes, who needs a look.

    \b
    Example: autograder report course
    """
    if as_json:
        emit(dataclasses.asdict(operations.report(class_folder)))
        return 0
    written = operations.write_report(class_folder, path)
    console.print(f"report: {written}", soft_wrap=True)
    return 0


@click.command()
@click.argument("format_name", metavar="FORMAT")
@click.argument("class_folder", type=click.Path(path_type=Path), default=Path("course"))
@click.option("--to", "path", type=click.Path(path_type=Path), help="What to write.")
@click.option("--assignment", help="Only this assignment.")
@click.option("--student", help="Only this student.")
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="The CSV that Canvas (gradebook) or Moodle (grading worksheet) gives: for their ids.",
)
@as_json
def export(
    format_name: str,
    class_folder: Path,
    path: Path | None,
    assignment: str | None,
    student: str | None,
    roster: Path | None,
    as_json: bool,
) -> int:
    """Export grades as csv, canvas, moodle, gradescope, junit or markdown.

    \b
    Example: autograder export csv course
             autograder export canvas course --roster gradebook.csv
    """
    written = operations.export(
        format_name, class_folder, to=path, assignment=assignment, student=student, roster=roster
    )
    if as_json:
        emit({"file": str(written.path), "notes": written.notes})
        return 0
    for note in written.notes:
        console.print(f"note: {escape(plain(note))}", soft_wrap=True)
    console.print(f"grades: {escape(str(written.path))}", soft_wrap=True)
    return 0


@click.command("gradescope-bundle")
@click.argument("assignment")
@click.option("--to", "path", type=click.Path(path_type=Path), help="The zip to write.")
@in_course
@as_json
def gradescope_bundle(
    assignment: str, path: Path | None, course_folder: Path, as_json: bool
) -> int:
    """Write the autograder that Gradescope runs for ASSIGNMENT. It holds hidden tests.

    \b
    Example: autograder gradescope-bundle causal_attention
    """
    written = content.gradescope_bundle(assignment, to=path, course=course_folder)
    if as_json:
        emit({"file": str(written)})
        return 0
    console.print(f"autograder for Gradescope: {escape(str(written))}", soft_wrap=True)
    console.print("it holds solutions and hidden tests: upload it, and give it to nobody")
    return 0


COMMANDS = (record, feedback, report, export, gradescope_bundle)
