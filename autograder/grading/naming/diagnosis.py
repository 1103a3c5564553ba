"""Names the one known mistake that explains a wrong answer.

A wrong question is asked once more, with inputs that depend on the suite alone (the probe). What
each known mistake answers to the same is known; the one that answers alike on every call gives
its name. Where none of the catalogue does, a family may: changes of the solution, one at a time.
Where none does, two of these together may, or one that explains most of what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...course import Course
from ...records import Exercise, QuestionResult, Verdict
from ...sandbox.batch import Batch
from ...suite.variants import Variant
from ..judging.suites import SuiteRunner
from .answered import Answered, behaviour_of
from .fitting import Answers, Fitting, Found
from .known import KnownMistakes, Mistake
from .probe import Asked, Replies

#: asks a question's worker all of a batch; None where that ends it
Ask = Callable[[str, Batch], Replies | None]

_DIAGNOSED = (Verdict.WRONG, Verdict.PARTIAL, Verdict.ERROR)


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


class Diagnosis:
    """Diagnoses the questions of one exercise; equal answers once."""

    def __init__(self, runner: SuiteRunner, course: Course, exercise: Exercise) -> None:
        self._exercise = exercise
        self._known = KnownMistakes(runner, course, exercise)
        self._search = Fitting(self._known)
        self._diagnosed: dict[tuple[str, bytes], tuple[Found, str]] = {}

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
            found = self._search.fitting(question, self._known.catalogue(question), own)
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

    def _name(self, found: Found, text: str | None = None) -> tuple[str | None, str | None]:
        """Name and hint: of one entry of the catalogue, else of one family."""
        spoken_of = [m for m in found.catalogue if text is None or m.is_spoken_of_in(text)]
        rank = min((m.rank for m in found.members), default=0)
        mistakes = spoken_of or [m for m in found.members if m.rank == rank]
        names, hints = {mistake.name for mistake in mistakes}, {m.hint for m in mistakes}
        name = f"{self._exercise.name}.{names.pop()}" if len(names) == 1 else None
        return name, f"{hints.pop()}{found.note}" if len(hints) == 1 else None

    def _explaining(self, question: str, answers: Answers) -> Found:
        """The mistakes that explain answers; families where the catalogue may have none."""
        known, catalogue = self._known, self._known.catalogue(question)
        pairs = [(answers.answered(t), known.right(question, t)) for t in known.tests(question)]
        found = self._search.fitting(question, catalogue, answers)
        if all(answer.equals(right) for answer, right in pairs):
            return Found([m for m in found if self._search.fails_alike(m, answers)])
        wrong = (answer.has_another_value_than(right) for answer, right in pairs)
        if not all(mistake.code for mistake in found):
            return Found(found)
        if not any(wrong):
            return Found(found, [] if found else self._search.of_sizes(question, answers))
        members = self._search.fitting(question, known.family_members(question), answers)
        if found or members:
            return Found(found, members)
        return self._search.most(question, catalogue, known.family_members(question), answers)
