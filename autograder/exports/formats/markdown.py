"""Writes a Markdown summary of a class or of one submission, for a pull request or a CI job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from ...counts import number_of
from ...escaping import for_markdown
from ...files import replace_file
from ...records import SubmissionResult, SubmissionStatus
from ...results.last import keys_of
from ...results.review import reasons_to_look
from ...results.wording import VERDICT_WORDS, points_text, shortened, why_not_judged
from ..class_grades import Grades
from ..export_tables import Exported

DEFAULT = "grades.md"

_LONGEST = 300


def write(grades: Grades, path: Path) -> Exported:
    own = grades.results
    lines = _submission(own[0], grades) if len(own) == 1 else _class(grades)
    return Exported(replace_file(path, "\n".join(lines) + "\n"))


def _class(grades: Grades) -> Iterator[str]:
    results = grades.results
    assignments = sorted({assignment for _, assignment in keys_of(results)})
    students = {student for student, _ in keys_of(results)}
    yield "# Grades\n"
    people, work = number_of(len(students), "student"), number_of(len(results), "submission")
    yield f"{people}, {work}.\n"
    titles = (_text(grades.title_of(name)) for name in assignments)
    yield from _head("Student", *titles, "To look at")
    for student, some in groupby(results, lambda result: result.student):
        own = {result.assignment: result for result in some}
        looks = (reasons_to_look(own[name], grades.reviewed) for name in assignments if name in own)
        reasons = [reason for found in looks for reason in found]
        points = [_points(own[name]) if name in own else "" for name in assignments]
        yield _row(_name(student), *points, _text("; ".join(reasons)))


def _submission(result: SubmissionResult, grades: Grades) -> Iterator[str]:
    yield f"# {_text(grades.title_of(result.assignment))}: {_name(result.student)}\n"
    if result.status is SubmissionStatus.FAILED:
        yield f"The grader failed: {_text(result.error or 'no reason given')}"
        return
    yield f"**{_points(result)}** points.\n"
    yield from _head("Exercise", "Question", "Points", "Verdict", "Next")
    for exercise in result.exercises:
        for question in exercise.questions:
            points = points_text(question.score, question.max_score)
            verdict = _text(VERDICT_WORDS[question.verdict])
            hint = _text(question.hint or why_not_judged(exercise))
            yield _row(_name(exercise.exercise), _name(question.question), points, verdict, hint)


def _points(result: SubmissionResult) -> str:
    if result.status is SubmissionStatus.FAILED:
        return "not graded"
    return points_text(result.score, result.max_score)


def _head(*titles: str) -> Iterator[str]:
    yield _row(*titles)
    yield _row(*("---" for _ in titles))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _name(text: str) -> str:
    """Formats a name as code, so that `@` and `#` in names don't become mentions or references."""
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    return for_markdown(shortened(text, _LONGEST))
