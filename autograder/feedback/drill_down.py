"""Prepares the data for the details on the report page: each wrong answer in a compact form."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

from ..escaping import for_script, printable
from ..records import SubmissionResult, SubmissionStatus, Verdict
from ..results.wording import VERDICT_WORDS, mistake_text, shortened
from .mistakes import Codes, first_message

T = TypeVar("T", bound=Hashable)
_LONGEST_MESSAGE = 600


class _Numbers(Generic[T]):
    """Assigns numbers to values; equal values get the same number, and empty values get -1."""

    def __init__(self) -> None:
        self.values: dict[T, int] = {}

    def of(self, value: T) -> int:
        return self.values.setdefault(value, len(self.values)) if value else -1


class _Document:
    """A JSON document with rows and tables, kept in memory as encoded bytes.

    Python objects would need ten times as much memory, and `io.StringIO` would need four bytes per
    character.
    """

    def __init__(self) -> None:
        self._text = io.BytesIO(b'{"rows":[')
        self._text.seek(0, io.SEEK_END)
        self._comma = ""

    def add(self, *row: float) -> None:
        self._text.write(f"{self._comma}{for_script(row)}".encode())
        self._comma = ","

    def with_tables(self, tables: dict[str, list[Any]]) -> str:
        """Returns the whole document; no rows can be added after this call."""
        # folder names may contain bytes that are not valid UTF-8
        text = f"],{for_script(tables)[1:]}"
        self._text.write(text.encode("utf-8", "surrogatepass"))
        return self._text.getvalue().decode("utf-8", "surrogatepass")


def drill_down(results: Iterable[SubmissionResult], codes: Codes) -> str:
    """Returns the data for the page's script: JSON that is safe inside an HTML element."""
    students, questions = _Numbers[str](), _Numbers[tuple[str, str, str, float]]()
    verdicts, mistakes = _Numbers[str](), _Numbers[str]()
    messages, texts = _Numbers[str](), _Numbers[str]()
    document = _Document()
    for result in results:
        if result.status is not SubmissionStatus.GRADED:
            continue
        for exercise, question in result.questions():
            place = (result.assignment, exercise.exercise, question.question)
            number = questions.of((*place, question.max_score))
            student = students.of(result.student)
            if question.verdict is Verdict.CORRECT:
                continue
            document.add(
                *(student, number, round(question.score, 2)),
                verdicts.of(VERDICT_WORDS[question.verdict]),
                mistakes.of(mistake_text(question.misconception)),
                messages.of(shortened(first_message(question), _LONGEST_MESSAGE)),
                texts.of(codes.get((result.student, *place), "")),
            )
    tables: dict[str, _Numbers[Any]] = {"questions": questions, "verdicts": verdicts}
    tables |= {"mistakes": mistakes}
    shown: dict[str, _Numbers[str]] = {"students": students, "messages": messages, "codes": texts}
    return document.with_tables(
        {name: list(numbers.values) for name, numbers in tables.items()}
        # escape names as in the page's cells, because the script looks for the same names
        | {name: list(map(printable, numbers.values)) for name, numbers in shown.items()}
    )
