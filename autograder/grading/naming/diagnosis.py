"""Names the one known mistake that explains a wrong answer.

A wrong question is asked once more, with inputs that depend on the suite alone (the probe). What
each known mistake answers to the same is known; the one that answers alike on every call gives
its name. Where none of the catalogue does, a family may: changes of the solution, one at a time.
A combination of two mistakes answers like neither.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...records import Exercise, QuestionResult, Verdict
from ...suite.variants import Variant
from ..judging.recorder import Recorder
from ..judging.suites import SuiteRunner
from .answered import Answered, answered, behaviour_of
from .known import KnownMistakes, Mistake

#: judges a question once more, with inputs drawn from a seed
Ask = Callable[[str, int], tuple[QuestionResult, Recorder]]
#: what was answered in each test
Answers = Mapping[str, Answered]

_DIAGNOSED = (Verdict.WRONG, Verdict.PARTIAL, Verdict.ERROR)
#: how often a misconception that answers by chance is asked the same: a kind of answer that it
#: gives with probability q is met before with 1 - (1 - q)^n
_DRAWS = 8
#: for finding out what mistakes answer that no table holds yet, for one answer
_CPU_SECONDS = 8.0
#: the same before figures are called too far off
_MORE_DRAWS = 40


class Diagnosis:
    """Diagnoses the questions of one exercise."""

    def __init__(self, runner: SuiteRunner, exercise: Exercise, misconceptions: Path) -> None:
        self._exercise = exercise
        self._known = KnownMistakes(runner, exercise, misconceptions)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The misconceptions that can be named."""
        return self._known.variants

    def explain(self, result: QuestionResult, ask: Ask, text: str) -> QuestionResult:
        """The result with the name of the mistake that fits, if there is one, and its behaviour.

        `text` is the module that answers: what a name says of its code must be there.
        """
        if result.verdict not in _DIAGNOSED:
            return result
        probed, recorder = ask(result.question, self._known.seed)
        answers = {
            test.name: answered(test, recorder.by_test.get((result.question, test.name), ()))
            for test in probed.tests
        }
        name, hint = self._name(result.question, answers, text)
        self._known.save()
        behaviour = behaviour_of(answers)
        return replace(result, misconception=name, hint=hint, behaviour=behaviour)

    def alike(self, question: str, name: str) -> tuple[tuple[str, ...], bool]:
        """Names of the misconceptions that answer as this one does; whether all share a hint."""
        answers = self._answers(self._mistake(question, name), 0)
        found = self._fitting(self._known.catalogue(question), answers)
        return tuple(m.name for m in found), len({m.hint for m in found}) == 1

    def named(self, variant: Variant, draw: int = 0) -> str | None:
        """The name that this misconception gets, as its `draw`-th draw."""
        mistake = self._mistake(variant.question, variant.name)
        return self._name(variant.question, self._answers(mistake, draw))[0]

    def by_chance(self, variant: Variant) -> bool:
        """Whether a misconception, asked the same twice, answers differently."""
        mistake = self._mistake(variant.question, variant.name)
        tests = self._known.tests(variant.question)
        return any(self._known.is_by_chance(mistake, test) for test in tests)

    def _mistake(self, question: str, name: str) -> Mistake:
        return next(m for m in self._known.catalogue(question) if m.name == name)

    def _answers(self, mistake: Mistake, draw: int) -> Answers:
        tests = self._known.tests(mistake.question)
        return {test: self._known.answered(mistake, test, draw) for test in tests}

    def _name(
        self, question: str, answers: Answers, text: str | None = None
    ) -> tuple[str | None, str | None]:
        """Name and hint: of one entry of the catalogue, else of one family."""
        if all(answer.passed for answer in answers.values()):
            return None, None
        found = self._fitting(self._known.catalogue(question), answers)
        if text is not None:
            found = [m for m in found if not m.code or any(word in text for word in m.code)]
        if not found and _holds_a_value(answers):
            members = self._fitting(self._known.family_members(question), answers)
            found = [m for m in members if m.is_known_step] or members
        names, hints = {mistake.name for mistake in found}, {mistake.hint for mistake in found}
        name = f"{self._exercise.name}.{names.pop()}" if len(names) == 1 else None
        return name, hints.pop() if len(hints) == 1 else None

    def _fitting(self, mistakes: Sequence[Mistake], answers: Answers) -> Sequence[Mistake]:
        """The mistakes that answer alike; where none does, but for edges handled right."""
        return self._found(mistakes, answers, False) or self._found(mistakes, answers, True)

    def _found(
        self, mistakes: Iterable[Mistake], answers: Answers, edges: bool
    ) -> Sequence[Mistake]:
        # failed tests first: most mistakes part there
        tests = sorted(answers, key=lambda test: answers[test].passed)
        found, start = [], time.process_time()
        for mistake in mistakes:
            if time.process_time() - start > _CPU_SECONDS:
                return ()  # what was found out so far is kept for the next answer
            if all(self._fits(mistake, test, answers[test], edges) for test in tests):
                found.append(mistake)
        return found

    def _fits(self, mistake: Mistake, test: str, answer: Answered, edges: bool) -> bool:
        own = self._known.answered(mistake, test)
        if own.equals(answer):
            return True
        if edges and answer.passed and own.differs_in_errors_only(answer):
            return True  # an edge that the student handles right, and the mistake as written not
        return mistake.by_chance and self._may_be_a_draw(mistake, test, answer)

    def _may_be_a_draw(self, mistake: Mistake, test: str, answer: Answered) -> bool:
        """Whether a mistake that answers by chance may have given this answer."""
        if not self._known.is_by_chance(mistake, test):
            return False
        for times in (_DRAWS, _MORE_DRAWS):
            draws = [self._known.answered(mistake, test, n) for n in range(times)]
            if all(draw.kind != answer.kind for draw in draws):
                return False
            if answer.is_among(draws):
                return True
        return False


def _holds_a_value(answers: Answers) -> bool:
    """Whether something came that is wrong: errors alone say little of what was meant."""
    return any(
        call.form and not call.raised
        for answer in answers.values()
        if not answer.passed
        for call in answer.calls
    )
