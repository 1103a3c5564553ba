"""Commands on a class's results: record, feedback, report, export, and Gradescope's bundle."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from ..errors import UserError
from .courses import course_of_class
from .output import as_json, console, course_at, emit, in_course, instructor_part, plain

if TYPE_CHECKING:
    from ..records import SubmissionResult


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
    results = _results(class_folder)
    summary = instructor_part("nbgrader").record(
        course_of_class(course_folder, class_folder), class_folder, results, db_url=db_url
    )
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
    human = instructor_part("nbgrader").human_work(class_folder)
    pages = instructor_part("feedback").write_feedback(
        course_of_class(course_folder, class_folder), class_folder, _results(class_folder), human
    )
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
    part = instructor_part("feedback")
    made = part.class_report(_final_results(class_folder))
    if as_json:
        emit(dataclasses.asdict(made))
        return 0
    written = part.write_report(made, path or class_folder / "report.html")
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
    part = instructor_part("exports")
    target = path or _home(class_folder) / part.default_name(format_name)
    results = _chosen(_final_results(class_folder), assignment, student)
    written = part.export(format_name, results, target, roster)
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
    course = course_at(course_folder)
    target = path or course.root / "build" / f"gradescope-{assignment}.zip"
    part = instructor_part("authoring")
    written = part.gradescope_bundle(course, course.assignment(assignment), target)
    if as_json:
        emit({"file": str(written)})
        return 0
    console.print(f"autograder for Gradescope: {escape(str(written))}", soft_wrap=True)
    console.print("it holds solutions and hidden tests: upload it, and give it to nobody")
    return 0


COMMANDS = (record, feedback, report, export, gradescope_bundle)


def _results(class_folder: Path) -> list[SubmissionResult]:
    from ..results.file import read_results

    path = class_folder / "results.jsonl" if class_folder.is_dir() else class_folder
    if not path.is_file():
        raise UserError(
            f"{path} is not there: grade first (autograder grade {class_folder}/submitted)"
        )
    return read_results(path)


def _final_results(class_folder: Path) -> list[SubmissionResult]:
    """The results that count, with what humans changed in the gradebook."""
    from ..results.manual import with_human_work
    from ..results.review import latest

    work = instructor_part("nbgrader").human_work(class_folder)
    return list(with_human_work(latest(_results(class_folder)), work))


def _home(class_folder: Path) -> Path:
    """Where exports go: the class folder, or beside a results file given in its place."""
    return class_folder if class_folder.is_dir() else class_folder.parent


def _chosen(
    results: list[SubmissionResult], assignment: str | None, student: str | None
) -> list[SubmissionResult]:
    """The results of one assignment or student; raises `UserError` where there are none."""
    found = [
        result
        for result in results
        if assignment in (None, result.assignment) and student in (None, result.student)
    ]
    if results and not found:
        wanted = " of ".join(repr(name) for name in (assignment, student) if name is not None)
        assignments = ", ".join(sorted({result.assignment for result in results}))
        raise UserError(f"there is no result of {wanted}; assignments with results: {assignments}")
    return found
