"""Defines the command `grade`, which grades a folder, or paths that it reads from stdin."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ..counts import number_of
from ..escaping import for_json, for_terminal
from ..grading.stream import RefusedLine
from ..grading.watch import Stage
from ..operations import grade as grading
from ..operations.outcome import GradeReport
from ..records import SubmissionResult, Tier
from ..results.review import Reviewed, reasons_to_look
from ..worker import late
from .options import in_course
from .output import WAITS, as_json, command, console, emit, errors
from .progress import RunProgress, progress_bar
from .torch_start import begin_loading, end_loading

#: the path that means standard input
STANDARD_INPUT = Path("-")
#: the options of `grade` that make sense only for a whole class
_FOR_A_CLASS = ("shard", "resume", "gradebook", "question", "scheduler", "as_json")
_MOST_ROWS = 60
_MOST_WAITING = 10


@command()
@click.argument("submitted", type=click.Path(path_type=Path))
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="File to append the results to (default: results.jsonl next to SUBMITTED; for one "
    "submission, its class's file).",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Number of submissions to grade at the same time.",
)
@click.option("--shard", default="1/1", metavar="I/N", help="Grade only the I-th of N parts.")
@click.option(
    "--resume",
    is_flag=True,
    help="Grade only submissions that are new or have changed since they were graded.",
)
@click.option(
    "--assignment",
    help="Grade only this assignment; for a single submission, needed only if its folder has a "
    "different name.",
)
@click.option(
    "--tier",
    type=click.Choice([tier.value for tier in Tier if tier is not Tier.NONE]),
    help="Require this isolation tier.",
)
@click.option(
    "--gradebook/--no-gradebook",
    default=None,
    help="Write nbgrader's gradebook and autograded/ (default: only if the folder's name is "
    "'submitted').",
)
@click.option(
    "--secret",
    type=click.Path(path_type=Path),
    help="File with the class's secret, which all shards share (default: secret.key next to the "
    "results).",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Grade on the workers of this dask.distributed scheduler, such as tcp://HOST:8786.",
)
@click.option("--profile", is_flag=True, help="Print the CPU time of each stage.")
@click.option("--question", help="Grade only this question again, in all submissions.")
@in_course
@as_json
@click.pass_context
def grade(
    context: click.Context,
    submitted: Path,
    results: Path | None,
    jobs: int,
    shard: str,
    resume: bool,
    assignment: str | None,
    tier: str | None,
    gradebook: bool | None,
    secret: Path | None,
    scheduler: str | None,
    profile: bool,
    question: str | None,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Grade every submission in the folder SUBMITTED.

    SUBMITTED contains <student>/<assignment>/<exercise>.py or .ipynb; it may also be a class folder
    or the folder of a single submission. For assignments with nbgrader's own tests, the notebook's
    cells are executed (see docs/migration.md).

    With - instead of SUBMITTED, the grader keeps running: it reads the path of one submission per
    line from standard input, and answers each with its result line, or with a line that contains
    "error".

    \b
    Example: autograder grade course/submitted --jobs 2 --resume
             autograder grade course/submitted --question masking/causal_mask
             autograder grade - < paths > answers

    \b
    Exit status: 0 if everything was graded; 1 if nothing could be graded; 2 if the grader itself
    failed on some submissions; 3 if an assignment's own files must be corrected, some results could
    not be recorded, or a date in due.csv belongs to no assignment or section. Submissions that
    somebody should look at are graded, too, and don't change the status. They are listed until
    somebody enters points or a comment, corrects the file, or withdraws the submission.
    """
    if secret is not None and secret.parent.is_dir() and not secret.exists():
        place = for_terminal(str(secret))
        errors.print(f"note: there is no secret at {place} yet; the first grading run creates it")
    if submitted == STANDARD_INPUT:
        return _stream(context, context.params)
    begin_loading()
    late.defer()
    with progress_bar() as progress, (run := RunProgress(progress)).may_be_stopped():
        report = grading.grade(
            submitted,
            course=course_folder,
            results=results,
            jobs=jobs,
            shard=_shard(shard),
            resume=resume,
            assignment=assignment,
            tier=Tier(tier) if tier else None,
            gradebook=gradebook,
            secret=secret,
            scheduler=scheduler,
            question=question,
            events=run,
            on_lateness=(lambda _: None) if as_json else _print_lateness,
        )
    _print_report(report, as_json, profile)
    if report.run.failed:
        return 2
    is_incomplete = report.recorded is not None and report.recorded.unrecorded > 0
    return WAITS if report.stopped or report.unused_dates or is_incomplete else 0


COMMANDS = (grade,)


def _print_report(report: GradeReport, as_json: bool, profile: bool) -> None:
    if report.run.truncated:
        errors.print(
            "an earlier run was killed while it wrote a result: the truncated line has been moved "
            f"to {report.run.truncated}"
        )
    document = _document(report)
    if as_json:
        document["submissions"] = [_row(line, report.reviewed) for line in report.results]
        emit(document | ({"profile": dict(report.costs)} if profile else {}))
        return
    _print(document, [_row(line, report.reviewed) for line in report.results])
    if profile:
        _print_profile(report)


def _print_lateness(lines: Sequence[str]) -> None:
    for line in lines:
        console.print(for_terminal(line), soft_wrap=True)


def _shard(text: str) -> tuple[int, int]:
    with contextlib.suppress(ValueError):
        index, count = (int(part) for part in text.split("/"))
        if 1 <= index <= count:
            return index, count
    raise click.BadParameter(f"{text!r} is not I/N with 1 <= I <= N", param_hint="--shard")


