"""What graders read in formgrader: a comment for each answer, an output for each check."""

from __future__ import annotations

from ..presenting import (
    NEXT_STEPS,
    VERDICT_WORDS,
    amount,
    exercise_advice,
    readable,
    readable_test,
    shortened,
)
from ..records import ExerciseResult, QuestionResult, TestResult, Verdict

_LONGEST_MESSAGE = 2_000
_LONGEST_COMMENT = 6_000


def comment(exercise: ExerciseResult | None, question: QuestionResult | None) -> str | None:
    """The automatic comment on an answer; None where there is nothing to say."""
    if exercise is None or question is None:
        return "The grading run did not judge this question."
    if question.verdict is Verdict.CORRECT:
        return None
    parts = [_headline(question), exercise_advice(exercise) or NEXT_STEPS[question.verdict]]
    if question.misconception:
        parts.append(f"Known mistake: {readable(question.misconception.rpartition('.')[2])}.")
    parts += [f"Hint: {question.hint}"] if question.hint else []
    parts += [_failed(test) for test in question.tests if not test.passed and test.message]
    return clean(shortened("\n\n".join(part for part in parts if part), _LONGEST_COMMENT))


def check_output(exercise: ExerciseResult | None, question: QuestionResult | None) -> str:
    """What the check cell of a question shows: its verdict and every test."""
    if exercise is None or question is None:
        return "The grading run did not judge this question.\n"
    lines = [_headline(question), *(_line(test) for test in question.tests)]
    if advice := exercise_advice(exercise):
        lines.append(advice)
    return clean("\n".join(lines)) + "\n"


def _headline(question: QuestionResult) -> str:
    points = f"{amount(question.score)} of {amount(question.max_score)} points"
    return f"{question.question}: {VERDICT_WORDS[question.verdict]}, {points}."


def _line(test: TestResult) -> str:
    mark = "passed" if test.passed else "not passed"
    points = f"({amount(test.points)} of {amount(test.max_points)})"
    line = f"[{mark}] {readable_test(test.name)} {points}"
    if test.passed or not test.message:
        return line
    return f"{line}\n{_indented(shortened(test.message, _LONGEST_MESSAGE))}"


def _failed(test: TestResult) -> str:
    return f"{readable_test(test.name)}:\n{shortened(test.message, _LONGEST_MESSAGE)}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def clean(text: str) -> str:
    """The text without what a database, JSON or a terminal can't take: NUL, escapes, surrogates."""
    text = text.encode("utf-8", "replace").decode()
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(sign for sign in text if sign in "\n\t" or sign.isprintable())
