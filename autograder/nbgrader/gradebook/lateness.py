"""Computes the lateness of submissions, and their penalties with nbgrader's plugin.

Lateness is computed even if no penalty is applied, and is shown wherever grades are shown. The due
date is the assignment's own or, if it has none, the one set in formgrader. The extension is the one
in the class's own tables or, if there is none, the one in nbgrader's gradebook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy import select
from traitlets.config import Config

from ...classroom import (
    Allowances,
    Lateness,
    arrival,
    count_late_days,
    grant_extension,
    lateness,
    lateness_lines,
    marked_late,
    read_allowances,
    read_late_days,
    read_rules,
    read_withdrawals,
)
from ...deadlines import late_by
from ...errors import UserError
from ...records import Assignment, Key
from ...submission.class_files import SUBMITTED
from ...submission.intake import find_submissions
from ..settings import load_settings
from .database import explained, is_there, opened, reading, table

#: (student, score, seconds late) -> points to deduct, or None for no penalty
Penalty = Callable[[str, float, float], float | None]


def seconds_late(stamped: datetime | None, due: datetime | None) -> float:
    """Returns how many seconds late a time is, or 0 if the time or the due date is unknown."""
    return late_by(stamped, due).total_seconds() if stamped and due else 0.0


def late_penalty(config: Config) -> Penalty:
    """Returns the configured plugin's penalty function; penalties are between 0 and the score.

    Raises `UserError` if the plugin can't be loaded; the returned function raises `UserError` if
    the plugin fails.
    """
    try:
        assigner = AssignLatePenalties(config=config)
        assigner.init_plugin()
    except Exception as error:  # the plugin is the instructor's own code
        raise UserError(f"the plugin for late submissions can't be loaded: {error}") from error

    def penalty(student: str, score: float, seconds: float) -> float | None:
        try:
            found = assigner.plugin_inst.late_submission_penalty(student, score, seconds)
        except Exception as error:
            name = type(assigner.plugin_inst).__name__
            raise UserError(f"{name} failed for {student!r}: {error}") from error
        return None if found is None else min(max(float(found), 0.0), max(score, 0.0))

    return penalty


def class_penalty(class_folder: Path) -> Penalty:
    """Returns the penalty function of a class; raises `UserError` if its plugin can't be loaded."""
    return late_penalty(load_settings(class_folder).config)


class LatePenalties(AssignLatePenalties):  # type: ignore[misc]  # nbgrader ships no types
    """Replaces nbgrader's own step for late penalties.

    That step reads `CEST` as UTC, and counts work as late if it arrives within the minute in which
    it is due.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Sets the arrival time; nbgrader calls this for each notebook in a submission."""
        directories = self.parent.parent.coursedir  # from the exporter's converter
        names = resources["nbgrader"]["student"], resources["nbgrader"]["assignment"]
        folder = directories.format_path(directories.submitted_directory, *names)
        with Gradebook(resources["nbgrader"]["db_url"]) as gradebook:
            submission = gradebook.find_submission(names[1], names[0])
            submission.timestamp = arrival(Path(folder)).stamped
            gradebook.db.commit()
            self._late = seconds_late(submission.timestamp, submission.duedate)
        return super().preprocess(nb, resources)  # type: ignore[no-any-return]

    def init_plugin(self) -> None:
        """Makes the plugin use the lateness that is computed here; nbgrader calls this."""
        super().init_plugin()
        ask, late = self.plugin_inst.late_submission_penalty, self._late

        def penalty(student: str, score: float, _seconds: float) -> Any:
            return ask(student, score, late) if late > 0 else None

        self.plugin_inst.late_submission_penalty = penalty


@dataclass(frozen=True, slots=True)
class _GradebookDates:
    """The due dates and extensions in a gradebook, in UTC without a time zone."""

    duedates: Mapping[str, datetime | None] = field(default_factory=dict)
    extensions: Mapping[Key, timedelta] = field(default_factory=dict)


