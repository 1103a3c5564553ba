"""Names the known mistake whose answers a student's equal, on every call of the hidden suite.

The suite's inputs tell right from wrong, and mostly one wrong from another: so each misconception
of the question is asked the same, and the only one that answers alike names the mistake. A
combination of two mistakes answers like neither.
"""

from __future__ import annotations

import contextlib
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch

from ..records import Exercise, QuestionResult, TestResult, Verdict
from ..suite.local import LocalImplementation
from ..suite.variants import Variant, variants_in
from .engine import SuiteRunner
from .likeness import Kind, kind_of, within
from .recorder import Event, Recorder
from .verdicts import test_result

T = TypeVar("T")

_DIAGNOSED = (Verdict.WRONG, Verdict.PARTIAL, Verdict.ERROR)
#: how often a misconception that answers by chance is asked the same: a kind of answer that it
#: gives with probability q is met before with 1 - (1 - q)^n
_DRAWS = 8
#: the same where not the words differ, but one passes the test and the other fails it
_DRAWS_THAT_DECIDE = 3
#: the same before figures are called too far off
_MORE_DRAWS = 40
#: of the student's, below what was raised
_LINE_OF_CODE = re.compile(r"\nin \w+: [^\n]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf")


class Diagnosis:
    """Diagnoses the questions of one exercise."""

    def __init__(self, runner: SuiteRunner, exercise: Exercise, misconceptions: Path) -> None:
        self._runner = runner
        self._exercise = exercise
        self._path = misconceptions
        self._remembered: dict[tuple[str, str, int], _Draw] = {}
        self._remembered_for: tuple[str, int] | None = None
        self._steady: dict[tuple[str, str, str], bool] = {}

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
        variant = next(v for v in self.variants if (v.question, v.name) == (question, name))
        result, recorder = self._judged(variant, seed)
        return self._fitting(result, recorder, seed)

    def named(self, variant: Variant, seed: int) -> str | None:
        """The name that a student's answer would get that is this misconception."""
        result, recorder = self._judged(variant, seed)
        return self.explain(result, recorder, seed).misconception

    def by_chance(self, variant: Variant, seed: int) -> bool:
        """Whether a misconception, asked the same twice, answers differently."""
        result, _ = self._judged(variant, seed)
        tests = [test.name for test in result.tests]
        one, other = ([self._draw(variant, test, seed, n) for test in tests] for n in range(2))
        return not all(a.equals(b) for a, b in zip(one, other, strict=True))

    def _judged(self, variant: Variant, seed: int) -> tuple[QuestionResult, Recorder]:
        recorder = Recorder(self._answer(variant))
        with _silence():
            (result,) = self._runner.judge(
                self._exercise.hidden_suite, recorder, seed, recorder, variant.question
            )
        return result, recorder

    def _fitting(
        self, result: QuestionResult, recorder: Recorder, seed: int
    ) -> tuple[Variant, ...]:
        return tuple(
            variant
            for variant in self.variants
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
        tests = sorted(result.tests, key=lambda test: test.passed)
        draws = [_Draw(test, recorded.get((result.question, test.name), ())) for test in tests]
        by_chance = []
        for draw in draws:
            own = self._draw(variant, draw.test.name, seed)
            if own.equals(draw):
                continue
            if not self._is_of_a_kind(variant, draw, seed):
                return False
            by_chance.append(draw)
        return all(self._is_within(variant, draw, seed) for draw in by_chance)

    def _is_of_a_kind(self, variant: Variant, draw: _Draw, seed: int) -> bool:
        """Whether a misconception answers by chance, and may fail or pass the test like this."""
        test = draw.test.name
        if self._is_steady(variant, test, seed):
            return False
        decided = True
        for time in range(_DRAWS):
            own = self._draw(variant, test, seed, time)
            if own.kind == draw.kind:
                return True
            decided = decided and own.test.passed != draw.test.passed
            if decided and time + 1 == _DRAWS_THAT_DECIDE:
                return False
        return False

    def _is_steady(self, variant: Variant, test: str, seed: int) -> bool:
        """Whether nothing that a misconception answers in a test is chance.

        That is a matter of its code, not of the seed: found out once.
        """
        key = (variant.question, variant.name, test)
        if key not in self._steady:
            own = self._draw(variant, test, seed)
            self._steady[key] = not own.random and own.equals(self._draw(variant, test, seed, 1))
        return self._steady[key]

    def _is_within(self, variant: Variant, draw: _Draw, seed: int) -> bool:
        """Whether the figures of an answer by chance are those of a misconception's."""
        return any(
            within(
                draw.events,
                [self._draw(variant, draw.test.name, seed, n).events for n in range(times)],
            )
            for times in (_DRAWS, _MORE_DRAWS)
        )

    def _draw(self, variant: Variant, test: str, seed: int, time: int = 0) -> _Draw:
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

    def _drawn(self, variant: Variant, test: str, seed: int, time: int) -> _Draw:
        question = variant.question
        recorder = _RandomnessRecorder(self._answer(variant))
        recorder.begin_question(question)
        recorder.begin_test(test)
        # each time other random numbers, and the same ones wherever an answer is graded
        torch.default_generator.manual_seed(zlib.crc32(f"{seed} {test} {time}".encode()))
        with _silence():
            outcome = self._runner.run_test(
                self._exercise.hidden_suite, question, test, recorder, seed
            )
        events = recorder.by_test[question, test]
        return _Draw(test_result(outcome), events, recorder.random)

    def _answer(self, variant: Variant) -> _Answer:
        return _Answer({**self._namespace, variant.question: variant.implementation})

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        return variants_in(self._path)

    @cached_property
    def _namespace(self) -> Mapping[str, object]:
        return LocalImplementation.from_file(self._exercise.solution).namespace


@dataclass(frozen=True)
class _Draw:
    """One test of an answer: how it went and what was answered; `random` by chance, surely."""

    test: TestResult
    events: Sequence[Event]
    random: bool = False

    def equals(self, other: _Draw) -> bool:
        """Whether both answered alike on every call."""
        return self.test.passed == other.test.passed and _equal(self.events, other.events)

    @cached_property
    def kind(self) -> Kind:
        words = _LINE_OF_CODE.sub("", self.test.message)
        return kind_of(_NUMBER.sub("#", words), self.events)


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


def hint_of(variant: Variant) -> str:
    """What a student reads: what seems to be confused, and a question that leads on."""
    return f"It looks like this mistake: {variant.confuses}. {variant.hint}".replace("..", ".")


def _equal(one: Sequence[Event], other: Sequence[Event]) -> bool:
    return len(one) == len(other) and all(a.equals(b) for a, b in zip(one, other, strict=True))
