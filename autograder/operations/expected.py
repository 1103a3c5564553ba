"""Grades a course's example class and writes the scores to `examples/expected.json`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import replace_file
from ..records import SubmissionResult
from ..sandbox.temporary import temporary_folder
from .courses import HERE, course_at
from .grade import grade

#: (score, verdict) by student, assignment, exercise and question
Scores = dict[str, dict[str, dict[str, dict[str, list[Any]]]]]


def write_expected(*, course: Path | str = HERE, jobs: int = 2) -> tuple[str, ...]:
    """Grades `examples/submitted`; returns a line for each question whose outcome changed.

    The outcome is the score and the verdict. Raises `UserError` if the course has no example class.
    """
    root = course_at(Path(course)).root
    examples, path = root / "examples" / "submitted", root / "examples" / "expected.json"
    if not examples.is_dir():
        raise UserError(f"{examples} does not exist: put <student>/<assignment>/ into it")
    before: Scores = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    with temporary_folder() as folder:
        submitted = shutil.copytree(examples, folder / "submitted")
        after = scores(grade(submitted, course=root, jobs=jobs, gradebook=False).results)
    replace_file(path, expected_text(after))
    return tuple(differences(before, after))


def scores(results: Iterable[SubmissionResult]) -> Scores:
    """Returns the score and the verdict of each question."""
    found: Scores = {}
    for result in sorted(results, key=lambda result: result.key):
        found.setdefault(result.student, {})[result.assignment] = {
            exercise.exercise: {q.question: [q.score, q.verdict.value] for q in exercise.questions}
            for exercise in result.exercises
        }
    return found


def differences(before: Scores, after: Scores) -> Iterator[str]:
    """Yields a line for each question whose score or verdict differs."""
    old, new = dict(_flat(before)), dict(_flat(after))
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            yield f"{key}: was {old.get(key)}, is {new.get(key)}"


def _flat(tree: Mapping[str, Any], names: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        path = f"{names}/{name}" if names else name
        if isinstance(value, dict):
            yield from _flat(value, path)
        else:
            yield path, value


def expected_text(scores: Scores) -> str:
    """Formats scores with one line per exercise, so that changes are easy to see."""
    students = []
    for student, work in scores.items():
        assignments = []
        for assignment, exercises in work.items():
            rows = [f"   {json.dumps(name)}: {json.dumps(q)}" for name, q in exercises.items()]
            assignments.append(f"  {json.dumps(assignment)}: {{\n" + ",\n".join(rows) + "\n  }")
        students.append(f" {json.dumps(student)}: {{\n" + ",\n".join(assignments) + "\n }")
    return "{\n" + ",\n".join(students) + "\n}\n"
