"""Defines the commands for the people in a class: roster, extend, withdraw."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..classroom import unused_columns_note
from ..counts import number_of
from ..deadlines import duration_text, moment_text, parse_duration
from ..escaping import for_terminal
from .options import CLASS, in_course
from .output import WAITS, as_json, command, console, emit

if TYPE_CHECKING:
    from ..operations.classes import Attendance, StoredExtension

_MOST_NAMES = 20


@command()
@CLASS
@click.argument("file", required=False, type=click.Path(path_type=Path))
@in_course
@as_json
def roster(class_folder: Path, file: Path | None, course_folder: Path, as_json: bool) -> int:
    """Import the roster from a platform's list or your own, or show who has submitted.

    FILE is Canvas's gradebook, Moodle's worksheet or list of participants, the roster of GitHub
    Classroom or Gradescope, or any CSV file with columns such as student, name (or its parts),
    email, login, number, section, group, extra_time and grader. Its rows are matched with the
    people on the roster: people are added and their entries updated; nobody is removed, and an
    empty cell changes nothing. Teaching staff are left out.

    \b
    Example: autograder roster course students.csv
             autograder roster course
    """
    from ..operations.classes import attendance, set_roster

    change = set_roster(class_folder, file) if file else None
    found = attendance(class_folder, course=course_folder)
    if as_json:
        emit(
            {
                "people": [dataclasses.asdict(person) for person in found.roster.people],
                "added": list(change.added) if change else [],
                "updated": list(change.updated) if change else [],
                "replaced": list(change.replaced) if change else [],
                "not_in_list": list(change.not_in_list) if change else [],
                "staff": list(change.staff) if change else [],
                "unused_columns": list(change.unused) if change else [],
                "doubts": list(change.doubts) if change else [],
                "not_submitted": {
                    name: [person.student for person in people]
                    for name, people in found.missing.items()
                },
                "not_on_the_roster": list(found.strangers),
            }
        )
        return WAITS if change and change.doubts else 0
    if change:
        _names(f"{len(change.added)} new", change.added)
        other = f" ({', '.join(change.replaced)} changed)" if change.replaced else ""
        _names(f"{len(change.updated)} updated{other}", change.updated)
        _names(
            f"{len(change.not_in_list)} not in this list, but kept on the roster",
            change.not_in_list,
        )
        _names(f"{len(change.staff)} left out because they are teaching staff", change.staff)
        if note := unused_columns_note(change):
            console.print(f"note: {for_terminal(note)}", soft_wrap=True)
        for doubt in change.doubts:
            console.print(f"note: {for_terminal(doubt)}", soft_wrap=True)
    _print(found)
    return WAITS if change and change.doubts else 0


@command()
@CLASS
@click.argument("student", required=False)
@click.argument("assignment", required=False)
@click.argument("duration", required=False)
@click.option("--why", help="The reason; it is stored with the extension.")
@click.option(
    "--from",
    "table",
    type=click.Path(path_type=Path),
    help="A CSV file of extensions, with the columns student, assignment (empty for all), "
    "extension and why.",
)
@in_course
@as_json
def extend(
    class_folder: Path,
    student: str | None,
    assignment: str | None,
    duration: str | None,
    why: str | None,
    table: Path | None,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Give one student more time for one assignment. Use 0 to remove an extension.

    The extension is stored with its reason in extensions.csv in the class folder. It is also set in
    nbgrader's gradebook, so that the late penalty there takes it into account. No submission is
    graded again.

    \b
    Example: autograder extend course ada causal_attention 2d --why "ill, certificate seen"
             autograder extend course --from accommodations.csv
    """
    from ..operations.classes import extend as give
    from ..operations.classes import extend_all

    if table is not None:
        if student or why:
            raise click.UsageError(
                "--from reads all extensions from the file: leave out the other arguments"
            )
        every = extend_all(class_folder, table, course=course_folder)
        emit([_extension(made) for made in every]) if as_json else _print_extensions(every)
        return WAITS if any(made.also_in_time for made in every) else 0
    if not (student and assignment and duration and why):
        given = {
            "STUDENT": student,
            "ASSIGNMENT": assignment,
            "DURATION": duration,
            "--why TEXT": why,
        }
        missing = ", ".join(name for name, value in given.items() if not value)
        raise click.UsageError(f"missing: {missing} (or give --from FILE)")
    made = give(class_folder, student, assignment, duration, why, course=course_folder)
    emit(_extension(made)) if as_json else _print_extensions([made])
    return WAITS if made.also_in_time else 0


