"""Writes a file `results.json` for each submission, for Gradescope's autograder harness."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...escaping import for_file_name, for_json
from ...files import replace_file
from ...records import ExerciseResult, QuestionResult, SubmissionResult, SubmissionStatus
from ...results.manual import HumanWork
from ...results.wording import (
    VERDICT_WORDS,
    grader_texts,
    penalty_text,
    readable,
    readable_test,
    why_not_judged,
    worth_text,
)
from ..class_grades import Grades
from ..export_tables import Exported

DEFAULT = "gradescope"


def write(grades: Grades, path: Path) -> Exported:
    """Writes `<student>/<assignment>/results.json` below `path`, or one file if `path` is `*.json`.

    Writes nothing for a submission on which the grader failed, so that the harness reports a failed
    autograder instead of a zero. Raises `UserError` if a single file is requested for several
    submissions.
    """
    own = grades.results
    if path.suffix == ".json":
        if len(own) != 1:
            raise UserError(
                f"{path} can contain only one submission, but there are {len(own)}: choose one "
                "with --student and --assignment, or give a folder"
            )
        return Exported(path, tuple(_write_one(own[0], path, grades.human)))
    notes = [
        note for result in own for note in _write_one(result, _place(path, result), grades.human)
    ]
    return Exported(path, tuple(notes))


def document(result: SubmissionResult, human: HumanWork | None = None) -> dict[str, Any]:
    """Returns the content of `results.json`, with the final score after any manual changes."""
    work = human or HumanWork()
    by_hand = [
        f"{exercise.exercise}/{question.question}: {' '.join(texts)}"
        for exercise, question in result.questions()
        if (texts := grader_texts(work.of(result, exercise.exercise, question.question)))
    ]
    advice = [a for exercise in result.exercises if (a := why_not_judged(exercise))]
    summary = [worth_text(result.score, result.max_score), penalty_text(work.penalty(result))]
    return {
        "score": result.score,
        "execution_time": max(1, round(result.seconds)),
        "output": "\n".join(filter(None, [*summary, *result.notes, *advice, *by_hand])),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            test
            for place, exercise in enumerate(result.exercises, start=1)
            for test in _tests(str(place), exercise)
        ],
    }


def _place(folder: Path, result: SubmissionResult) -> Path:
    return (
        folder / for_file_name(result.student) / for_file_name(result.assignment) / "results.json"
    )


def _write_one(result: SubmissionResult, path: Path, human: HumanWork) -> Iterator[str]:
    if result.status is SubmissionStatus.FAILED:
        path.unlink(missing_ok=True)  # it would contain the score from an earlier export
        whose = f"{result.student!r}, {result.assignment}"
        yield f"{whose}: the grader failed, so there is no results.json; grade it again"
        return
    replace_file(path, for_json(document(result, human), indent=2) + "\n")


def _tests(place: str, exercise: ExerciseResult) -> Iterator[dict[str, Any]]:
    for position, question in enumerate(exercise.questions, start=1):
        name = f"{readable(exercise.exercise)}: {question.question}"
        if not question.tests:
            output = why_not_judged(exercise) or VERDICT_WORDS[question.verdict]
            yield _test(name, f"{place}.{position}", question.score, question.max_score, output)
            continue
        for number, test in enumerate(question.tests, start=1):
            output = test.message if not test.passed else ""
            if number == _first_failed(question) and question.hint:
                output = f"{output}\n{question.hint}".strip()
            named = f"{name}: {readable_test(test.name)}"
            yield _test(named, f"{place}.{position}.{number}", test.points, test.max_points, output)
    if not exercise.questions:
        advice = why_not_judged(exercise)
        yield _test(readable(exercise.exercise), place, exercise.score, exercise.max_score, advice)


def _first_failed(question: QuestionResult) -> int:
    return next((n for n, test in enumerate(question.tests, start=1) if not test.passed), 0)


def _test(name: str, number: str, score: float, maximum: float, output: str) -> dict[str, Any]:
    return {
        "name": name,
        "number": number,
        "score": score,
        "max_score": maximum,
        "status": "passed" if score >= maximum else "failed",
        "output": output,
        "visibility": "visible",
    }
