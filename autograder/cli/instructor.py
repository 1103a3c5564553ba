"""Commands of an instructor: release, record, feedback, report, export."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from ..errors import UserError
from .output import as_json, console, counting, course_at, emit, in_course, instructor_part

if TYPE_CHECKING:
    from ..grading.validate import ValidationReport
    from ..records import SubmissionResult


@click.command()
@click.argument("assignments", nargs=-1)
@click.option("--jobs", type=click.IntRange(1, 256), default=2, show_default=True)
@click.option("--form", type=click.Choice(["module", "notebook"]), help="Only one form.")
@in_course
@as_json
def validate(
    assignments: tuple[str, ...], jobs: int, form: str | None, course_folder: Path, as_json: bool
) -> int:
    """Prove the content: right answers have full marks, stubs none, every known mistake is caught.

    Grades solutions, stubs, alternatives and misconceptions behind the wall, as modules and as
    notebooks, and checks that assignments/ is fresh and tells nothing hidden.

    \b
    Example: autograder validate simplified_attention
    """
    from ..grading.validate import FORMS
    from ..grading.validate import validate as prove

    authoring = instructor_part("authoring")
    course = course_at(course_folder)
    with counting("validating") as (starts, one_more):
        proof = prove(
            course,
            assignments,
            forms=(form,) if form else FORMS,
            jobs=jobs,
            starts=starts,
            judged=one_more,
        )
    stale = [f"{d.path}: {d.problem}" for d in authoring.verify_fresh(course, assignments)]
    leaks = [str(leak) for leak in authoring.find_leaks(course, assignments)]
    if as_json:
        emit({**dataclasses.asdict(proof), "not_fresh": stale, "leaks": leaks})
    else:
        _print_proof(proof, stale, leaks)
    return 1 if proof.problems or stale or leaks else 0


@click.command()
@click.argument("assignments", nargs=-1)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Write nothing: say whether assignments/ is fresh and tells nothing hidden.",
)
@in_course
@as_json
def release(
    assignments: tuple[str, ...], only_check: bool, course_folder: Path, as_json: bool
) -> int:
    """Write assignments/ and the bundle for students.

    \b
    Example: autograder release simplified_attention
    """
    authoring = instructor_part("authoring")
    course = course_at(course_folder)
    if only_check:
        return _check_release(authoring, course, assignments, as_json)
    report = authoring.release(course, assignments)
    document = [
        {
            "assignment": a.name,
            "folder": str(a.folder),
            "bundle": str(a.bundle),
            "changed": list(a.changed),
            "points": a.points,
        }
        for a in report.assignments
    ]
    if as_json:
        emit(document)
        return 0
    for item in document:
        changed = f"{len(item['changed'])} files changed" if item["changed"] else "unchanged"
        console.print(
            f"{item['assignment']}: {item['points']:g} points, {changed}; bundle {item['bundle']}",
            soft_wrap=True,
        )
    for name in report.removed:
        console.print(f"{name}: removed, the course has no such assignment any more")
    return 0


def _check_release(authoring: Any, course: Any, assignments: tuple[str, ...], as_json: bool) -> int:
    stale = [f"{d.path}: {d.problem}" for d in authoring.verify_fresh(course, assignments)]
    leaks = [str(leak) for leak in authoring.find_leaks(course, assignments)]
    if as_json:
        emit({"not_fresh": stale, "leaks": leaks})
    else:
        for line in stale:
            console.print(f"not fresh: {escape(line)}", soft_wrap=True)
        for line in leaks:
            console.print(f"[red]leak[/]: {escape(line)}", soft_wrap=True)
        if not stale and not leaks:
            console.print("assignments/ is fresh and tells nothing hidden")
    return 1 if stale or leaks else 0


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
    summary = instructor_part("gradebook").record(
        course_at(course_folder), class_folder, results, db_url=db_url
    )
    notes = [f"{note.student}/{note.assignment}: {note.text}" for note in summary.notes]
    if as_json:
        emit({"db_url": summary.db_url, "submissions": summary.submissions, "notes": notes})
        return 0
    for note in notes:
        console.print(f"note: {escape(note)}", soft_wrap=True)
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
    pages = instructor_part("feedback").write_feedback(
        course_at(course_folder), class_folder, _results(class_folder)
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
    made = part.class_report(_results(class_folder))
    if as_json:
        emit(dataclasses.asdict(made))
        return 0
    written = part.write_report(made, path or class_folder / "report.html")
    console.print(f"report: {written}", soft_wrap=True)
    return 0


@click.command()
@click.argument("format_name", metavar="FORMAT")
@click.argument("class_folder", type=click.Path(path_type=Path), default=Path("course"))
@click.option("--to", "path", type=click.Path(path_type=Path), help="The file to write.")
@as_json
def export(format_name: str, class_folder: Path, path: Path | None, as_json: bool) -> int:
    """Export the grades of a class in a FORMAT: csv.

    \b
    Example: autograder export csv course
    """
    part = instructor_part("gradebook")
    target = path or class_folder / f"grades.{format_name}"
    written = part.export(format_name, _results(class_folder), target)
    if as_json:
        emit({"file": str(written)})
    else:
        console.print(f"grades: {written}", soft_wrap=True)
    return 0


COMMANDS = (validate, release, record, feedback, report, export)


def _print_proof(proof: ValidationReport, stale: list[str], leaks: list[str]) -> None:
    table = Table("question", box=None, pad_edge=False)
    for column in ("accepted", "caught", "named"):
        table.add_column(column, justify="right")
    for q in proof.questions:
        table.add_row(
            f"{q.assignment}/{q.exercise}/{q.question}",
            f"{q.accepted}/{q.alternatives}",
            f"{q.caught}/{q.misconceptions}",
            f"{q.named}/{q.misconceptions}",
        )
    sums = [
        sum(getattr(q, name) for q in proof.questions)
        for name in ("accepted", "alternatives", "caught", "misconceptions", "named")
    ]
    accepted, alternatives, caught, misconceptions, named = sums
    table.add_section()
    table.add_row(
        f"all, {len(proof.questions)} questions",
        f"{accepted}/{alternatives}",
        f"{caught}/{misconceptions}",
        f"{named}/{misconceptions}",
    )
    console.print(table)
    for label in proof.not_named:
        console.print(f"not named: {escape(label)}", soft_wrap=True)
    for problem in (*proof.problems, *(f"not fresh: {s}" for s in stale), *leaks):
        console.print(f"[red]problem[/]: {escape(problem)}", soft_wrap=True)
    console.print(f"{proof.cases} submissions judged in tier {proof.tier}")


def _results(class_folder: Path) -> list[SubmissionResult]:
    from ..grading.results import read_results

    path = class_folder / "results.jsonl" if class_folder.is_dir() else class_folder
    if not path.is_file():
        raise UserError(
            f"{path} is not there: grade first (autograder grade {class_folder}/submitted)"
        )
    return read_results(path)
