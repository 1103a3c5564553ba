"""Makes nbgrader's own `autograde`, and formgrader's Autograde button, grade in the sandbox.

nbgrader uses an exporter in two passes, in which it reads, executes and writes a notebook. This
exporter replaces both passes: the submission is graded as in any other run, in a separate process,
and nbgrader gets the finished autograded notebook. nbgrader thus never opens a student's file, so
an unreadable file can't stop a batch. Assignments that do not belong to the course are graded in
nbgrader's usual way.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from traitlets import Integer, Unicode

from ..classroom import with_class_dates
from ..course import Course, find_root, load_course
from ..errors import AutograderError, UserError
from ..grading.sources import RunOptions
from ..records import SubmissionResult, SubmissionStatus
from ..results.file import iterate_results
from ..submission import unused_notes
from ..submission.class_files import RESULTS_FILE
from .apart import grade_apart
from .gradebook.recording import record_into
from .notebooks.autograding import record_nothing
from .settings import Settings


class SandboxedExporter(NotebookExporter):
    """Grades and records submissions, and gives nbgrader their autograded notebooks."""

    course = Unicode(
        help="the folder with source/ and solutions/ (default: the class folder or one above it)"
    ).tag(config=True)
    results = Unicode(
        RESULTS_FILE, help="the file in the class folder to which grading appends results"
    ).tag(config=True)
    jobs = Integer(2, help="the number of submissions to grade at the same time").tag(config=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]  # nbgrader has no types
        self._graded: dict[tuple[str, str], SubmissionResult] = {}
        self._recorded: set[tuple[str, str]] = set()
        if getattr(self.parent, "assignments", None):
            self._leave_out_unknown_notebooks()

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kwargs: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Returns the autograded notebook; nbgrader calls this in both passes for each notebook."""
        names = (resources or {}).get("nbgrader", {})
        student, assignment = names.get("student", ""), names.get("assignment", "")
        if not self._is_ours(assignment, names.get("notebook", "")):
            return super().from_filename(filename, resources, **kwargs)
        try:
            self._record(student, assignment)
        except AutograderError as error:
            raise NbGraderException(str(error)) from error
        path = self._settings.autograded(student, assignment) / f"{names['notebook']}.ipynb"
        return path.read_text(encoding="utf-8"), {
            **(resources or {}),
            "metadata": {"name": names["notebook"]},
            "output_extension": self.file_extension,
        }

    def _leave_out_unknown_notebooks(self) -> None:
        """Removes submissions from nbgrader's list if none of their notebooks has a known name.

        nbgrader would stop at the first of these submissions. Instead, these submissions get no
        points, and a warning is logged.
        """
        converter = self._converter
        names = converter._format_source("(?P<assignment>.*)", "(?P<student>.*)", escape=True)
        for folder, notebooks in sorted(converter.assignments.items()):
            found = re.match(names, folder)
            known = self._released(found["assignment"]) if found else ()
            if found is None or not known or any(Path(n).stem in known for n in notebooks):
                continue
            student, assignment = found["student"], found["assignment"]
            del converter.assignments[folder]
            for note in unused_notes(Path(folder), known, endings=(".ipynb",)):
                self.log.warning("%s/%s: %s", student, assignment, note)
            if self._is_ours(assignment, known[0]):
                self._record(student, assignment)
            else:
                with Gradebook(self._settings.db_url, self._settings.course_id) as gradebook:
                    record_nothing(gradebook, student, assignment)

    def _released(self, assignment: str) -> Sequence[str]:
        """Returns an assignment's notebooks in the gradebook, or () if it has none there."""
        with Gradebook(self._settings.db_url, self._settings.course_id) as gradebook:
            try:
                return [
                    str(found.name) for found in gradebook.find_assignment(assignment).notebooks
                ]
            except MissingEntry:
                return ()

    @cached_property
    def _converter(self) -> Any:
        return self.parent  # nbgrader's Autograde, which has no types

    @cached_property
    def _settings(self) -> Settings:
        directories = self._converter.coursedir
        return Settings(directories.db_url, directories.course_id, directories, self.config)

    @cached_property
    def _course(self) -> Course:
        root = self._settings.directories.root
        try:
            found = load_course(Path(root, self.course) if self.course else find_root(Path(root)))
            return with_class_dates(found, Path(root))
        except AutograderError as error:
            raise NbGraderException(str(error)) from error

    @cached_property
    def _has_course(self) -> bool:
        """Returns whether a course is configured, or found at or above the class folder."""
        with contextlib.suppress(AutograderError):
            return bool(self.course or find_root(Path(self._settings.directories.root)))
        return False

    def _is_ours(self, assignment: str, notebook: str) -> bool:
        if not self._has_course:
            return False
        found = next((a for a in self._course.assignments if a.name == assignment), None)
        return found is not None and any(e.name == notebook for e in found.exercises)

    def _record(self, student: str, assignment: str) -> None:
        """Grades and records a submission, once per run of nbgrader."""
        if (student, assignment) in self._recorded:
            return
        if (student, assignment) not in self._graded:
            self._grade(student, assignment)
        result = self._graded.get((student, assignment))
        if result is None or result.status is not SubmissionStatus.GRADED:
            why = "there is no result" if result is None else result.error
            raise NbGraderException(f"{student}/{assignment} could not be graded: {why}")
        chosen = [result, *self._without_notebooks(assignment)]
        for note in record_into(self._course, self._settings, chosen).notes:
            self.log.warning("%s/%s: %s", note.student, note.assignment, note.text)
        self._recorded |= {(result.student, assignment) for result in chosen}

    def _without_notebooks(self, assignment: str) -> Iterator[SubmissionResult]:
        """Yields results for submissions without a notebook, which nbgrader skips."""
        for (student, name), result in self._graded.items():
            folder = self._settings.submitted(student, assignment)
            is_new = name == assignment and (student, name) not in self._recorded
            names = {path.stem for path in folder.glob("*.ipynb")}
            if is_new and folder.is_dir() and not names.intersection(self._released(assignment)):
                yield result

    def _grade(self, student: str, assignment: str) -> None:
        """Grades the submission, or all submissions if nbgrader runs for all students."""
        directories = self._settings.directories
        submitted = Path(directories.format_path(directories.submitted_directory, "", ""))
        everybody = directories.student_id == "*"
        folder = submitted if everybody else self._settings.submitted(student, assignment)
        results = Path(directories.root, self.results)
        self.log.info("Grading %s in the sandbox", folder)
        error = grade_apart(
            self._course.root,
            RunOptions(
                submitted=folder,
                results=results,
                jobs=self.jobs,
                resume=not self._converter.force,
                assignment=assignment if everybody else None,
            ),
        )
        if error:  # otherwise, each result has its own status
            raise NbGraderException(error)
        self._graded |= {
            (result.student, assignment): result
            for result in _results_of(results, assignment)
            if everybody or result.student == student
        }


def _results_of(path: Path, assignment: str) -> Iterator[SubmissionResult]:
    try:
        yield from (r for r in iterate_results(path) if r.assignment == assignment)
    except UserError as error:
        raise NbGraderException(str(error)) from error
