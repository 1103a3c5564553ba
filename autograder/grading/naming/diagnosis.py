"""Names the known mistake whose answers a student's equal, on every call of the hidden suite.

The suite's inputs tell right from wrong, and mostly one wrong from another: so each misconception
of the question is asked the same, and the only one that answers alike names the mistake. A
combination of two mistakes answers like neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...records import Exercise, QuestionResult, Verdict
from ...suite.variants import Variant
from ..judging.recorder import Event, Recorder
from ..judging.suites import SuiteRunner
from .samples import Draw, Mistakes
from .similarity import within

_DIAGNOSED = (Verdict.WRONG, Verdict.PARTIAL, Verdict.ERROR)
#: how often a misconception that answers by chance is asked the same: a kind of answer that it
#: gives with probability q is met before with 1 - (1 - q)^n
_DRAWS = 8
#: the same where not the words differ, but one passes the test and the other fails it
_DRAWS_THAT_DECIDE = 3
#: the same before figures are called too far off
_MORE_DRAWS = 40


class Diagnosis:
    """Diagnoses the questions of one exercise."""

    def __init__(self, runner: SuiteRunner, exercise: Exercise, misconceptions: Path) -> None:
        self._exercise = exercise
        self._mistakes = Mistakes(runner, exercise, misconceptions)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The misconceptions that can be named."""
        return self._mistakes.variants

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
        result, recorder = self._mistakes.judged(variant, seed)
        return self._fitting(result, recorder, seed)

    def named(self, variant: Variant, seed: int) -> str | None:
        """The name that a student's answer would get that is this misconception."""
        result, recorder = self._mistakes.judged(variant, seed)
        return self.explain(result, recorder, seed).misconception

    def by_chance(self, variant: Variant, seed: int) -> bool:
        """Whether a misconception, asked the same twice, answers differently."""
        result, _ = self._mistakes.judged(variant, seed)
        tests = [test.name for test in result.tests]
        one, other = (
            [self._mistakes.draw(variant, test, seed, n) for test in tests] for n in range(2)
        )
        return not all(a.equals(b) for a, b in zip(one, other, strict=True))

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
        draws = [Draw(test, recorded.get((result.question, test.name), ())) for test in tests]
        by_chance = []
        for draw in draws:
            own = self._mistakes.draw(variant, draw.test.name, seed)
            if own.equals(draw):
                continue
            if not self._is_of_a_kind(variant, draw, seed):
                return False
            by_chance.append(draw)
        return all(self._is_within(variant, draw, seed) for draw in by_chance)

    def _is_of_a_kind(self, variant: Variant, draw: Draw, seed: int) -> bool:
        """Whether a misconception answers by chance, and may fail or pass the test like this."""
        test = draw.test.name
        if self._mistakes.is_steady(variant, test, seed):
            return False
        decided = True
        for time in range(_DRAWS):
            own = self._mistakes.draw(variant, test, seed, time)
            if own.kind == draw.kind:
                return True
            decided = decided and own.test.passed != draw.test.passed
            if decided and time + 1 == _DRAWS_THAT_DECIDE:
                return False
        return False

    def _is_within(self, variant: Variant, draw: Draw, seed: int) -> bool:
        """Whether the figures of an answer by chance are those of a misconception's."""
        return any(
            within(
                draw.events,
                [
                    self._mistakes.draw(variant, draw.test.name, seed, n).events
                    for n in range(times)
                ],
            )
            for times in (_DRAWS, _MORE_DRAWS)
        )


def hint_of(variant: Variant) -> str:
    """What a student reads: what seems to be confused, and a question that leads on."""
    return f"It looks like this mistake: {variant.confuses}. {variant.hint}".replace("..", ".")