def _document(report: GradeReport) -> dict[str, Any]:
    run = report.run
    return {
        "tier": run.tier.value if run.tier else None,
        "results": str(report.results_file),
        "graded": run.graded,
        "already_graded": run.already_graded,
        "failed": run.failed,
        "skipped": [{"path": str(s.path), "reason": s.reason} for s in run.found.skipped],
        "lateness": list(report.lateness),
        "stopped": dict(report.stopped),
        "unused_dates": list(report.unused_dates),
        "waiting": ["/".join(key) for key in report.waiting],
        "gradebook": dataclasses.asdict(report.recorded) if report.recorded else None,
    }


def _row(line: SubmissionResult, reviewed: Reviewed) -> dict[str, Any]:
    return {
        "student": line.student,
        "assignment": line.assignment,
        "status": line.status.value,
        "score": line.score,
        "max_score": line.max_score,
        "needs_a_look": list(reasons_to_look(line, reviewed)),
    }


def _print_profile(report: GradeReport) -> None:
    if not report.costs:
        console.print("no CPU times: nothing was graded on this machine")
        return
    graded = report.run.graded or 1
    table = Table("stage", box=None, pad_edge=False)
    table.add_column("CPU s", justify="right")
    table.add_column("ms per submission", justify="right")
    for stage in sorted(report.costs, key=list(Stage).index):
        seconds = report.costs[stage]
        table.add_row(stage, f"{seconds:.2f}", f"{1000 * seconds / graded:.1f}")
    console.print(table)


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Prints all submissions or, if there are many, only those that a person should look at."""
    if len(rows) > _MOST_ROWS:
        few = [row for row in rows if row["needs_a_look"]]
        console.print(
            f"{number_of(len(rows), 'submission')}; {'these need' if few else 'none needs'} review"
        )
        rows = few
    if not rows:
        return
    table = Table("student", "assignment", box=None, pad_edge=False)
    table.add_column("score", justify="right")
    table.add_column("needs review")
    for row in rows[:_MOST_ROWS]:
        score = f"{row['score']:g} / {row['max_score']:g}"
        reasons = "; ".join(row["needs_a_look"][:3])
        if len(row["needs_a_look"]) > 3:
            reasons += f"; {len(row['needs_a_look']) - 3} more"
        style = "yellow" if reasons else ""
        cells = (row["student"], row["assignment"], score, reasons)
        table.add_row(*(for_terminal(cell) for cell in cells), style=style)
    console.print(table)
    if len(rows) > _MOST_ROWS:
        console.print(f"... and {len(rows) - _MOST_ROWS} more")


def _print(document: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    _print_table(rows)
    for item in document["skipped"]:
        console.print(f"skipped {for_terminal(item['path'])}: {for_terminal(item['reason'])}")
    for note in (document["gradebook"] or {}).get("notes", []):
        console.print(f"note: {for_terminal(note)}", soft_wrap=True)
    for unused in document["unused_dates"]:
        console.print(f"[bold red]{for_terminal(unused)}[/]", soft_wrap=True)
    for name, why in document["stopped"].items():
        console.print(f"[bold red]not graded[/]: {for_terminal(name)} (all others were graded):")
        for line in why.split("\n"):
            console.print(f"  {for_terminal(line)}", soft_wrap=True)
    if waiting := document["waiting"]:
        more = f" and {len(waiting) - _MOST_WAITING} more" if len(waiting) > _MOST_WAITING else ""
        some = f"{', '.join(waiting[:_MOST_WAITING])}{more}"
        count = number_of(len(waiting), "submission is", "submissions are")
        console.print(
            f"{count} waiting for a person: {for_terminal(some)}. Correct the file and grade "
            "again, enter points or a comment with autograder mark (--points auto accepts the "
            "automatic score), or withdraw it.",
            soft_wrap=True,
        )
    console.print(
        f"{document['graded']} graded, {document['already_graded']} graded before, "
        f"{document['failed']} failed; results in {for_terminal(document['results'])}",
        soft_wrap=True,
    )
    if (document["gradebook"] or {}).get("db_url"):
        console.print(f"gradebook: {for_terminal(document['gradebook']['db_url'])}", soft_wrap=True)


def _stream(context: click.Context, chosen: Mapping[str, Any]) -> int:
    """Grades the submission at each path in standard input, one per line; returns the exit code."""
    for name in _FOR_A_CLASS:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{name.removeprefix('as_')} is for a whole class: it can't be used with -"
            )
    begin_loading()
    late.defer()
    try:
        report = grading.grade_stream(
            sys.stdin,
            _print_answer,
            course=chosen["course_folder"],
            jobs=chosen["jobs"],
            assignment=chosen["assignment"],
            tier=Tier(chosen["tier"]) if chosen["tier"] else None,
            results=chosen["results"],
            secret=chosen["secret"],
            ready=_say_ready,
        )
    except BrokenPipeError:
        # nobody reads the answers any longer; Python would otherwise write to stdout again when it
        # exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 2 if report.failed else int(report.refused > 0)


def _print_answer(answer: SubmissionResult | RefusedLine) -> None:
    sys.stdout.write(for_json(answer.to_json()) + "\n")
    sys.stdout.flush()


def _say_ready(tier: Tier | None) -> None:
    end_loading()
    errors.print(f"isolation tier {tier}; ready for one submission path per line")
