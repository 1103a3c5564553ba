"""Records results in nbgrader's database and in formgrader's autograded notebooks.

Recording the same results again writes the same data. If a run is interrupted or the database is
lost, run the command again to write everything that is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from ...classroom import (
    TIMESTAMP_FILE,
    Allowances,
    SubmissionTime,
    arrival,
    keep_recorded,
    read_allowances,
)
from ...counts import number_of
from ...course import Course
from ...files import replace_bytes, replace_file
from ...records import (
    ExerciseResult,
    ExerciseStatus,
    Key,
    QuestionResult,
    SubmissionResult,
    SubmissionStatus,
    Verdict,
)
from ...results.last import last_of, results_where
from ...submission.opened import read_bytes
from ..sanitize import name_problem
from ..settings import Settings, load_settings, prepare_class_folder
from .autograded import NotebookMaker
from .bulk_rows import Entry, write_entries
from .database import opened, without_password, writing
from .lateness import late_penalty
from .messages import comment
from .released import CHECK, ReleasedAssignment, read_release
from .structure import AssignmentRows, update_structure

_BATCH = 100
#: a file whose contents nbgrader's exchange uses in the name of a student's feedback, so that other
#: students can't guess the name
_SECRET_FILE = "submission_secret.txt"
_LONGEST_SECRET = 10_000


@dataclass(frozen=True, slots=True)
class Note:
    """A note for the instructor about recording the results of a student or an assignment.

    `waits` is true if a result can't be recorded until a person has done something.
    """

    student: str
    assignment: str
    text: str
    waits: bool = False


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """A summary of the recorded results, with notes; `db_url` does not contain the password."""

    db_url: str
    submissions: int
    assignments: tuple[str, ...]
    notes: tuple[Note, ...]

    @property
    def unrecorded(self) -> int:
        """The number of results that can't be recorded until a person has done something."""
        return sum(note.waits for note in self.notes)


def record(
    course: Course,
    class_folder: Path,
    results: Iterable[SubmissionResult],
    *,
    db_url: str | None = None,
) -> RecordSummary:
    """Writes the latest results into nbgrader's gradebook and the autograded notebooks.

    A batch of submissions is written completely or not at all, and manual grades are not changed.
    Raises `UserError` if the database or a release can't be used.
    """
    prepare_class_folder(course, class_folder)
    return record_into(course, load_settings(class_folder, db_url), results)


def record_into(
    course: Course, settings: Settings, results: Iterable[SubmissionResult]
) -> RecordSummary:
    """Does the same as `record`, for a class folder whose settings are already loaded."""
    notes: list[Note] = []
    accepted = results_where(last_of(results), lambda result: _is_accepted(course, result, notes))
    releases = _releases(course, settings, {result.assignment for result in accepted})
    notes += _release_notes(releases, accepted)
    penalty = late_penalty(settings.config)
    class_folder = Path(settings.directories.root)
    allowances = read_allowances(class_folder)
    allowed: set[Key] = set()
    with opened(settings.db_url) as engine, NotebookMaker(releases) as maker:
        structures = writing(engine, partial(_structures, settings.course_id, releases))
        for batch in _batches(accepted):
            entries = [
                _written(
                    settings,
                    releases[r.assignment],
                    structures[r.assignment],
                    r,
                    allowances,
                    maker,
                    notes,
                )
                for r in batch
            ]
            write = partial(write_entries, structures=structures, entries=entries, penalty=penalty)
            writing(engine, write)
            allowed |= {r.key for r, e in zip(batch, entries, strict=True) if e.allowance}
    keep_recorded(class_folder, allowed - allowances.recorded)
    shown = without_password(settings.db_url)
    return RecordSummary(shown, len(accepted), tuple(releases), tuple(notes))


def _releases(
    course: Course, settings: Settings, names: Collection[str]
) -> dict[str, ReleasedAssignment]:
    return {
        assignment.name: read_release(assignment, settings.released(assignment.name))
        for assignment in course.assignments
        if assignment.name in names
    }


def _structures(
    course_id: str, releases: Mapping[str, ReleasedAssignment], connection: Connection
) -> dict[str, AssignmentRows]:
    return {
        name: update_structure(connection, course_id, released)
        for name, released in releases.items()
    }


def _batches(results: Sequence[SubmissionResult]) -> Iterator[Sequence[SubmissionResult]]:
    for start in range(0, len(results), _BATCH):
        yield results[start : start + _BATCH]


