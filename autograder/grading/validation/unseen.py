"""Wrong answers that were written from the questions alone: which names they get, all in one go.

A list (`tests/unseen/*.toml`) holds right answers in a student's style, and mistakes as changes of
their text. What was read and found to be a fitting name stands in `read.toml`; a name that nobody
has read is a question to the author.
"""

from __future__ import annotations

import tomllib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...course import Course
from ...errors import ContentError
from ...records import Exercise, QuestionResult
from ...sandbox.batch import Batch
from ...suite.local import LocalImplementation
from ..judging.suites import SuiteRunner
from ..naming.diagnosis import Diagnosis
from ..naming.probe import Replies, replies_of
from .validate import SEED

#: of the lists, one in that many is kept apart: read only after the families were changed
FRESH_SHARE = 4


@dataclass(frozen=True, slots=True)
class Unseen:
    """One wrong answer: what it means to do, in words, and the text that does it."""

    question: str
    means: str
    text: str

    @property
    def is_fresh(self) -> bool:
        """Whether it belongs to those that are kept apart."""
        return zlib.crc32(f"{self.question} {self.means}".encode()) % FRESH_SHARE == 0


def unseen_of(exercise: Exercise, folder: Path) -> Iterator[Unseen]:
    """The wrong answers to an exercise's questions, and the right one of each (`means` is empty).

    A wrong one is a whole text, or a list of replacements in the right one. Raises `ContentError`
    for a change of what a text does not hold.
    """
    path = folder / f"{exercise.assignment}.toml"
    questions = tomllib.loads(path.read_text(encoding="utf-8")).get(exercise.name, {})
    for question, entry in questions.items():
        yield Unseen(question, "", entry["right"])
        for means, wrong in entry["wrong"].items():
            text = wrong if isinstance(wrong, str) else _changed(path, entry["right"], wrong)
            yield Unseen(question, means, text)


def _changed(path: Path, text: str, changes: list[list[str]]) -> str:
    for old, new in changes:
        if old not in text:
            raise ContentError(path, None, f"{old!r} does not stand in the answer", "compare them")
        text = text.replace(old, new)
    return text


def ask_here(text: str, batch: Batch) -> Replies:
    """What a module of our own replies to a batch, in this process."""
    own: dict[str, Any] = {"__name__": "unseen"}
    exec(compile(text, "<entry>", "exec"), own)
    return replies_of(own, batch)


class Namer:
    """Names answers to one exercise in this process: they are our own, and no student's."""

    def __init__(self, runner: SuiteRunner, course: Course, exercise: Exercise) -> None:
        self._runner = runner
        self._exercise = exercise
        self.diagnosis = Diagnosis(runner, course, exercise, ask_here)

    def named(self, answer: Unseen) -> QuestionResult:
        """The result of an answer, with its name where it has one."""
        own = self.executed(answer)
        return self.diagnosis.explain(
            self._judged(answer, own), lambda question, batch: replies_of(own, batch), answer.text
        )

    def judged(self, answer: Unseen) -> QuestionResult:
        """The same without a name, which costs less."""
        return self._judged(answer, self.executed(answer))

    def executed(self, answer: Unseen) -> dict[str, Any]:
        """What its module holds."""
        own: dict[str, Any] = {"__name__": "unseen"}
        for path, text in (
            ("<solution>", self._exercise.solution.read_text(encoding="utf-8")),
            ("<unseen>", answer.text),
        ):
            exec(compile(text, path, "exec"), own)
        return own

    def _judged(self, answer: Unseen, own: dict[str, Any]) -> QuestionResult:
        implementation = LocalImplementation(own, answer.text)
        suite = self._exercise.hidden_suite
        (result,) = self._runner.judge(suite, implementation, SEED, only=answer.question)
        return result