def _extension(made: StoredExtension) -> dict[str, object]:
    return {
        "student": made.decision.student,
        "assignment": made.decision.assignment,
        "extension": made.decision.decision,
        "until": moment_text(made.until, None) if made.until else None,
        "in_gradebook": made.is_recorded,
        "also_in_time": [str(path) for path in made.also_in_time],
    }


def _print_extensions(every: list[StoredExtension]) -> None:
    for made in every:
        console.print(_extension_text(made, made.decision.assignment), soft_wrap=True)
        for path in made.also_in_time:
            console.print(
                f"[yellow]{for_terminal(str(path))} is on time now, but does not count yet: "
                "collect its download again[/]",
                soft_wrap=True,
            )


def _extension_text(made: StoredExtension, assignment: str) -> str:
    is_removed = not parse_duration(made.decision.decision)
    if made.until is None:
        state = "removed" if is_removed else "stored"
        return (
            f"{for_terminal(assignment)} has no due date, so nobody is late; the extension for "
            f"{for_terminal(made.decision.student)} is {state}"
        )
    time = duration_text(made.allowance)
    who, until = for_terminal(made.decision.student), moment_text(made.until, made.due)
    if is_removed:
        return f"{who} no longer has an extension for {for_terminal(assignment)}, due {until}"
    whole = ""
    if time != made.decision.decision:
        parts = "the section's date, grace, extra time and late days"
        whole = f", {time} after the due date, counting {parts}"
    return (
        f"{who} has {made.decision.decision} more for {for_terminal(assignment)}, until {until}"
        f"{whole}"
    )


@command()
@CLASS
@click.argument("student")
@click.argument("assignment", required=False)
@click.option("--why", required=True, help="The reason; it is stored with the withdrawal.")
@click.option("--back", is_flag=True, help="Undo the withdrawal.")
@in_course
@as_json
def withdraw(
    class_folder: Path,
    student: str,
    assignment: str | None,
    why: str,
    back: bool,
    course_folder: Path,
    as_json: bool,
) -> int:
    """Leave a submission out of reports, exports and feedback. Its files and results are kept.

    Without ASSIGNMENT, this withdraws all present and future work of a student, such as one who has
    left the class.

    \b
    Example: autograder withdraw course ada causal_attention --why "submitted by mistake"
             autograder withdraw course ada --why "left the course"
    """
    from ..operations.classes import withdraw as take_out

    made = take_out(class_folder, student, assignment, why, is_back=back, course=course_folder)
    if as_json:
        emit({"student": made.student, "assignment": made.assignment, "state": made.decision})
        return 0
    who = for_terminal(f"{made.student}/{made.assignment}" if assignment else made.student)
    console.print(f"{who}: {'counts again' if back else 'no longer counts'}")
    return 0


COMMANDS = (roster, extend, withdraw)


def _print(found: Attendance) -> None:
    people = found.roster.people
    sections = sorted({name for p in people for name in p.section.split("; ")} - {""})
    noun = "section" if len(sections) == 1 else "sections"
    in_sections = f" in the {noun} {', '.join(sections)}" if sections else ""
    count = number_of(len(people), "person", "people")
    console.print(f"{count}{for_terminal(in_sections)}", soft_wrap=True)
    for assignment, missing in found.missing.items():
        have = "has" if 1 in (len(missing), len(people)) else "have"
        head = f"{assignment}: {len(missing)} of {len(people)} {have} not submitted"
        _names(head, [person.student for person in missing])
    _names(f"{len(found.strangers)} who submitted, but are not on the roster", found.strangers)
    for student in found.strangers:
        if person := found.roster.namesake(student):
            text = f"{student}: {person.student} has the same name in a different order; if they "
            text += "are the same person, "
            text += f"replace {person.student!r} in roster.csv with {student!r}"
            console.print(for_terminal(text), soft_wrap=True)


def _names(head: str, names: list[str] | tuple[str, ...]) -> None:
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        text = f"{head}: {', '.join(names[:_MOST_NAMES])}{more}"
        console.print(for_terminal(text), soft_wrap=True)