def _is_accepted(course: Course, result: SubmissionResult, notes: list[Note]) -> bool:
    """Returns whether a result can be recorded; if not, adds a note with the reason to `notes`.

    If the assignment belongs to a different course, nobody needs to do anything, so `waits` is
    false in the note.
    """
    why, is_of_course = None, True
    if result.status is SubmissionStatus.FAILED:
        why = "not recorded: the grader failed on it; grade it again with --resume"
    elif problem := name_problem(result.student):
        why = (
            f"not recorded: nbgrader does not accept this name, which {problem}; rename the folder"
        )
    elif result.assignment not in {assignment.name for assignment in course.assignments}:
        why, is_of_course = "not recorded: the course has no assignment with this name", False
    if why is None and "," in result.student:
        why = "nbgrader's own CSV does not quote this name: use `autograder export csv`"
        notes.append(Note(*result.key, why))
        return True
    if why is not None:
        notes.append(Note(*result.key, why, waits=is_of_course))
    return why is None


def _release_notes(
    releases: Mapping[str, ReleasedAssignment], results: Iterable[SubmissionResult]
) -> list[Note]:
    """Returns notes about questions or points that differ between released notebooks and suites."""
    points = {
        (name, notebook.name, question): cell.points
        for name, released in releases.items()
        for notebook in released.notebooks
        for question, cell in notebook.questions.items()
    }
    books = {key[:2] for key in points}
    found: dict[str, str] = {}
    for result in results:
        for exercise, question in result.questions():
            key = (result.assignment, exercise.exercise, question.question)
            where = "/".join(key)
            fix = f"run `autograder release {result.assignment}` and record again"
            if releases[result.assignment].is_nbgraders:
                fix = "fix the cell in source/ and call `nbgrader generate_assignment --force`"
            if key[:2] not in books:
                continue  # this class leaves the exercise out
            if key not in points:
                found[where] = (
                    f"{where} is not in the released notebook, so its score is not recorded: {fix}"
                )
            elif abs(points[key] - question.max_score) > 1e-9:
                found[where] = (
                    f"{where} has {number_of(points[key], 'point')} in the released notebook, but "
                    f"{question.max_score:g} in the suite: {fix}"
                )
    return [Note("", where.partition("/")[0], text) for where, text in sorted(found.items())]


def _written(
    settings: Settings,
    released: ReleasedAssignment,
    structure: AssignmentRows,
    result: SubmissionResult,
    allowances: Allowances,
    maker: NotebookMaker,
    notes: list[Note],
) -> Entry:
    """Writes a submission's autograded folder; returns the submission's entry for the gradebook."""
    submitted = settings.submitted(*result.key)
    folder = settings.autograded(*result.key)
    arrived = arrival(submitted)
    if arrived.problem:
        notes.append(Note(*result.key, arrived.problem))
    for number, notebook in enumerate(released.notebooks):
        text = maker.text(result, number, submitted)
        replace_file(folder / f"{notebook.name}.ipynb", text)
    _copy_stamps(submitted, folder, arrived)
    allowed = allowances.of(*result.key, released.duedate)
    return entry_of(structure, result, arrived, allowed)


def _copy_stamps(submitted: Path, folder: Path, arrived: SubmissionTime) -> None:
    """Copies a submission's timestamp and secret, which nbgrader needs to release feedback."""
    is_there = {
        TIMESTAMP_FILE: arrived.stamped is not None,
        _SECRET_FILE: _is_small(submitted / _SECRET_FILE),
    }
    for name, copies in is_there.items():
        if copies:
            replace_bytes(folder / name, read_bytes(submitted / name, _LONGEST_SECRET))
        else:
            (folder / name).unlink(missing_ok=True)


def _is_small(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size < _LONGEST_SECRET


def entry_of(
    structure: AssignmentRows,
    result: SubmissionResult,
    arrived: SubmissionTime,
    allowance: timedelta | None = None,
) -> Entry:
    """Returns a submission's gradebook entry, with scores for checks and comments on answers."""
    judged = {
        (exercise.exercise, question.question): (exercise, question)
        for exercise, question in result.questions()
    }
    asked = [
        (name, cell.removeprefix(CHECK))
        for name, notebook in structure.notebooks.items()
        for cell in notebook.grade_cells.keys() - notebook.solution_cells.keys()
    ]
    return Entry(
        student=result.student,
        assignment=result.assignment,
        arrival=arrived,
        allowance=allowance,
        scores={(b, CHECK + q): judged[b, q][1].score for b, q in asked if (b, q) in judged},
        comments={(b, q): comment(*judged.get((b, q), (None, None))) for b, q in asked},
        to_look_at=frozenset(
            (b, CHECK + q) for b, q in asked if (b, q) in judged and _wants_a_look(*judged[b, q])
        ),
    )


def _wants_a_look(exercise: ExerciseResult, question: QuestionResult) -> bool:
    """Returns whether a person may be able to judge an answer that the tests could not judge."""
    is_unreadable = exercise.status is ExerciseStatus.UNREADABLE
    return is_unreadable or question.verdict is Verdict.PROTOCOL
