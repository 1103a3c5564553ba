"""Formats a student's feedback as plain text, for email and for reading without a browser."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from ..classroom import Lateness
from ..counts import number_of
from ..deadlines import moment_text
from ..escaping import printable
from ..records import DueDate, QuestionResult, SubmissionResult, Verdict
from ..results.manual import HumanWork, Request
from ..results.wording import (
    NEXT_STEPS,
    VERDICT_WORDS,
    exercise_advice,
    grader_texts,
    penalty_text,
    readable_test,
    shortened,
    worth_text,
)

_WIDTH = 78
_LONGEST_MESSAGE = 500


def feedback_text(result: SubmissionResult, title: str, human: HumanWork, arrival: str) -> str:
    """Returns the feedback on a submission: points, verdicts, hints, and the first failed test.

    `result` contains the score that counts, `human` contains graders' entries, and `arrival` is the
    result of `arrival_sentence`. Nothing in the text can control the terminal on which it is shown.
    """
    return printable("\n".join(_lines(result, title, human, arrival))).rstrip() + "\n"


def arrival_sentence(late: Lateness, due: DueDate | None = None) -> str:
    """Says when a submission arrived, in the due date's time zone, and how late it was."""
    if late.submitted is None:
        return f"Submitted late, {late.text}." if late.is_late else ""
    when = f"Submitted {moment_text(late.submitted, due)}"
    if late.late_days:
        when += f", with {number_of(late.late_days, 'late day')} of your budget"
    if not late.is_late:
        return f"{when}."
    until = f"; your deadline was {moment_text(late.due, due)}" if late.due else ""
    return f"{when}, {late.text} late{until}."


def _lines(result: SubmissionResult, title: str, human: HumanWork, arrival: str) -> Iterator[str]:
    yield f"{title}: {worth_text(result.score, result.max_score)}"
    yield f"Feedback for {' '.join(result.student.split())}"
    if arrival:
        yield arrival
    yield from filter(None, (penalty_text(human.penalty(result)),))
    yield from result.notes
    yield from _second_look(human.asked(result.key, ""))
    for exercise in result.exercises:
        yield from ("", exercise.exercise, "-" * len(exercise.exercise))
        for note in exercise.notes:
            yield from _wrapped(note)
        advice = exercise_advice(exercise)
        yield from _wrapped(advice)
        for question in exercise.questions:
            yield from _question(question) if not advice else [_not_judged(question)]
            grade = human.of(result, exercise.exercise, question.question)
            for text in grader_texts(grade):
                yield from _wrapped(text)
            place = f"{exercise.exercise}/{question.question}"
            yield from _second_look(human.asked(result.key, place))


def _second_look(requests: Iterable[Request]) -> Iterator[str]:
    for one in requests:
        yield from _wrapped(f"You asked for a second look: {one.request}")
        yield from _wrapped(f"Answer: {one.answer}" if one.answer else "Nobody has answered yet.")


def _not_judged(question: QuestionResult) -> str:
    points = worth_text(question.score, question.max_score)
    return f"* {question.question}: not checked, {points}"


def _question(question: QuestionResult) -> Iterator[str]:
    points = worth_text(question.score, question.max_score)
    yield f"* {question.question}: {VERDICT_WORDS[question.verdict]}, {points}"
    if question.verdict is Verdict.CORRECT:
        return
    for text in (question.hint, NEXT_STEPS[question.verdict]):
        if text:
            yield from _wrapped(text)
    failed = next((test for test in question.tests if not test.passed and test.message), None)
    if failed is not None:
        yield from _wrapped(f"{readable_test(failed.name)}:")
        message = shortened(failed.message, _LONGEST_MESSAGE)
        yield from (f"    {line}".rstrip() for line in message.splitlines())


def _wrapped(text: str) -> list[str]:
    words = " ".join(text.split())
    return textwrap.wrap(words, _WIDTH, initial_indent="  ", subsequent_indent="  ")
