"""Writes the text that graders see in formgrader: comments on answers, and check cells' output."""

from __future__ import annotations

from ...escaping import printable
from ...records import ExerciseResult, QuestionResult, TestResult, Verdict
from ...results.wording import (
    NEXT_STEPS,
    VERDICT_WORDS,
    mistake_text,
    points_text,
    readable_test,
    shortened,
    why_not_judged,
    worth_text,
)

_LONGEST_MESSAGE = 2_000
_LONGEST_COMMENT = 6_000


def comment(exercise: ExerciseResult | None, question: QuestionResult | None) -> str | None:
    """Returns the automatic comment on an answer in a few lines, or None if the answer is correct.

    The comment leaves out the tests' messages, because the check cell's output contains them.
    """
    if exercise is None or question is None:
        return "The grading run did not judge this question."
    if question.verdict is Verdict.CORRECT:
        return None
    parts = [_headline(question), why_not_judged(exercise) or NEXT_STEPS[question.verdict]]
    words = "\n\n".join(part for part in (*parts, *_explanation(question)) if part)
    return printable(shortened(_plain_in_markdown(words), _LONGEST_COMMENT))


def check_output(exercise: ExerciseResult | None, question: QuestionResult | None) -> str:
    """Returns the output of a question's check cell: the verdict, all test results, and advice.

    The output repeats the explanation from the automatic comment, because a grader may replace that
    comment.
    """
    if exercise is None or question is None:
        return "The grading run did not judge this question.\n"
    lines = [_headline(question), *(_line(test) for test in question.tests)]
    if advice := why_not_judged(exercise):
        lines.append(advice)
    lines += _explanation(question)
    return printable("\n".join(lines)) + "\n"


def _explanation(question: QuestionResult) -> list[str]:
    mistake = mistake_text(question.misconception)
    named = [f"Known mistake: {mistake}."] if mistake else []
    return named + ([f"Hint: {question.hint}"] if question.hint else [])


def _headline(question: QuestionResult) -> str:
    points = worth_text(question.score, question.max_score)
    return f"{question.question}: {VERDICT_WORDS[question.verdict]}, {points}."


def _line(test: TestResult) -> str:
    mark = "passed" if test.passed else "not passed"
    points = f"({points_text(test.points, test.max_points)})"
    line = f"[{mark}] {readable_test(test.name)} {points}"
    if test.passed or not test.message:
        return line
    return f"{line}\n{_indented(shortened(test.message, _LONGEST_MESSAGE))}"


def _plain_in_markdown(text: str) -> str:
    """Escapes HTML tags in a comment, because feedback pages render comments as Markdown."""
    return text.replace("<", "\\<")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
