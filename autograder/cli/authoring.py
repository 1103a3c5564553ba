"""Defines the commands for a course: new, validate, expected, release, nbgrader."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from ..counts import number_of
from ..errors import UserError
from ..escaping import for_terminal
from ..operations import course_content
from .options import JOBS, in_course
from .output import as_json, command, console, emit
from .progress import counting

if TYPE_CHECKING:
    from ..grading.validation.validate import ValidationReport

#: the maximum number of files that the message about an outdated release names
_MOST_FILES = 4


@command()
@click.argument("name", metavar="ASSIGNMENT/EXERCISE")
@click.option(
    "--question",
    "questions",
    multiple=True,
    help="Name of a function or class; repeat the option to add several.",
)
@in_course
@as_json
def new(name: str, questions: tuple[str, ...], course_folder: Path, as_json: bool) -> int:
    """Write all files for a new exercise, or add questions to an existing one.

    Without --question, this writes the suites and the text that an existing exercise lacks. In an
    empty folder, or with --course FOLDER, this starts a course of your own. Afterwards,
    `validate` shows what is left to do.

    \b
    Example: autograder new ciphers/shift --question shift_letter
    """
    assignment, slash, exercise = name.partition("/")
    if not slash:
        raise UserError(f"{name!r} does not name an exercise: write ASSIGNMENT/EXERCISE")
    made = course_content.new(assignment, exercise, questions, course=course_folder)
    if as_json:
        emit({"written": [str(path) for path in (*made.repository, *made.written)]})
        return 0
    if made.repository:
        console.print(f"new course in {for_terminal(str(made.root))}", soft_wrap=True)
    for path in made.written:
        console.print(f"written: {for_terminal(str(path))}", soft_wrap=True)
    console.print(f"to see what is left to do: autograder validate {for_terminal(name)}")
    return 0


@command()
@JOBS
@in_course
@as_json
def expected(jobs: int, course_folder: Path, as_json: bool) -> int:
    """Grade the example class, write its scores to examples/expected.json, and print what changed.

    \b
    Example: autograder expected
    """
    from ..operations.expected import write_expected

    changed = write_expected(course=course_folder, jobs=jobs)
    if as_json:
        emit(list(changed))
        return 0
    for line in changed:
        console.print(for_terminal(line), soft_wrap=True)
    console.print(f"{number_of(len(changed), 'question')} with a changed score or verdict")
    return 0


@command()
@click.argument("names", nargs=-1, metavar="[ASSIGNMENT[/EXERCISE]]...")
@JOBS
@click.option(
    "--form",
    type=click.Choice(["module", "notebook"]),
    help="Validate only this form (default: both).",
)
@in_course
@as_json
def validate(
    names: tuple[str, ...], jobs: int, form: str | None, course_folder: Path, as_json: bool
) -> int:
    """Check the content: solutions get full credit, stubs get none, and known mistakes are caught.

    Grades solutions, stubs, alternatives and misconceptions in the sandbox, both as modules and as
    notebooks, and checks that assignments/ is up to date and reveals nothing hidden.

    \b
    Example: autograder validate simplified_attention/scores --form module
    """
    with counting("validating") as (starts, one_more):
        proof = course_content.validate(
            names,
            course=course_folder,
            forms=(form,) if form else None,
            jobs=jobs,
            starts=starts,
            judged=one_more,
        )
    assignments = tuple(dict.fromkeys(name.partition("/")[0] for name in names))
    released = course_content.check_release(assignments, course=course_folder)
    stale, leaks = list(released.not_fresh), list(released.leaks)
    if as_json:
        emit({**dataclasses.asdict(proof), "not_fresh": stale, "leaks": leaks})
    else:
        _print_proof(proof, stale, leaks)
    return 1 if proof.problems or stale or leaks else 0


@command()
@click.argument("assignments", nargs=-1)
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Write nothing; check that assignments/ is up to date and reveals nothing hidden.",
)
@click.option(
    "--after",
    is_flag=True,
    help="Also include the code of alternative correct answers in the bundles; use it after "
    "everybody has submitted.",
)
@in_course
@as_json
def release(
    assignments: tuple[str, ...],
    only_check: bool,
    after: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Write assignments/ and the bundles for students.

    \b
    Example: autograder release simplified_attention
    """
    if only_check:
        return _check_release(
            course_content.check_release(assignments, course=course_folder), as_json
        )
    report = course_content.release(assignments, after=after, course=course_folder)
    if as_json:
        emit(
            [
                {
                    "assignment": a.name,
                    "folder": str(a.folder),
                    "bundle": str(a.bundle),
                    "changed": list(a.changed),
                    "points": a.points,
                }
                for a in report.assignments
            ]
        )
        return 0
    for a in report.assignments:
        changed = f"{number_of(len(a.changed), 'file')} changed" if a.changed else "unchanged"
        console.print(
            f"{a.name}: {number_of(a.points, 'point')}, {changed}; bundle {a.bundle}",
            soft_wrap=True,
        )
    for name in report.removed:
        console.print(f"{name}: removed, because the course no longer has this assignment")
    return 0


