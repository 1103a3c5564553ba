"""What the known mistakes of an exercise answer when they are asked the same as a student's answer.

Chance is part of some: so a mistake can be asked the same any number of times, each time with other
random numbers, which are the same wherever an answer is graded.
"""

from __future__ import annotations

import contextlib
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch

from ...records import Exercise, QuestionResult, TestResult
from ...suite.local import LocalImplementation
from ...suite.variants import Variant, variants_in
from ..judging.recorder import Event, Recorder
from ..judging.suites import SuiteRunner
from ..judging.verdicts import test_result
from .similarity import Kind, kind_of

T = TypeVar("T")

#: of the student's, below what was raised
_LINE_OF_CODE = re.compile(r"\nin \w+: [^\n]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf")


@dataclass(frozen=True)
class Draw:
    """One test of an answer: how it went and what was answered; `random` by chance, surely."""

    test: TestResult
    events: Sequence[Event]
    random: bool = False

    def equals(self, other: Draw) -> bool:
        """Whether both answered alike on every call."""
        return (
            self.test.passed == other.test.passed
            and len(self.events) == len(other.events)
            and all(a.equals(b) for a, b in zip(self.events, other.events, strict=True))
        )

    @cached_property
    def kind(self) -> Kind:
        """What is left of the answers when their figures are taken away."""
        words = _LINE_OF_CODE.sub("", self.test.message)
        return kind_of(_NUMBER.sub("#", words), self.events)


class Mistakes:
    """The misconceptions of one exercise, ready to be asked."""

    def __init__(self, runner: SuiteRunner, exercise: Exercise, path: Path) -> None:
        self._runner = runner
        self._exercise = exercise
        self._path = path
        self._remembered: dict[tuple[str, str, int], Draw] = {}
        self._remembered_for: tuple[str, int] | None = None
        self._steady: dict[tuple[str, str, str], bool] = {}

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """All of them."""
        return variants_in(self._path)

    def judged(self, variant: Variant, seed: int) -> tuple[QuestionResult, Recorder]:
        """A misconception under the hidden suite, as if it were a student's answer."""
        recorder = Recorder(self._answer(variant))
        with _silence():
            (result,) = self._runner.judge(
                self._exercise.hidden_suite, recorder, seed, recorder, variant.question
            )
        return result, recorder

    def draw(self, variant: Variant, test: str, seed: int, time: int = 0) -> Draw:
        """What a misconception answers in one test when it is asked for the so-many-eth time.

        Remembered for one question and seed: several wrong answers in a row may have both in
        common, as they do when content is validated.
        """
        if self._remembered_for != (variant.question, seed):
            self._remembered, self._remembered_for = {}, (variant.question, seed)
        key = (variant.name, test, time)
        if key not in self._remembered:
            self._remembered[key] = self._drawn(variant, test, seed, time)
        return self._remembered[key]

    def is_steady(self, variant: Variant, test: str, seed: int) -> bool:
        """Whether nothing that a misconception answers in a test is chance.

        That is a matter of its code, not of the seed: found out once.
        """
        key = (variant.question, variant.name, test)
        if key not in self._steady:
            own = self.draw(variant, test, seed)
            self._steady[key] = not own.random and own.equals(self.draw(variant, test, seed, 1))
        return self._steady[key]

    def _drawn(self, variant: Variant, test: str, seed: int, time: int) -> Draw:
        question = variant.question
        recorder = _RandomnessRecorder(self._answer(variant))
        recorder.begin_question(question)
        recorder.begin_test(test)
        torch.default_generator.manual_seed(zlib.crc32(f"{seed} {test} {time}".encode()))
        with _silence():
            outcome = self._runner.run_test(
                self._exercise.hidden_suite, question, test, recorder, seed
            )
        events = recorder.by_test[question, test]
        return Draw(test_result(outcome), events, recorder.random)

    def _answer(self, variant: Variant) -> _Answer:
        return _Answer({**self._namespace, variant.question: variant.implementation})

    @cached_property
    def _namespace(self) -> Mapping[str, object]:
        return LocalImplementation.from_file(self._exercise.solution).namespace


class _RandomnessRecorder(Recorder):
    """Notices whether answers, once built, draw random numbers of torch's."""

    random = False

    def note(self, operation: str, ask: Callable[[], T], keep: Callable[[T], Any]) -> T:
        """See `Recorder.note`."""
        before = torch.default_generator.get_state()
        try:
            return super().note(operation, ask, keep)
        finally:
            if not operation.startswith("build"):
                self.random |= not torch.equal(before, torch.default_generator.get_state())


class _Answer(LocalImplementation):
    """A misconception in this process; which operators it uses is no mark of a mistake."""

    def operators(self, name: str, args: Sequence[Any]) -> frozenset[str]:
        return frozenset()


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """What torch says about a mistake is for nobody's eyes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
