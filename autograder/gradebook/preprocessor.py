"""nbgrader's own `autograde`, and formgrader's Autograde button, without running a student's code.

`prepare_class_folder` puts this in the place of nbgrader's steps that execute a notebook.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, from_dict
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from sqlalchemy import Connection, select
from traitlets import Unicode

from ..records import SubmissionResult, SubmissionStatus
from .database import opened, table, writing
from .entries import entry_of
from .lateness import Arrival, Penalty, late_penalty
from .notebooks import fill_in
from .rows import write_entries
from .structure import known_structure


class FillInResults(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader ships no types
    """Puts the latest result of a submission into its notebook and into the gradebook."""

    results = Unicode("results.jsonl", help="where `autograder grade` appended its results").tag(
        config=True
    )

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Called by nbgrader for each notebook of a submission."""
        names = resources["nbgrader"]
        result = latest_of(Path(self.results), names["student"], names["assignment"])
        exercises = {exercise.exercise: exercise for exercise in result.exercises}
        fill_in(notebook.cells, exercises.get(names["notebook"]))
        with opened(names["db_url"]) as engine:
            writing(engine, partial(_write, result=result, penalty=late_penalty(self.config)))
        return from_dict(notebook), resources  # type: ignore[no-untyped-call]  # nor has nbformat


def _write(connection: Connection, result: SubmissionResult, penalty: Penalty) -> None:
    structure = known_structure(connection, result.assignment)
    entry = entry_of(structure, result, _arrival(connection, structure.id, result.student))
    write_entries(connection, {result.assignment: structure}, [entry], penalty)


def latest_of(path: Path, student: str, assignment: str) -> SubmissionResult:
    """The last graded line of a submission; raises nbgrader's error where there is none."""
    last: SubmissionResult | None = None
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for line in lines:
        try:
            result = SubmissionResult.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError):
            continue  # a run that was killed may leave a part of a line
        if (result.student, result.assignment) == (student, assignment):
            last = result
    if last is None or last.status is not SubmissionStatus.GRADED:
        raise NbGraderException(
            f"{path} has no result of {assignment} by {student}: run `autograder grade submitted`"
        )
    return last


def _arrival(connection: Connection, assignment: str, student: str) -> Arrival:
    """What nbgrader has just written about when the submission arrived."""
    rows = table("submitted_assignment")
    query = select(rows.c.timestamp).where(
        rows.c.assignment_id == assignment, rows.c.student_id == student
    )
    stamped = connection.execute(query).scalar()
    return Arrival(stamped, stamped)