def class_lateness(
    class_folder: Path,
    keys: Iterable[Key],
    assignments: Iterable[Assignment] | None = None,
    *,
    with_late_days: bool = True,
) -> dict[Key, Lateness]:
    """Returns each submission's arrival, due date and lateness.

    If `assignments` is given, uses the assignments' due dates and the class's own tables, just as
    recording does, or without late days if `with_late_days` is false. Otherwise, uses the dates in
    the gradebook, on which the penalties in the gradebook are based. Raises `UserError` if the
    class's tables or the gradebook can't be read.
    """
    settings = load_settings(class_folder)
    held, marks = _held(settings.db_url), marked_late(class_folder)
    dates = {assignment.name: assignment.duedate for assignment in assignments or ()}
    allowances = None if assignments is None else read_allowances(class_folder)
    taken = read_late_days(class_folder)
    found: dict[Key, Lateness] = {}
    for key in keys:
        student, name = key
        due = dates.get(name)
        until = due.naive_utc if due else held.duedates.get(name)
        allowed = None
        if allowances:
            allowed = allowances.of(student, name, due, with_late_days=with_late_days)
        if allowed is None:
            allowed = held.extensions.get(key, timedelta())
        stamped = arrival(settings.submitted(student, name)).stamped
        last = until + allowed if until else None
        arrived = lateness(stamped, last, key in marks)
        found[key] = replace(arrived, late_days=taken.get(key, 0))
    return found


def take_late_days(class_folder: Path, dated: Sequence[Assignment]) -> tuple[str, ...]:
    """Charges late days for submissions, except withdrawn ones; without a budget, takes none.

    `dated` contains the assignments that have a due date. Returns a sentence about each late
    submission.
    """
    budget, submitted = read_rules(class_folder).late_days, class_folder / SUBMITTED
    names = {assignment.name: assignment.duedate for assignment in dated}
    is_counted = bool(budget and names and submitted.is_dir())
    here = find_submissions(submitted, names).submissions if is_counted else ()
    withdrawn = read_withdrawals(class_folder)
    keys = [key for s in here if (key := (s.student, s.assignment)) not in withdrawn]
    allowances = read_allowances(class_folder)
    dates = {key: allowances.duedate(key, names[key[1]]) for key in keys}
    found = class_lateness(class_folder, keys, dated, with_late_days=False)
    ends = {key: (one.submitted, one.due) for key, one in found.items()}
    lines = count_late_days(class_folder, budget, ends, dates)
    taken = read_late_days(class_folder).keys()
    _keep_extensions(class_folder, [key for key in keys if key in taken], allowances, dated)
    return lines


def _keep_extensions(
    class_folder: Path, keys: Sequence[Key], allowances: Allowances, dated: Sequence[Assignment]
) -> None:
    """Copies extensions that are only in the gradebook to the class's table.

    The late days in `keys` begin after these extensions, but recording them replaces the extension
    in the gradebook.
    """
    dates = {assignment.name: assignment.duedate for assignment in dated}
    extensions = _held(load_settings(class_folder).db_url).extensions if keys else {}
    for key in keys:
        if key in extensions and allowances.of(*key, dates[key[1]]) is None:
            grant_extension(class_folder, key, extensions[key], "from nbgrader's gradebook")


def lateness_report(
    class_folder: Path, dated: Sequence[Assignment], keys: Iterable[Key]
) -> tuple[str, ...]:
    """Returns sentences about due dates and late submissions."""
    names, withdrawn = {assignment.name for assignment in dated}, read_withdrawals(class_folder)
    counting = [key for key in keys if key[1] in names and key not in withdrawn]
    found = class_lateness(class_folder, counting, dated) if counting else {}
    return lateness_lines(dated, found)


def class_duedates(class_folder: Path) -> Mapping[str, datetime]:
    """Returns the due dates in a class's gradebook, in UTC without a time zone."""
    held = _held(load_settings(class_folder).db_url)
    return {name: due for name, due in held.duedates.items() if due is not None}


def _held(address: str) -> _GradebookDates:
    if not is_there(address):
        return _GradebookDates()
    assignment, submission = table("assignment"), table("submitted_assignment")
    joined = submission.join(assignment, assignment.c.id == submission.c.assignment_id)
    extended = select(submission.c.student_id, assignment.c.name, submission.c.extension)
    extended = extended.select_from(joined).where(submission.c.extension.is_not(None))
    with opened(address) as engine, reading(engine) as connection:
        dates = connection.execute(select(assignment.c.name, assignment.c.duedate))
        duedates = {name: date for name, date in dates}
        rows = connection.execute(extended)
        return _GradebookDates(
            duedates, {(student, name): extension for student, name, extension in rows}
        )


def set_extension(class_folder: Path, student: str, assignment: str, allowance: timedelta) -> bool:
    """Sets a submission's extension; returns False if the gradebook has no such submission yet."""
    settings = load_settings(class_folder)
    if not is_there(settings.db_url):
        return False
    with explained(settings.db_url), Gradebook(settings.db_url, settings.course_id) as gradebook:
        try:
            minutes = allowance.total_seconds() / 60
            gradebook.grant_extension(assignment, student, minutes=minutes)
        except MissingEntry:
            return False
    return True
