"""The class report as a page: bars drawn as inline SVG, every number in words beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import replace_file
from ..records import Verdict
from ..results.wording import VERDICT_WORDS, readable
from .rendering import render
from .report import QuestionReport, Report

_BAR = 100.0


@dataclass(frozen=True, slots=True)
class _Line:
    """A question's line of the table: the bar's width in percent, and words."""

    question: QuestionReport
    width: float
    verdicts: str
    mistakes: tuple[tuple[str, int], ...]


def write_report(report: Report, path: Path) -> Path:
    """Writes the page; raises `UserError` where that is not possible."""
    return replace_file(path, report_page(report))


def report_page(report: Report) -> str:
    """The page of a report."""
    looks = [student for student in report.students if student.look]
    lines = [_line(question) for question in report.questions]
    names = dict.fromkeys(question.assignment for question in report.questions)
    return render(
        "report.html.jinja",
        report=report,
        looks=looks,
        any_late=any(student.late for student in report.students),
        assignments=[
            (name, [line for line in lines if line.question.assignment == name]) for name in names
        ],
        histogram=_histogram(report),
        common=_common(report.questions),
    )


def _line(question: QuestionReport) -> _Line:
    return _Line(
        question=question,
        width=_BAR * question.mean / question.max_score if question.max_score else 0.0,
        verdicts=_in_words(question.verdicts),
        mistakes=tuple(
            (readable(name.rpartition(".")[2]), count) for name, count in question.misconceptions
        ),
    )


def _in_words(verdicts: Sequence[tuple[Verdict, int]]) -> str:
    return ", ".join(f"{count} {VERDICT_WORDS[verdict].lower()}" for verdict, count in verdicts)


def _common(questions: Sequence[QuestionReport]) -> list[tuple[str, QuestionReport, int]]:
    """The most frequent known mistakes of all questions."""
    found = [
        (readable(name.rpartition(".")[2]), question, count)
        for question in questions
        for name, count in question.misconceptions
    ]
    return sorted(found, key=lambda item: -item[2])[:5]


def _histogram(report: Report) -> list[tuple[str, int, float]]:
    """How many students lie in each fifth of the points: label, count, height in percent."""
    counts = [0] * 5
    for student in report.students:
        if student.max_score:
            counts[min(4, int(5 * student.score / student.max_score))] += 1
    highest = max(*counts, 1)
    return [
        (f"{20 * fifth}-{20 * fifth + 20}", count, _BAR * count / highest)
        for fifth, count in enumerate(counts)
    ]
