"""Names the one known mistake that explains a wrong answer.

A wrong question is asked once more, with inputs that depend on the suite alone (the probe). What
each known mistake answers to the same is known; the one that answers alike on every call gives
its name. Where none of the catalogue does, a family may: changes of the solution, one at a time.
A combination of two mistakes answers like neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ...course import Course
from ...records import Exercise, QuestionResult, Verdict
from ...sandbox.batch import Batch
from ...suite.variants import Variant
from ..judging.suites import SuiteRunner
from .answered import Answered, behaviour_of
from .families import OF_SIZES, is_small
from .known import KnownMistakes, Mistake
from .probe import Asked, Replies

#: asks a question's worker all of a batch; None where that ends it
Ask = Callable[[str, Batch], Replies | None]

_DIAGNOSED = (Verdict.WRONG, Verdict.PARTIAL, Verdict.ERROR)
#: how often a stochastic misconception is asked the same: a kind of answer that it
#: gives with probability q is met before with 1 - (1 - q)^n
_DRAWS = 8
#: the same before figures are called too far off
_MORE_DRAWS = 40


class Answers(Protocol):
    """What was answered in each test; `judged` with what is compared of stochastic answers."""

    def answered(self, test: str) -> Answered:
        """The record of one test."""

    def judged(self, test: str) -> Answered:
        """The same with what the test says, and shares."""


@dataclass(frozen=True, slots=True)
class _Draw:
    """What a known mistake answers when it is asked for the `time`-th time."""

    known: KnownMistakes
    mistake: Mistake
    time: int

    def answered(self, test: str) -> Answered:
        return self.known.answered(self.mistake, test, self.time)

    def judged(self, test: str) -> Answered:
        return self.known.judged(self.mistake, test, self.time)


@dataclass(frozen=True, slots=True)
class _Found:
    """The mistakes that explain an answer, whatever its code says."""

    catalogue: Sequence[Mistake]
    members: Sequence[Mistake]


class Diagnosis:
    """Diagnoses the questions of one exercise; equal answers once."""

    def __init__(self, runner: SuiteRunner, course: Course, exercise: Exercise) -> None:
        self._exercise = exercise
        self._known = KnownMistakes(runner, course, exercise)
        self._diagnosed: dict[tuple[str, bytes], tuple[_Found, str]] = {}

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
        probe = self._known.probe(result.question)
        replies = ask(result.question, probe.batch)
        if replies is None:
            return result
        asked = Asked(probe, replies)
        key = result.question, asked.digest
        if key not in self._diagnosed:
            with self._known.table(result.question):
                found = self._explaining(result.question, asked)
            tests = {test: asked.answered(test) for test in probe.requests}
            self._diagnosed[key] = found, behaviour_of(tests)
        found, behaviour = self._diagnosed[key]
        name, hint = self._name(found, text)
        return replace(result, misconception=name, hint=hint, behaviour=behaviour)

    def alike(self, question: str, name: str) -> tuple[tuple[str, ...], bool]:
        """Names of the misconceptions that answer as this one does; whether all share a hint."""
        with self._known.table(question):
            own = _Draw(self._known, self._mistake(question, name), 0)
            found = self._fitting(question, self._known.catalogue(question), own)
        return tuple(m.name for m in found), len({m.hint for m in found}) == 1

    def named(self, variant: Variant, draw: int = 0) -> str | None:
        """The name that this misconception gets, as its `draw`-th draw."""
        with self._known.table(variant.question):
            own = _Draw(self._known, self._mistake(variant.question, variant.name), draw)
            return self._name(self._explaining(variant.question, own))[0]

    def by_chance(self, variant: Variant) -> bool:
        """Whether a misconception draws random numbers when it answers."""
        mistake = self._mistake(variant.question, variant.name)
        with self._known.table(variant.question):
            tests = self._known.tests(variant.question)
            return any(self._known.is_by_chance(mistake, test) for test in tests)

    def _mistake(self, question: str, name: str) -> Mistake:
        return next(m for m in self._known.catalogue(question) if m.name == name)

    def _name(self, found: _Found, text: str | None = None) -> tuple[str | None, str | None]:
        """Name and hint: of one entry of the catalogue, else of one family."""
        spoken_of = [m for m in found.catalogue if text is None or m.is_spoken_of_in(text)]
        rank = min((m.rank for m in found.members), default=0)
        mistakes = spoken_of or [m for m in found.members if m.rank == rank]
        names, hints = {mistake.name for mistake in mistakes}, {m.hint for m in mistakes}
        name = f"{self._exercise.name}.{names.pop()}" if len(names) == 1 else None
        return name, hints.pop() if len(hints) == 1 else None

    def _explaining(self, question: str, answers: Answers) -> _Found:
        """The mistakes that explain answers; families where the catalogue may have none."""
        known, catalogue = self._known, self._known.catalogue(question)
        pairs = [(answers.answered(t), known.right(question, t)) for t in known.tests(question)]
        found = self._fitting(question, catalogue, answers)
        if all(answer.equals(right) for answer, right in pairs):
            return _Found([m for m in found if self._fails_alike(m, answers)], [])
        wrong = (answer.has_another_value_than(right) for answer, right in pairs)
        if not all(mistake.code for mistake in found):
            return _Found(found, [])
        if not any(wrong):
            return _Found(found, [] if found else self._of_sizes(question, answers))
        members = self._fitting(question, known.family_members(question), answers)
        if found or members:
            return _Found(found, members)
        most = [
            [m for m in mistakes if self._explains_most(m, answers)]
            for mistakes in (catalogue, known.family_members(question))
        ]
        return _Found(*most)

    def _of_sizes(self, question: str, answers: Answers) -> list[Mistake]:
        """Sizes that explain errors alone, where nothing else does and some calls are right."""
        known = self._known
        tests = known.tests(question)
        if not any(answers.answered(t).is_partly_right(known.right(question, t)) for t in tests):
            return []
        members = known.family_members(question)
        found = [m for m in members if all(self._equals(m, t, answers, False) for t in tests)]
        sizes = [mistake for mistake in found if mistake.name == OF_SIZES]
        return sizes if all(is_small(mistake.rank) for mistake in found) else []

    def _fails_alike(self, mistake: Mistake, answers: Answers) -> bool:
        """Whether tests say the same of a mistake and an answer that is hardly wrong."""
        return all(
            self._known.judged(mistake, test).words == answers.judged(test).words
            for test in self._known.tests(mistake.question)
        )

    def _fitting(
        self, question: str, mistakes: Sequence[Mistake], answers: Answers
    ) -> list[Mistake]:
        """The mistakes that answer alike; where none does, by chance, or but for edges."""
        right = {
            test: answers.answered(test).equals(self._known.right(question, test))
            for test in self._known.tests(question)
        }
        # wrong tests first: most mistakes part there
        tests = sorted(right, key=lambda test: right[test])
        by_chance = [m for m in mistakes if m.by_chance]
        return (
            [m for m in mistakes if all(self._equals(m, t, answers, False) for t in tests)]
            or [m for m in by_chance if all(self._fits(m, t, answers, False) for t in tests)]
            or self._closest(tests, mistakes, answers)
        )

    def _closest(
        self, tests: Sequence[str], mistakes: Sequence[Mistake], answers: Answers
    ) -> list[Mistake]:
        """Of those that answer alike but for edges, those that do so in the most calls."""
        fitting = [m for m in mistakes if all(self._fits(m, t, answers, True) for t in tests)]
        calls = [self._alike_calls(mistake, tests, answers) for mistake in fitting]
        return [m for m, alike in zip(fitting, calls, strict=True) if 0 < alike == max(calls)]

    def _alike_calls(self, mistake: Mistake, tests: Sequence[str], answers: Answers) -> int:
        """In how many calls a mistake answers alike; 0 where no wrong value says that it does."""
        known = self._known
        pairs = {test: (known.answered(mistake, test), answers.answered(test)) for test in tests}
        if any(
            known.is_by_chance(mistake, test)
            or own.shares_a_mistake_with(answer, known.right(mistake.question, test))
            for test, (own, answer) in pairs.items()
        ):
            return sum(own.alike_calls(answer) for own, answer in pairs.values())
        return 0

    def _explains_most(self, mistake: Mistake, answers: Answers) -> bool:
        """Whether a mistake explains all wrong values, and more than the errors that are left."""
        explained = left = 0
        for test in self._known.tests(mistake.question):
            own, right = (
                self._known.answered(mistake, test),
                self._known.right(mistake.question, test),
            )
            found = answers.answered(test).explained_by(own, right)
            if found is None:
                return False
            explained, left = explained + found[0], left + found[1]
        return explained > left

    def _equals(self, mistake: Mistake, test: str, answers: Answers, edges: bool) -> bool:
        """Whether a mistake answers so; with `edges`, but for errors."""
        own, answer = self._known.answered(mistake, test), answers.answered(test)
        right = self._known.right(mistake.question, test)
        return own.equals(answer) or (edges and own.is_alike_but_for_edges(answer, right))

    def _fits(self, mistake: Mistake, test: str, answers: Answers, edges: bool) -> bool:
        """Whether a mistake answers so, or may, where it answers by chance."""
        return self._equals(mistake, test, answers, edges) or (
            self._known.may_answer_in_that_form(mistake, test, answers.answered(test))
            and self._known.is_by_chance(mistake, test)
            and self._may_be_a_draw(mistake, test, answers.judged(test))
        )

    def _may_be_a_draw(self, mistake: Mistake, test: str, answer: Answered) -> bool:
        """Whether a stochastic mistake may have given this answer."""
        for times in (_DRAWS, _MORE_DRAWS):
            draws = [self._known.judged(mistake, test, n) for n in range(times)]
            if all(draw.kind != answer.kind for draw in draws):
                return False
            if answer.is_among(draws):
                return True
        return False
