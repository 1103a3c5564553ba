"""Names the one known mistake that explains a wrong answer.

A wrong question is asked once more, with inputs that depend on the suite alone (the probe). What
each known mistake answers to the same is known; the one that answers alike on every call gives
its name. Where none of the catalogue does, a family may: changes of the solution, one at a time.
Where none does, two of these together may, or one that explains most of what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...course import Course
from ...records import Exercise, QuestionResult, Verdict
from ...sandbox.batch import Batch
from ...suite.variants import Variant
from ..judging.suites import SuiteRunner
from .answered import Answered, behaviour_of
from .answers import Answers
from .by_itself import by_itself
from .fitting import Fitting, Found
from .known import KnownMistakes
from .mistake import Mistake
from .probe import Asked, Replies

#: asks a question's worker all of a batch; None where that ends it
Ask = Callable[[str, Batch], Replies | None]

_DIAGNOSED = (Verdict.WRONG, Verdict.PARTIAL, Verdict.ERROR)


@dataclass(frozen=True, slots=True)
class _Sample:
    """What a known mistake answers when it is asked for the `time`-th time."""

    known: KnownMistakes
    mistake: Mistake
    time: int

    def answered(self, test: str) -> Answered:
        return self.known.answered(self.mistake, test, self.time)

    def judged(self, test: str) -> Answered:
        return self.known.judged(self.mistake, test, self.time)

    def errors(self, test: str) -> Sequence[str]:
        return ()


@dataclass(slots=True)
class _Diagnosed:
    """What explains an answer: entries of the catalogue, and what else, where that was asked."""

    behaviour: str
    entries: Sequence[Mistake]
    others: Found | None = None


class Diagnosis:
    """Diagnoses the questions of one exercise; equal answers once."""

    def __init__(self, runner: SuiteRunner, course: Course, exercise: Exercise) -> None:
        self._exercise = exercise
        self._known = KnownMistakes(runner, course, exercise)
        self._search = Fitting(self._known)
        self._diagnosed: dict[tuple[str, bytes], _Diagnosed] = {}

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
            tests = {test: asked.answered(test) for test in probe.requests}
            entries = self._entries(result.question, asked)
            self._diagnosed[key] = _Diagnosed(behaviour_of(tests), entries)
        known = self._diagnosed[key]
        found = Found([m for m in known.entries if m.is_spoken_of_in(text)])
        if not found.catalogue:
            known.others = known.others or self._others(result.question, asked, known.entries)
            found = known.others
        name, hint = self._name(found)
        return replace(result, misconception=name, hint=hint, behaviour=known.behaviour)

    def alike(self, question: str, name: str) -> tuple[tuple[str, ...], bool]:
        """Names of the misconceptions that answer as this one does; whether all share a hint."""
        with self._known.table(question):
            own = _Sample(self._known, self._mistake(question, name), 0)
            found = self._search.fitting(question, self._known.catalogue(question), own)
        return tuple(m.name for m in found), len({m.hint for m in found}) == 1

    def named(self, variant: Variant, time: int = 0) -> str | None:
        """The name that this misconception gets, asked for the `time`-th time."""
        own = _Sample(self._known, self._mistake(variant.question, variant.name), time)
        entries = self._entries(variant.question, own)
        found = Found(entries) if entries else self._others(variant.question, own, entries)
        return self._name(found)[0]

    def is_stochastic(self, variant: Variant) -> bool:
        """Whether a misconception draws random numbers when it answers."""
        mistake = self._mistake(variant.question, variant.name)
        with self._known.table(variant.question):
            tests = self._known.tests(variant.question)
            return any(self._known.is_stochastic(mistake, test) for test in tests)

    def _mistake(self, question: str, name: str) -> Mistake:
        return next(m for m in self._known.catalogue(question) if m.name == name)

    def _name(self, found: Found) -> tuple[str | None, str | None]:
        """Name and hint: of one entry of the catalogue, else of one family."""
        rank = min((m.rank for m in found.members), default=0)
        mistakes = found.catalogue or [m for m in found.members if m.rank == rank]
        names, hints = {mistake.name for mistake in mistakes}, {m.hint for m in mistakes}
        if len(hints) == 1:  # what one says of itself is true of all that answer alike
            hints = {next((m.precise for m in mistakes if m.detail()), *hints)}
        name = f"{self._exercise.name}.{names.pop()}" if len(names) == 1 else None
        return name, f"{hints.pop()}{found.note}" if len(hints) == 1 else None

    def _entries(self, question: str, answers: Answers) -> Sequence[Mistake]:
        """The entries of the catalogue that explain answers."""
        with self._known.table(question):
            found = self._search.fitting(question, self._known.catalogue(question), answers)
            if not self._is_hardly_wrong(question, answers):
                return found
            return [m for m in found if self._search.fails_alike(m, answers)]

    def _others(self, question: str, answers: Answers, entries: Sequence[Mistake]) -> Found:
        """What else explains answers: families, what is most of it, what they show by themselves.

        It is looked for where no entry is told: code has to have the words that an entry speaks of.
        """
        known, search = self._known, self._search
        pairs = [(answers.answered(t), known.right(question, t)) for t in known.tests(question)]
        with known.table(question):
            if self._is_hardly_wrong(question, answers):
                return Found([])
            if any(answer.has_another_value_than(right) for answer, right in pairs):
                members = search.fitting(question, known.family_members(question), answers)
                return Found([], members) if entries or members else search.most(question, answers)
            found = search.of_sizes(question, answers) or by_itself(known, question, answers)
            return Found([], [] if entries else found)

    def _is_hardly_wrong(self, question: str, answers: Answers) -> bool:
        """Whether the probe finds nothing wrong: tests do, by what they look at besides."""
        known = self._known
        return all(
            answers.answered(test).equals(known.right(question, test))
            for test in known.tests(question)
        )