def _check_release(found: course_content.ReleaseCheck, as_json: bool) -> int:
    stale, leaks = found.not_fresh, found.leaks
    if as_json:
        emit(dataclasses.asdict(found))
    else:
        for line in _not_fresh(stale):
            console.print(for_terminal(line), soft_wrap=True)
        for line in leaks:
            console.print(f"[red]leak[/]: {for_terminal(line)}", soft_wrap=True)
        if not stale and not leaks:
            console.print("assignments/ is up to date and reveals nothing hidden")
    return 1 if stale or leaks else 0


def _not_fresh(differences: Sequence[str]) -> list[str]:
    """Returns one line about all files that differ, because one command updates them all."""
    if not differences:
        return []
    left_out = len(differences) - _MOST_FILES
    more = f"; and {left_out} more" if left_out > 0 else ""
    files = "; ".join(differences[:_MOST_FILES])
    return [f"assignments/ is not up to date: run autograder release ({files}{more})"]


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
        f"all, {number_of(len(proof.questions), 'question')}",
        f"{accepted}/{alternatives}",
        f"{caught}/{misconceptions}",
        f"{named}/{misconceptions}",
    )
    console.print(table)
    _print_traits(proof)
    _print_rules(proof)
    for text in proof.slow:
        console.print(f"slow: {for_terminal(text)}", soft_wrap=True)
    for label in proof.not_named:
        console.print(f"not named: {for_terminal(label)}", soft_wrap=True)
    for group in proof.not_told_apart:
        console.print(
            f"no test distinguishes these, so they share a hint: {for_terminal(group)}",
            soft_wrap=True,
        )
    for problem in (*proof.problems, *_not_fresh(stale), *leaks):
        lines = "\n".join(for_terminal(line) for line in problem.split("\n"))
        console.print(f"[red]problem[/]: {lines}", soft_wrap=True)
    console.print(f"{number_of(proof.cases, 'submission')} judged in isolation tier {proof.tier}")


def _print_traits(proof: ValidationReport) -> None:
    """Prints how each question is tested for each trait; a dash means that there is no test.

    The reasons for the dashes are in the document that `--json` prints.
    """
    if not proof.traits:
        return
    traits = list(next(iter(proof.traits.values())))
    table = Table("general properties", box=None, pad_edge=False)
    for trait in traits:
        table.add_column(trait)
    for question, cells in proof.traits.items():
        table.add_row(question, *(_short(cells[trait]) for trait in traits))
    console.print(table)


def _print_rules(proof: ValidationReport) -> None:
    """Prints how many questions each general rule applies to, and why some questions are exempt."""
    rules = list(next(iter(proof.rules.values()), {}))
    if not rules:
        return
    table = Table("general rule", "questions", "why others are exempt", box=None, pad_edge=False)
    for rule in rules:
        cells = [cells[rule] for cells in proof.rules.values()]
        reasons = Counter(cell.strip("()") for cell in cells if cell.startswith("("))
        summary = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
        asked = sum(bool(cell) for cell in cells) - sum(reasons.values())
        table.add_row(rule, str(asked), summary)
    console.print(table)


def _short(cell: str) -> str:
    if cell in ("", "generated"):
        return cell or "[red]empty[/]"
    return "-" if cell.startswith("(") else "own test"


@command()
@click.argument("class_folder", type=click.Path(path_type=Path))
@click.argument("assignments", nargs=-1)
@click.option("--force", is_flag=True, help="Overwrite existing source files that differ.")
@in_course
@as_json
def nbgrader(
    class_folder: Path,
    assignments: tuple[str, ...],
    force: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Turn CLASS_FOLDER into an nbgrader course, or add assignments to one.

    Writes source/<assignment>/ and, if there is none, nbgrader_config.py. From then on, nbgrader's
    commands and formgrader work there, and grade in the sandbox.

    \b
    Example: autograder nbgrader course
             autograder nbgrader ~/cs101 causal_attention
    """
    made = course_content.prepare_nbgrader(
        class_folder, assignments, force=force, course=course_folder
    )
    if as_json:
        emit(
            {
                "config": str(made.config),
                "add_to_config": made.add_to_config,
                "changed": made.changed,
            }
        )
        return 0
    for name, files in made.changed.items():
        what = f"{number_of(len(files), 'file')} written" if files else "unchanged"
        console.print(f"{name}: {what} in {for_terminal(str(made.folders[name]))}", soft_wrap=True)
    if made.add_to_config:
        console.print(f"add to {for_terminal(str(made.config))}:", soft_wrap=True)
        for line in made.add_to_config:
            console.print(f"    {for_terminal(line)}", soft_wrap=True)
    else:
        console.print(f"settings: {for_terminal(str(made.config))}", soft_wrap=True)
    return 0


COMMANDS = (new, validate, expected, release, nbgrader)
