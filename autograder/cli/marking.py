"""Defines the commands for grading by hand: mark, comments, requests, graders."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click
from rich.table import Table

from ..counts import number_of
from ..escaping import for_terminal
from ..operations import marking as operations
from ..operations import second_looks
from .changes import request_line
from .options import CLASS, in_course
from .output import WAITS, as_json, command, console, emit


@command()
@CLASS
@click.argument("student")
@click.argument("question")
@click.option(
    "--points", help="The points for the question, or 'auto' to restore the automatic score."
)
@click.option("--comment", help="A comment for the student; #NAME inserts a comment from the bank.")
@click.option("--answer", help="The answer to the student's request for a second look.")
@click.option("--by", help="The name of the grader (default: your user name).")
@in_course
@as_json
def mark(
    class_folder: Path,
    student: str,
    question: str,
    points: str | None,
    comment: str | None,
    answer: str | None,
    by: str | None,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Enter points, a comment, or the answer to a request, as in formgrader.

    QUESTION is EXERCISE/QUESTION, or the assignment's name to answer a request about a whole
    assignment. Points and comments are stored in nbgrader's gradebook, where formgrader shows them;
    marked.csv records the person who entered them. An empty comment removes the existing one.

    \b
    Example: autograder mark course ada masking/causal_mask --points 1.5 --comment "#diagonal"
             autograder mark course ada masking/causal_mask --answer "You are right." --points 2
    """
    made = operations.mark(
        class_folder, student, question,
        points=points, comment=comment, answer=answer, by=by, course=course_folder,
    )  # fmt: skip
    if as_json:
        emit(dataclasses.asdict(made))
        return 0
    one = made.mark
    points_of = number_of(one.points, "point") if one.points else ""
    if one.points == operations.AUTOMATIC:
        points_of = "the automatic points"
    parts = (points_of, one.comment, one.answer)
    where = "/".join(filter(None, (one.student, one.assignment, one.question)))
    what = "; ".join(filter(None, parts)) or "the comment is removed"
    console.print(f"{for_terminal(where)}: {for_terminal(what)} ({for_terminal(one.by)})")
    return 0


@command()
@CLASS
@click.argument("name", required=False)
@click.argument("text", required=False)
@click.option(
    "--question",
    default="",
    help="Use the comment only for EXERCISE/QUESTION (default: for all questions).",
)
@in_course
@as_json
def comments(
    class_folder: Path,
    name: str | None,
    text: str | None,
    question: str,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Add a comment to the class's comment bank, or list its comments with usage counts.

    Graders write #NAME in formgrader or with `autograder mark`, and students read TEXT. If NAME
    already exists, the new text replaces the old one, even in comments entered before; run
    `autograder feedback` again afterwards.

    \b
    Example: autograder comments course diagonal "Each position attends to itself, too."
             autograder comments course
    """
    if name is not None:
        if text is None:
            raise click.UsageError("give NAME and TEXT, or neither to list the bank")
        is_new = operations.add_comment(
            class_folder, name, text, question=question, course=course_folder
        )
        if as_json:
            emit({"name": name, "question": question, "new": is_new})
        else:
            state = "was added to the bank" if is_new else "has a new text"
            console.print(f"#{for_terminal(name)} {state}")
        return 0
    found = operations.bank_uses(class_folder)
    if as_json:
        emit([dataclasses.asdict(use) for use in found])
    else:
        _print_bank(found)
    return WAITS if any(use.is_missing for use in found) else 0


def _print_bank(found: list[operations.BankUse]) -> None:
    table = Table("comment", "question", "used", "text", box=None, pad_edge=False)
    for use in found:
        text = "not in the bank: students see only the name" if use.is_missing else use.comment.text
        cells = f"#{use.comment.name}", use.comment.question or "all", str(use.used), text
        table.add_row(*map(for_terminal, cells))
    if found:
        console.print(table)
    else:
        console.print(
            'the comment bank is empty: autograder comments CLASS NAME "TEXT" adds a comment'
        )


@command()
@CLASS
@click.argument("source", required=False, type=click.Path(path_type=Path))
@in_course
@as_json
def requests(class_folder: Path, source: Path | None, course_folder: Path, as_json: bool) -> int:
    """Read students' requests to look at a grade again, or list all requests with their answers.

    `collect` reads the regrade_request.txt files in uploads and clones. SOURCE is a JSON list of
    issues from GitHub or GitLab, a table with the columns student and request, or a folder of
    submissions. Answer a request with `autograder mark --answer`.

    \b
    Example: gh issue list --json author,title,body,createdAt,url > issues.json
             autograder requests course issues.json
             autograder requests course
    """
    if source:
        brought = second_looks.bring_requests(class_folder, source, course=course_folder)
        found, notes, kind = brought.new, brought.notes, "new requests"
    else:
        found, notes, kind = second_looks.class_requests(class_folder), (), "requests"
    still = sum(request.is_open for request in found)
    if as_json:
        emit({"requests": [dataclasses.asdict(one) for one in found], "notes": list(notes)})
    else:
        for request in found:
            console.print(for_terminal(request_line(request)), soft_wrap=True)
        for note in notes:
            console.print(f"note: {for_terminal(note)}", soft_wrap=True)
        console.print(f"{kind}: {len(found)} in total, {still} without an answer")
    return WAITS if notes or still else 0


@command()
@CLASS
@click.option("--grader", help="Show only the answers that are waiting for this grader.")
@as_json
def graders(class_folder: Path, grader: str | None, as_json: bool) -> int:
    """Show, by question, which answers are waiting for which grader, and who has graded the others.

    An answer is waiting if a human has to grade it, if the student asked for a second look, or if
    the grader found a reason to review it, such as a file that was not used. Its grader is named in
    graders.csv (question, grader), or else in the roster's grader column.

    \b
    Example: autograder graders course --grader tom
    """
    found = second_looks.graders_work(class_folder, grader)
    if as_json:
        emit(dataclasses.asdict(found))
        return 0
    waiting = Table("grader", "question", "waiting", "why", "next", box=None, pad_edge=False)
    for item in found.waiting:
        place = "/".join(filter(None, (item.assignment, item.question)))
        cells = item.grader or "nobody", place, str(len(item.students)), item.why, item.students[0]
        waiting.add_row(*map(for_terminal, cells))
    console.print(waiting if found.waiting else "no answer is waiting for a grader")
    if found.graded:
        done = Table("graded by", "question", "answers", box=None, pad_edge=False)
        for who, assignment, question, number in found.graded:
            place = "/".join(filter(None, (assignment, question)))
            done.add_row(for_terminal(who), for_terminal(place), str(number))
        console.print(done)
    return 0


COMMANDS = (mark, comments, requests, graders)
