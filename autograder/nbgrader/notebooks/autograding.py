"""Runs nbgrader's own autograding for one submission, but executes the cells in the sandbox.

Some damage to a notebook would stop nbgrader's run. Such damage is repaired first, so that it
affects at most one cell.
"""

from __future__ import annotations

import glob
import logging
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import DeduplicateIds, OverwriteCells

from ...errors import GraderError, SandboxError
from ...grading.watch import CPU_SECONDS, Position, Watch
from ...sandbox import ForkServer
from ...submission import Submission
from ...submission.opened import is_regular
from .course import NotebookCourse
from .submitted_files import irregular, too_much

_OURS = Path(__file__).parent
#: nbgrader's only useful warning; the others appear for every hidden test, because its cell always
#: differs from the release
_DUPLICATE = "exists multiple times"
#: nbgrader's name for all notebooks in a submission
_ALL = "*"
_TOO_LONG = f"it takes more than {CPU_SECONDS} s of computing time, or too much memory, to be read"
#: the beginning of the traceback line that names the exception
_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:: |$)")
_DATABASE = "accessing the nbgrader database"


@dataclass(frozen=True, slots=True)
class Autograded:
    """The outcome of autograding; `unreadable` maps each unreadable notebook to the reason."""

    unreadable: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def autograde(
    course: NotebookCourse, fork_server: ForkServer, submission: Submission, watch: Watch
) -> Autograded:
    """Autogrades a submission; writes the results into the gradebook and `autograded/`.

    Converts all notebooks together or, if that fails, one by one, so that an unreadable notebook
    costs only its own points. Reports the current notebook to `watch`. Raises `GraderError` for an
    error that is not the submission's fault.
    """
    submitted = [
        path.stem
        for path in course.sources(submission.assignment)
        if is_regular(submission.folder / path.name)
    ]
    problem = too_much(submission.folder)
    if not submitted or problem:
        with warnings.catch_warnings(), course.gradebook() as gradebook:
            warnings.simplefilter("ignore")  # warnings of nbgrader's models
            record_nothing(gradebook, submission.student, submission.assignment)
        _score_nothing(course, submission, submitted)
        return Autograded(dict.fromkeys(submitted, problem or ""))
    notes, unreadable = _LogCollector(), {}
    if all(is_regular(path) for path in submission.folder.glob("*.ipynb")):
        if _convert(course, fork_server, submission, _ALL, notes, watch) is None:
            return Autograded(notes=notes.notes())
        notes.records.clear()
    for notebook in submitted:
        problem = _convert(course, fork_server, submission, notebook, notes, watch)
        if problem is not None:
            unreadable[notebook] = problem
    watch.leave()
    _score_nothing(course, submission, unreadable)
    return Autograded(unreadable, notes.notes())


def _convert(
    course: NotebookCourse,
    fork_server: ForkServer,
    submission: Submission,
    notebook: str,
    notes: _LogCollector,
    watch: Watch,
) -> str | None:
    """Converts one notebook or all of them; returns the problem, or None if there was none."""
    place = Position(notebook)
    if place in watch.left_out:
        return _TOO_LONG
    watch.enter(place)
    log = _LogCollector()
    try:
        _run(course, fork_server, submission, notebook, log)
    except NbGraderException as error:
        return log.cause() or str(error)
    finally:
        watch.leave()
        notes.records += log.records
    return None


def _run(
    course: NotebookCourse,
    fork_server: ForkServer,
    submission: Submission,
    notebook: str,
    log: _LogCollector,
) -> None:
    directories = course.directories(glob.escape(submission.student), submission.assignment)
    directories.ignore = [*directories.ignore, *map(glob.escape, irregular(submission.folder))]
    directories.notebook_id = glob.escape(notebook) if notebook != _ALL else notebook
    converter = Autograde(coursedir=directories, config=course.config)
    converter.log = log.logger
    converter.force = True
    converter.fork_server = fork_server
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of nbgrader's models and students' notebooks
            converter.start()
    except NbGraderException as error:
        if fault := getattr(converter, "grader_fault", None):
            raise SandboxError(str(fault)) from error
        if _DATABASE in str(error):
            raise GraderError(f"{error}\n{log.cause()}") from error
        raise


def record_nothing(gradebook: Gradebook, student: str, assignment: str) -> None:
    """Records zero points for a submission that would make nbgrader stop.

    For example, nbgrader stops if a submission's folder contains no notebooks.
    """
    gradebook.update_or_create_student(student)
    found = gradebook.update_or_create_submission(assignment, student)
    for notebook in found.notebooks:
        for grade in notebook.grades:
            grade.auto_score = 0
            grade.needs_manual_grade = False
    gradebook.db.commit()


def _score_nothing(
    course: NotebookCourse, submission: Submission, notebooks: Iterable[str]
) -> None:
    """Gives zero points for unreadable notebooks, and marks them for manual grading."""
    with course.gradebook() as gradebook:
        for name in notebooks:
            found = gradebook.find_submission_notebook(
                name, submission.assignment, submission.student
            )
            for grade in found.grades:
                grade.auto_score = 0
                grade.needs_manual_grade = True
        gradebook.db.commit()


class _LogCollector(logging.Handler):
    """Collects nbgrader's log messages, so that they don't appear in the terminal."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []
        self.logger = logging.Logger("autograder.nbgrader", logging.WARNING)
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def notes(self) -> tuple[str, ...]:
        messages = (
            record.getMessage()
            for record in self.records
            if Path(record.pathname).parent == _OURS or _DUPLICATE in record.getMessage()
        )
        return tuple(dict.fromkeys(messages))

    def cause(self) -> str:
        """Returns the error in the last traceback that nbgrader has logged."""
        traces = [r.getMessage() for r in self.records if "Traceback" in r.getMessage()]
        lines = traces[-1].strip().split("\n") if traces else [""]
        return next((line for line in reversed(lines) if _ERROR.match(line)), lines[-1])


class ForgetDuplicateIds(DeduplicateIds):  # type: ignore[misc]  # nbgrader ships no types
    """Removes the ids of copied cells, so that only the last copy keeps its id.

    nbgrader's own step leaves empty metadata in the other copies, and nbgrader then rejects these
    copies.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Removes a cell's empty metadata; called by nbgrader for each cell, the last one first."""
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.metadata.get("nbgrader") == {}:
            del cell.metadata["nbgrader"]
        return cell, resources


class RestoreCells(OverwriteCells):  # type: ignore[misc]  # nbgrader ships no types
    """Restores the types of changed cells, such as a test that was turned into Markdown.

    nbgrader's own step also restores types, but then rejects cells without ids, which are usual in
    notebooks of nbformat 4.0 to 4.4.
    """

    def update_cell_type(self, cell: NotebookNode, cell_type: str) -> None:
        """Changes a cell's type back to the released `cell_type`; called by nbgrader."""
        before = cell.cell_type
        if before == cell_type:
            return
        cell.cell_type = cell_type
        for name, value in (("outputs", []), ("execution_count", None)):
            if cell_type == "code":
                cell[name] = value
            else:
                cell.pop(name, None)
        name = cell.metadata.nbgrader["grade_id"]
        self.log.warning(
            "look at cell %s: the student turned it into a %s cell, but it is graded as a %s cell",
            *(name, before, cell_type),
        )
