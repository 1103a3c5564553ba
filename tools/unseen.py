"""Reads answers whose authors saw only the questions, and finds the names of their mistakes.

The lists (`tests/unseen/*.toml`) contain correct answers in a student's style. A wrong answer is
written as changes to a correct answer's text, with the intended mistake and the name that a person
considers right. Some wrong answers also have the message that a person has read, and that person's
judgment of the message (`tools/messages.py`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from autograder.course import Course
from autograder.errors import ContentError
from autograder.grading.judging.suites import SuiteRunner
from autograder.grading.naming.diagnosis import Diagnosis
from autograder.grading.naming.probe import Replies, replies_of
from autograder.grading.validation.validate import SEED
from autograder.records import Exercise, QuestionResult
from autograder.sandbox.replies import Batch
from autograder.suite.local import LocalImplementation


@dataclass(frozen=True, slots=True)
class UnseenAnswer:
    """One answer: the intended mistake (`means`), the text, and the mistake's name in the list.

    For a correct answer, `means` is empty. `read` contains the first line and the advice in the
    message that a person has read, and `does` is that person's judgment of the message; both are
    empty if nobody has read a message.
    """

    question: str
    means: str
    text: str
    name: str = ""
    does: str = ""
    read: str = ""


def unseen_of(exercise: Exercise, folder: Path) -> Iterator[UnseenAnswer]:
    """Yields the correct answers to an exercise's questions, each followed by its wrong variants.

    Raises `ContentError` if an answer does not contain the code that a change replaces.
    """
    path = folder / f"{exercise.assignment}.toml"
    questions = tomllib.loads(path.read_text(encoding="utf-8")).get(exercise.name, {})
    for question, entries in questions.items():
        for entry in entries:
            yield UnseenAnswer(question, "", entry["right"])
            for means, wrong in entry.get("wrong", {}).items():
                text = _changed(path, entry["right"], wrong["change"])
                noted = {key: value for key, value in wrong.items() if key != "change"}
                yield UnseenAnswer(question, means, text, **noted)


def judged_of(exercise: Exercise, root: Path) -> Iterator[UnseenAnswer]:
    """Yields answers that are judged but not named: those in the folders `attack` and `promise`."""
    for folder in ("attack", "promise"):
        yield from unseen_of(exercise, root / "tests" / "unseen" / folder)


def _changed(path: Path, text: str, changes: Sequence[tuple[str, str]]) -> str:
    for old, new in changes:
        if old not in text:
            raise ContentError(path, None, f"{old!r} is not in the answer", "compare them")
        text = text.replace(old, new)
    return text


def ask_here(text: str, batch: Batch) -> Replies:
    """Runs one of our own modules in this process; returns its replies to a batch of calls."""
    own: dict[str, Any] = {"__name__": "entry"}
    exec(compile(text, "<entry>", "exec"), own)
    return replies_of(own, batch)


class Namer:
    """Names mistakes in our own answers to an exercise, which run in this process."""

    def __init__(self, runner: SuiteRunner, course: Course, exercise: Exercise) -> None:
        self._runner = runner
        self._exercise = exercise
        self.diagnosis = Diagnosis(runner, course, exercise, ask_here)

    def named(self, answer: UnseenAnswer) -> QuestionResult:
        """Returns an answer's result, with the name of its mistake if a name is found."""
        own = self.executed(answer)
        judged = self._judged(answer, own)
        return self.diagnosis.explain(judged, partial(replies_of, own), answer.text)

    def judged(self, answer: UnseenAnswer) -> QuestionResult:
        """Returns an answer's result, but saves time by not naming the mistake."""
        return self._judged(answer, self.executed(answer))

    def executed(self, answer: UnseenAnswer) -> dict[str, Any]:
        """Executes the solution and then the answer; returns the names that they define."""
        own: dict[str, Any] = {"__name__": "unseen"}
        for path, text in (
            ("<solution>", self._exercise.solution.read_text(encoding="utf-8")),
            ("<unseen>", answer.text),
        ):
            exec(compile(text, path, "exec"), own)
        return own

    def _judged(self, answer: UnseenAnswer, own: dict[str, Any]) -> QuestionResult:
        implementation = LocalImplementation(own, answer.text)
        suite = self._exercise.hidden_suite
        (result,) = self._runner.judge(suite, implementation, SEED, only=answer.question)
        return result
