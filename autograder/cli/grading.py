"""The command of a grading run: grade."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from ..records import SubmissionResult, SubmissionStatus, Tier
from .courses import Courses, courses_of
from .output import (
    RunProgress,
    as_json,
    console,
    emit,
    errors,
    in_course,
    instructor_part,
    plain,
    progress_bar,
)

if TYPE_CHECKING:
    from ..grading.options import RunOptions
    from ..grading.run import RunReport

_MOST_ROWS = 60


@click.command()
@click.argument("submitted", type=click.Path(path_type=Path))
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Where the lines are appended (default: results.jsonl beside SUBMITTED).",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Submissions graded at a time.",
)
@click.option("--shard", default="1/1", metavar="I/N", help="Grade only the I-th of N parts.")
@click.option("--resume", is_flag=True, help="Grade only what has no line with the same digests.")
@click.option("--assignment", help="The assignment, where the folder's name does not say it.")
@click.option("--tier", type=click.Choice(["A", "B", "C"]), help="Insist on an isolation tier.")
@click.option(
    "--gradebook/--no-gradebook",
    default=None,
    help="Write nbgrader's gradebook and "
    "autograded/ (default: where SUBMITTED is called 'submitted').",
)
@in_course
@as_json
def grade(
    submitted: Path,
    results: Path | None,
    jobs: int,
    shard: str,
    resume: bool,
    assignment: str | None,
    tier: str | None,
    gradebook: bool | None,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Grade every submission below the folder SUBMITTED.

    SUBMITTED holds <student>/<assignment>/<exercise>.py or .ipynb; the folder of one assignment
    works too. Of assignments with nbgrader's own tests (docs/migration.md) the cells are run.

    \b
    Example: autograder grade course/submitted --jobs 2 --resume
    """
    from ..grading.options import RunOptions

    courses = courses_of(submitted, course_folder, assignment)
    class_folder = courses.cells or submitted.resolve().parent
    options = RunOptions(
        submitted=submitted,
        results=results or class_folder / "results.jsonl",
        jobs=jobs,
        shard=_shard(shard),
        resume=resume,
        assignment=assignment,
        tier=Tier(tier) if tier else None,
    )
    report = _graded(courses, options)
    shown = _shown(options.results, report.found.submissions)
    wanted = submitted.resolve().name == "submitted" if gradebook is None else gradebook
    recorded = _recorded(courses, class_folder, shown, wanted)
    document = _document(report, options.results, shown, recorded)
    emit(document) if as_json else _print(document, shown)
    return 2 if any(r.status is SubmissionStatus.FAILED for r in report.graded) else 0


COMMANDS = (grade,)


def _graded(courses: Courses, options: RunOptions) -> RunReport:
    reports = []
    with progress_bar() as progress:
        if courses.cells:
            cells = instructor_part("nbgrader.notebooks.run")
            reports.append(cells.grade_notebooks(courses.cells, options, RunProgress(progress)))
        if courses.own:
            from ..sandbox import fork_server_ahead

            with fork_server_ahead(options.tier) as wall:
                from ..grading.run import grade_class  # loads torch, as the parent does meanwhile

                reports.append(grade_class(courses.own, options, RunProgress(progress), wall))
    report = courses.together(reports)
    if report.torn:
        errors.print(f"a line torn by an earlier, killed run was moved to {report.torn}")
    return report


def _shard(text: str) -> tuple[int, int]:
    with contextlib.suppress(ValueError):
        index, count = (int(part) for part in text.split("/"))
        if 1 <= index <= count:
            return index, count
    raise click.BadParameter(f"{text!r} is not I/N with 1 <= I <= N", param_hint="--shard")


def _shown(path: Path, submissions: Sequence[Any]) -> Sequence[SubmissionResult]:
    """The last result of each submission of this run, graded now or before."""
    from ..results.file import read_results
    from ..results.review import latest

    mine = {(s.student, s.assignment) for s in submissions}
    lines = read_results(path)
    return latest([line for line in lines if (line.student, line.assignment) in mine])


def _recorded(
    courses: Courses, class_folder: Path, results: Sequence[SubmissionResult], gradebook: bool
) -> dict[str, Any] | None:
    """What stands in the gradebook now; a run over notebooks as they are writes it by itself."""
    cells = [result for result in results if not courses.owns(result.assignment)]
    notes = [f"{r.student}/{r.assignment}: {note}" for r in cells for note in r.notes]
    if courses.own is None or not gradebook:
        one = {"db_url": None, "submissions": len(cells), "notes": notes}
        return one if courses.cells else None
    own = [result for result in results if courses.owns(result.assignment)]
    summary = instructor_part("nbgrader").record(courses.own, class_folder, own)
    return {
        "db_url": summary.db_url,
        "submissions": summary.submissions + len(cells),
        "notes": [*(f"{note.student}: {note.text}" for note in summary.notes), *notes],
    }


def _document(
    report: Any,
    results: Path,
    lines: Sequence[SubmissionResult],
    recorded: dict[str, Any] | None,
) -> dict[str, Any]:
    from ..results.review import reasons_to_look

    return {
        "tier": report.tier.value,
        "results": str(results),
        "graded": len(report.graded),
        "already_graded": report.already_graded,
        "failed": sum(r.status is SubmissionStatus.FAILED for r in report.graded),
        "skipped": [{"path": str(s.path), "reason": s.reason} for s in report.found.skipped],
        "gradebook": recorded,
        "submissions": [
            {
                "student": line.student,
                "assignment": line.assignment,
                "status": line.status.value,
                "score": line.score,
                "max_score": line.max_score,
                "needs_a_look": list(reasons_to_look(line)),
            }
            for line in lines
        ],
    }


def _print(document: dict[str, Any], lines: Sequence[SubmissionResult]) -> None:
    rows = document["submissions"]
    if len(rows) > _MOST_ROWS:
        rows = [row for row in rows if row["needs_a_look"]]
        console.print(f"{len(lines)} submissions; these need a look:")
    table = Table("student", "assignment", box=None, pad_edge=False)
    table.add_column("score", justify="right")
    table.add_column("needs a human look")
    for row in rows[:_MOST_ROWS]:
        score = f"{row['score']:g} / {row['max_score']:g}"
        reasons = "; ".join(row["needs_a_look"][:3])
        if len(row["needs_a_look"]) > 3:
            reasons += f"; {len(row['needs_a_look']) - 3} more"
        style = "yellow" if reasons else ""
        cells = (row["student"], row["assignment"], score, reasons)
        table.add_row(*(escape(plain(cell)) for cell in cells), style=style)
    console.print(table)
    if len(rows) > _MOST_ROWS:
        console.print(f"... and {len(rows) - _MOST_ROWS} more")
    for item in document["skipped"]:
        console.print(f"skipped {escape(plain(item['path']))}: {escape(item['reason'])}")
    for note in (document["gradebook"] or {}).get("notes", []):
        console.print(f"note: {escape(plain(note))}", soft_wrap=True)
    console.print(
        f"{document['graded']} graded, {document['already_graded']} graded before, "
        f"{document['failed']} failed; results in {escape(document['results'])}",
        soft_wrap=True,
    )
    if (document["gradebook"] or {}).get("db_url"):
        console.print(f"gradebook: {escape(document['gradebook']['db_url'])}", soft_wrap=True)
