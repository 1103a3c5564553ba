"""Writes the class report as one page: tables, bars, and a script that shows details.

Without the script, the page still shows its tables and bars, its sections can be folded, and it can
be printed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import replacing
from ..records import Verdict
from ..results.wording import VERDICT_WORDS, mistake_text, title_of
from .arrival_plot import ArrivalPlot, arrival_plot
from .rendering import rendered
from .report import AssignmentReport, QuestionReport, Report, StudentReport

_EMPTY = (
    '{"students":[],"questions":[],"verdicts":[],"mistakes":[],"messages":[],"codes":[],"rows":[]}'
)
_BAR = 100.0
#: below the first value, a question is hard; below the second, it does not distinguish students
_HARD, _FLAT = 0.5, 0.2
#: the heading for a reason to look, by words that the reason contains
_KINDS = (
    ("the grader failed", "The grader itself failed: grade again"),
    ("can't be read", "A file that can't be read"),
    ("expected ", "A file with a different name, or an archive: is it an answer?"),
    ("which can hide a call", "Code that may evade a rule"),
    ("a human has to grade it", "Answers that a human has to grade"),
    ("did not finish in time", "Did not finish in time"),
    ("ended its process", "Ended its process"),
    ("too much memory", "Needed too much memory"),
    ("printed too much", "Printed too much"),
    ("call that is not allowed", "Uses a call that is not allowed"),
)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question's line in the report, with its numbers formatted as text."""

    of: QuestionReport
    verdicts: str
    remark: str
    mistakes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Assignment:
    """An assignment's section; each of the `bars` has a label, a count and a height in percent."""

    of: AssignmentReport
    title: str
    bars: tuple[tuple[str, int, float], ...]
    questions: tuple[_Question, ...]
    plot: ArrivalPlot | None


def write_report(report: Report, path: Path, data: str = _EMPTY) -> Path:
    """Writes the page to `path`; raises `UserError` if the page can't be written.

    `data` is the result of `drill_down`.
    """
    with replacing(path) as file:
        for part in _page(report, data):
            file.write(part.encode("utf-8", "replace"))
    return path


def _page(report: Report, data: str) -> Iterator[str]:
    return rendered(
        "report.html.jinja",
        script="report.js",
        titles=report.titles,
        report=report,
        data=data,
        looks=_looks(report.students),
        any_late=any(student.late for student in report.students),
        assignments=[_assignment(item, report) for item in report.assignments],
    )


def _assignment(item: AssignmentReport, report: Report) -> _Assignment:
    highest = max(*item.histogram, 1)
    bars = tuple(
        (f"{10 * tenth}", count, _BAR * count / highest)
        for tenth, count in enumerate(item.histogram)
    )
    own = [_question(q) for q in report.questions if q.assignment == item.assignment]
    title = title_of(item.assignment, report.titles)
    return _Assignment(item, title, bars, tuple(own), arrival_plot(item.spots))


def _question(question: QuestionReport) -> _Question:
    return _Question(
        of=question,
        verdicts=_in_words(question.verdicts),
        remark=", ".join(_remarks(question)),
        mistakes=tuple((mistake_text(name), count) for name, count in question.misconceptions),
    )


def _remarks(question: QuestionReport) -> Iterable[str]:
    if question.share < _HARD:
        yield "hard"
    if question.discrimination is not None and question.discrimination < _FLAT:
        yield "hardly separates students"


def _in_words(verdicts: Sequence[tuple[Verdict, int]]) -> str:
    return ", ".join(f"{count} {VERDICT_WORDS[verdict].lower()}" for verdict, count in verdicts)


def _looks(students: Iterable[StudentReport]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Groups the students to look at by kind of reason, with the reasons; frequent kinds first."""
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for student in students:
        for reason in student.look:
            kind = next((kind for words, kind in _KINDS if words in reason), "Another reason")
            found[kind].append((student.student, reason))
    return sorted(found.items(), key=lambda item: -len(item[1]))
