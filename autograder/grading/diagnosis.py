"""Names the known mistake whose answers a student's equal, on every call of the hidden suite.

The suite's inputs tell right from wrong, and mostly one wrong from another: so each misconception
of the question is asked the same, and the only one that answers alike names the mistake. A
combination of two mistakes answers like neither.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from ..records import Exercise, QuestionResult, TestResult, Verdict
from ..suite.local import LocalImplementation
from ..suite.variants import Variant, variants_in
from .engine import SuiteRunner
from .recorder import Event, Recorder
from .verdicts import TestOutcome, test_result

#: how a test went, and what was answered in it
_Recorded = tuple[TestOutcome, Sequence[Event]]
_DIAGNOSED = (Verdict.WRONG, Verdict.PARTIAL, Verdict.ERROR)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf")


class Diagnosis:
    """Diagnoses the questions of one exercise."""

    def __init__(self, runner: SuiteRunner, exercise: Exercise, misconceptions: Path) -> None:
        self._runner = runner
        self._exercise = exercise
        self._path = misconceptions
        self._remembered: dict[tuple[str, str, int], _Recorded] = {}
        self._remembered_for: tuple[str, int] | None = None

    def explain(self, result: QuestionResult, recorder: Recorder, seed: int) -> QuestionResult:
        """The result with the one known mistake that fits what was recorded, if it is one."""
        if result.verdict not in _DIAGNOSED:
            return result
        found = self._fitting(result, recorder, seed)
        if len(found) == 1:
            name = f"{self._exercise.name}.{found[0].name}"
            return replace(result, misconception=name, hint=hint_of(found[0]))
        hints = {variant.hint for variant in found}
        return replace(result, hint=hints.pop()) if len(hints) == 1 else result

    def alike(self, question: str, name: str, seed: int) -> tuple[Variant, ...]:
        """The misconceptions whose answers equal those of the one of that name, itself included."""
        variant = next(v for v in self._variants if (v.question, v.name) == (question, name))
        recorder = Recorder(self._answer(variant))
        with _silence():
            (result,) = self._runner.judge(
                self._exercise.hidden_suite, recorder, seed, recorder, question
            )
        return self._fitting(result, recorder, seed)

    def _fitting(
        self, result: QuestionResult, recorder: Recorder, seed: int
    ) -> tuple[Variant, ...]:
        return tuple(
            variant
            for variant in self._variants
            if variant.question == result.question
            and self._fits(variant, result, recorder.by_test, seed)
        )

    def _fits(
        self,
        variant: Variant,
        result: QuestionResult,
        recorded: Mapping[tuple[str, str], Sequence[Event]],
        seed: int,
    ) -> bool:
        # failed tests first: most misconceptions part there
        for test in sorted(result.tests, key=lambda test: test.passed):
            events = recorded.get((result.question, test.name), ())
            if not self._answers_alike(variant, test, events, seed):
                return False
        return True

    def _answers_alike(
        self,
        variant: Variant,
        test: TestResult,
        events: Sequence[Event],
        seed: int,
    ) -> bool:
        outcome, own = self._recorded(variant, test.name, seed)
        if (outcome.failure is None) != test.passed:
            return False
        if _equal(own, events):
            return True
        _, again = self._recorded(variant, test.name, seed, time=2)
        if _equal(own, again):
            return False
        # it answers by chance: then the way in which the test fails must do
        return _without_numbers(test_result(outcome).message) == _without_numbers(test.message)

    def _recorded(self, variant: Variant, test: str, seed: int, time: int = 1) -> _Recorded:
        """What a misconception answers in one test; `time` 2 asks it once more.

        Remembered for one question and seed: several wrong answers in a row may have both in
        common, as they do when content is validated.
        """
        if self._remembered_for != (variant.question, seed):
            self._remembered, self._remembered_for = {}, (variant.question, seed)
        key = (variant.name, test, time)
        if key not in self._remembered:
            self._remembered[key] = self._record(variant, test, seed)
        return self._remembered[key]

    def _record(self, variant: Variant, test: str, seed: int) -> _Recorded:
        question = variant.question
        recorder = Recorder(self._answer(variant))
        recorder.begin_question(question)
        recorder.begin_test(test)
        with _silence():
            outcome = self._runner.run_test(
                self._exercise.hidden_suite, question, test, recorder, seed
            )
        return outcome, recorder.by_test[question, test]

    def _answer(self, variant: Variant) -> _Answer:
        return _Answer({**self._namespace, variant.question: variant.implementation})

    @cached_property
    def _variants(self) -> tuple[Variant, ...]:
        return variants_in(self._path)

    @cached_property
    def _namespace(self) -> Mapping[str, object]:
        # chance must differ between runs, or a random answer would look like a fixed one
        torch.seed()
        return LocalImplementation.from_file(self._exercise.solution).namespace


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


def hint_of(variant: Variant) -> str:
    """What a student reads: what seems to be confused, and a question that leads on."""
    return f"It looks like this mistake: {variant.confuses}. {variant.hint}".replace("..", ".")


def _equal(one: Sequence[Event], other: Sequence[Event]) -> bool:
    return len(one) == len(other) and all(a.equals(b) for a, b in zip(one, other, strict=True))


def _without_numbers(message: str) -> str:
    return _NUMBER.sub("#", message)
