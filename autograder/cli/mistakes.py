"""Defines commands that show wrong answers with no known mistake, and that add known mistakes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from ..counts import number_of
from ..errors import UserError
from ..escaping import for_terminal
from ..operations import misconceptions
from ..operations import mistakes as operations
from .options import CLASS, in_course
from .output import StrictCommand, as_json, command, console, emit

_MOST_CALLS, _MOST_LINES = 4, 40
#: the length of the longest escape, such as `\U0001f600`
_LONGEST_ESCAPE = 10


@command()
@CLASS
@click.option("--assignment", help="Only this assignment.")
@click.option(
    "--most",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Show at most this many groups.",
)
@in_course
@as_json
def mistakes(
    class_folder: Path, assignment: str | None, most: int, course_folder: Path, as_json: bool
) -> int:
    """Show wrong answers that match no known mistake, grouped by behavior.

    Each group is shown with one anonymous answer, the calls that fail, and
    the ID of the group.

    \b
    Example: autograder mistakes course --assignment causal_attention
    """
    groups = operations.unnamed_mistakes(class_folder, assignment, course=course_folder)
    if as_json:
        emit([dataclasses.asdict(group) for group in groups])
        return 0
    for group in groups[:most]:
        _print_group(group)
    if not groups:
        console.print("every wrong answer that ran has a name")
    elif len(groups) > most:
        console.print(
            f"and {len(groups) - most} smaller groups; to see all, use --most {len(groups)}"
        )
    return 0


def _print_group(group: operations.UnnamedMistake) -> None:
    count = number_of(group.answers, "answer", "answers that behave alike")
    place = f"{group.assignment}/{group.exercise}/{group.question}"
    _say(f"{place}: {count} (group {group.mark})", "bold")
    if group.relation:
        _say(f"  {group.relation}")
    for call in group.calls[:_MOST_CALLS]:
        _say(f"  fails: {call}")
    if len(group.calls) > _MOST_CALLS:
        _say(f"  ... and {len(group.calls) - _MOST_CALLS} more calls")
    lines = group.code.rstrip("\n").split("\n")
    for line in lines[:_MOST_LINES]:
        _print_whole(f"    {line}", "dim")
    if len(lines) > _MOST_LINES:
        _say(f"    ... and {len(lines) - _MOST_LINES} more lines: --json shows them")
    console.print()


def _say(line: str, style: str = "") -> None:
    console.print(for_terminal(line), style=style, soft_wrap=True)


def _print_whole(line: str, style: str = "") -> None:
    """Prints a line of code in full, because a person must read it before approving it."""
    most = len(line) * _LONGEST_ESCAPE
    console.print(for_terminal(line, most), style=style, soft_wrap=True)


@click.group()
def misconception() -> None:
    """Manage the catalog of known mistakes."""


@misconception.command(cls=StrictCommand)
@CLASS
@click.argument("student")
@click.argument("exercise")
@click.argument("question")
@click.option("--name", required=True, help="The mistake's name in results: letters, digits and _.")
@click.option(
    "--confuses",
    required=True,
    help='What the student confuses, such as "A with B"; after a colon, what the answer does.',
)
@click.option("--hint", required=True, help="A question that helps without giving the answer away.")
@click.option("--yes", is_flag=True, help="Confirm that you have read the code.")
@in_course
@as_json
def add(
    class_folder: Path,
    student: str,
    exercise: str,
    question: str,
    name: str,
    confuses: str,
    hint: str,
    yes: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Record a student's answer as a known mistake, and name equivalent answers after it.

    STUDENT may be the ID of a group that `autograder mistakes` shows. The entry is written to
    tests/misconceptions without the student's name and comments, and is kept only if the sandbox
    confirms that the answer fails and differs from other mistakes. The course's tests and tools
    will execute its code, so read the code, which is shown before the entry is written. No
    submission is graded again.

    \b
    Example: autograder misconception add course ada masking causal_mask --name diagonal_hidden
             --confuses "a token's future with itself" --hint "May a token look at itself?"
    """
    added = misconceptions.add_misconception(
        class_folder,
        student,
        exercise,
        question,
        name=name,
        confuses=confuses,
        hint=hint,
        approve=lambda code: yes or _is_approved(code, as_json),
        course=course_folder,
    )
    if as_json:
        emit(dataclasses.asdict(added))
        return 0
    _say(
        f"{added.name} is in {added.file}; {added.renamed} results in the class now have this name"
    )
    _say("now run autograder record and autograder feedback again")
    return 0


def _is_approved(code: str, as_json: bool) -> bool:
    if as_json:
        raise UserError(
            "with --json, the code can't be confirmed here: read it with `autograder mistakes`, "
            "then add --yes"
        )
    _say("this code becomes part of the course, whose tests and tools will execute it:", "bold")
    for line in code.rstrip("\n").split("\n"):
        _print_whole(f"    {line}")
    return click.confirm("Have you read the code, and should it be added?")


COMMANDS = (mistakes, misconception)
