"""Turns nbgrader's scores into a result, where notebooks are exercises and cells are questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...records import ExerciseResult, ExerciseStatus, QuestionResult, TestResult, Verdict
from ...submission import Submission, missing_file_note
from ...submission.opened import is_regular
from ...untrusted_json import read_untrusted_json
from .autograding import Autograded
from .course import NotebookCourse

#: the message to a student about a cell that a human grades
BY_HAND = "waiting to be graded by hand"
#: the endings of files whose cells are graded
NOTEBOOKS = (".ipynb",)
_LONGEST_MESSAGE = 1_000
_VERDICTS = {
    "AssertionError": Verdict.WRONG,
    "NotImplementedError": Verdict.NOT_IMPLEMENTED,
    "CellTimeoutError": Verdict.TIMEOUT,
    "DeadWorkerError": Verdict.CRASHED,
    "MemoryError": Verdict.MEMORY,
}


def exercises_of(
    course: NotebookCourse, submission: Submission, outcome: Autograded
) -> tuple[ExerciseResult, ...]:
    """Returns a submission's exercises from the gradebook, after autograding."""
    directories = course.directories()
    folder = Path(
        directories.format_path(
            directories.autograded_directory, submission.student, submission.assignment
        )
    )
    with course.gradebook() as gradebook:
        found = gradebook.find_submission(submission.assignment, submission.student)
        results = [
            _exercise(notebook, folder, submission, outcome)
            for notebook in sorted(found.notebooks, key=lambda n: str(n.name))
            if any(grade.max_score for grade in notebook.grades)
        ]
    return tuple(results)


def _exercise(
    notebook: Any, folder: Path, submission: Submission, outcome: Autograded
) -> ExerciseResult:
    name, file = str(notebook.name), f"{notebook.name}.ipynb"
    status = ExerciseStatus.GRADED
    notes: tuple[str, ...] = ()
    if not is_regular(submission.folder / file):
        status = ExerciseStatus.MISSING
        notes = missing_file_note(submission.folder, name, endings=NOTEBOOKS)
    elif name in outcome.unreadable:
        status, notes = ExerciseStatus.UNREADABLE, (f"{file}: {outcome.unreadable[name]}",)
    errors = _errors(folder / file) if status is ExerciseStatus.GRADED else {}
    questions = tuple(
        _question(grade, errors.get(str(grade.name)), status)
        for grade in notebook.grades
        if grade.max_score
    )
    return ExerciseResult(
        exercise=name,
        file=None if status is ExerciseStatus.MISSING else file,
        status=status,
        score=sum(question.score for question in questions),
        max_score=sum(question.max_score for question in questions),
        questions=questions,
        notes=notes,
    )


def _question(grade: Any, error: tuple[str, str] | None, status: ExerciseStatus) -> QuestionResult:
    points, most = float(grade.auto_score or 0.0), float(grade.max_score)
    by_hand = grade.auto_score is None
    message = BY_HAND if by_hand else ": ".join(part for part in error or () if part)
    return QuestionResult(
        question=str(grade.name),
        score=points,
        max_score=most,
        verdict=_verdict(points, most, error, status),
        tests=(
            TestResult(
                name=str(grade.name),
                passed=points >= most,
                points=points,
                max_points=most,
                message=message[:_LONGEST_MESSAGE],
            ),
        ),
    )


def _verdict(
    points: float, most: float, error: tuple[str, str] | None, status: ExerciseStatus
) -> Verdict:
    if status is not ExerciseStatus.GRADED:
        return Verdict.MISSING if status is ExerciseStatus.MISSING else Verdict.ERROR
    if points >= most:
        return Verdict.CORRECT
    if points > 0:
        return Verdict.PARTIAL
    return _VERDICTS.get(error[0], Verdict.ERROR) if error else Verdict.WRONG


def _errors(path: Path) -> Mapping[str, tuple[str, str]]:
    """Returns the name and the text of each cell's last error in an autograded notebook."""
    cells = read_untrusted_json(path.read_text(encoding="utf-8"))["cells"]
    found = {}
    for cell in cells:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        for output in cell.get("outputs", ()):
            if output["output_type"] == "error":
                found[name] = (output["ename"], output["evalue"])
    return found


def waiting(exercises: Iterable[ExerciseResult]) -> tuple[str, ...]:
    """Returns a note about the cells that a person must grade, or () if there are no such cells."""
    names = [
        f"{exercise.exercise}/{question.question}"
        for exercise in exercises
        for question in exercise.questions
        if question.tests[0].message == BY_HAND
    ]
    return (f"{BY_HAND} in formgrader: {', '.join(names)}",) if names else ()
