"""What known mistakes answer to the probe: those of the catalogue, and families made of a solution.

The probe's inputs depend on the suite alone, so an answer is found out once and remembered. Chance
is part of some: they are asked several times, each time with other random numbers.
"""

from __future__ import annotations

import copy
import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property, partial
from types import FunctionType, MappingProxyType
from typing import Any

from ...course import Course
from ...records import Exercise
from ...suite.local import LocalImplementation
from ...suite.traits import declarations
from ...suite.variants import Variant, variants_in
from ..judging.suites import SuiteRunner
from .answered import Answered
from .cases import Calls
from .families import Member, hint_of_words, is_of_arguments, members, members_of_another
from .fingerprint import CODE, Fingerprint
from .mistake import Mistake, hint_of
from .probe import Probe, silence
from .table import Table, cache_folder

#: marks, in a table, what a test says of a mistake
_JUDGED = " judged"
#: of a fingerprint, in a table's name
_DIGITS = 32
#: of what can't be executed
_NOTHING = Answered(())
_CODE = re.compile(r"`[^`]*?(\w+)[^\w`]*`")


class KnownMistakes:
    """The mistakes of one exercise, ready to be asked the probe's questions."""

    def __init__(self, runner: SuiteRunner, course: Course, exercise: Exercise) -> None:
        self._runner = runner
        self._exercise = exercise
        self._path = course.variants("misconceptions", exercise)
        self._alternatives = course.variants("alternatives", exercise)
        files = (exercise.hidden_suite, exercise.solution, self._path, self._alternatives)
        self._fingerprint = CODE + Fingerprint.of(files)

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """The entries of the catalogue."""
        return variants_in(self._path)

    @cached_property
    def seed(self) -> int:
        """What the probe's inputs are drawn from: a matter of suite and solution."""
        files = (self._exercise.hidden_suite, self._exercise.solution)
        texts = b"".join(path.read_bytes() for path in files)
        return int.from_bytes(hashlib.sha256(texts).digest()[:6], "big")

    @cache  # noqa: B019 - one of these lives as long as the run
    def catalogue(self, question: str) -> tuple[Mistake, ...]:
        """The catalogue's mistakes of a question."""
        return tuple(
            Mistake(
                question,
                variant.name,
                variant.name,
                hint_of(variant),
                partial(_without_memory, variant.implementation),
                tuple(_CODE.findall(variant.confuses)),
                has_memory=_has_memory(variant.implementation),
            )
            for variant in self.variants
            if variant.question == question
        )

    @cache  # noqa: B019
    def family_members(self, question: str) -> tuple[Mistake, ...]:
        """Mistakes made of the solution and of usual alternatives: one change each."""
        found = [*members(self._exercise.solution, question, self._namespace)]
        found += self._others(question)
        return tuple(
            Mistake(
                question,
                member.name,
                f"{question} {number}",
                hint_of_words(member.words),
                member.change.answer,
                words=member.words,
                detail=member.detail,
                change=member.change,
                is_stochastic=is_of_arguments(member.rank),
                rank=member.rank,
            )
            for number, member in enumerate(found)
        )

    def _others(self, question: str) -> Iterator[Member]:
        """Of usual alternatives."""
        for variant in variants_in(self._alternatives):
            if variant.question == question and variant.is_usual:
                own = sys.modules[variant.implementation.__module__]
                names = {**self._namespace, **vars(own)}
                yield from members_of_another(self._alternatives, variant.name, question, names)

    @cache  # noqa: B019
    def probe(self, question: str) -> Probe:
        """What a question is asked once more."""
        return Probe(self._runner, self._exercise.hidden_suite, question, self.seed)

    @cache  # noqa: B019
    def calls(self, question: str) -> Calls | None:
        """What a question's suite says of its calls, if it does."""
        for traits in declarations(self._exercise.hidden_suite):
            if traits.question == question:
                return Calls(traits, self._namespace[question])
        return None

    @cache  # noqa: B019
    def right(self, question: str, test: str) -> Answered:
        """What the solution answers in a test."""
        probe = self.probe(question)
        replies, _ = probe.ask(self._namespace, test, 0)
        return probe.answered(test, replies)

    def answered(self, mistake: Mistake, test: str, time: int = 0) -> Answered:
        """What a mistake answers in one test when it is asked for the `time`-th time."""
        return self._asked(mistake, test, time)[0]

    def judged(self, mistake: Mistake, test: str, time: int = 0) -> Answered:
        """The same with what is compared of stochastic answers."""
        return self._asked(mistake, test, time, _JUDGED)[0]

    def may_answer_in_that_form(self, mistake: Mistake, test: str, answer: Answered) -> bool:
        """Whether other samples of a mistake may be of the form of an answer."""
        own, random = self._asked(mistake, test, 0)
        return mistake.is_stochastic and (random or own.signature == answer.signature)

    def draws_in(self, mistake: Mistake, test: str) -> bool:
        """Whether a mistake draws random numbers of its own in a test."""
        return mistake.is_stochastic and self._asked(mistake, test, 0)[1]

    def is_stochastic(self, mistake: Mistake, test: str) -> bool:
        """Whether chance is part of what a mistake answers in a test."""
        first, random = self._asked(mistake, test, 0)
        return random or not first.equals(self.answered(mistake, test, 1))

    def table(self, question: str) -> AbstractContextManager[None]:
        """While this is held, what was found out of a question's mistakes is known, and kept.

        One process has it at a time: nothing is found out twice.
        """
        return self._table(question).held()

    def tests(self, question: str) -> Sequence[str]:
        """The names of the tests of a question."""
        return self._runner.tests(self._exercise.hidden_suite, question)

    @cache  # noqa: B019
    def _table(self, question: str) -> Table:
        found = self._fingerprint
        name = f"{self._exercise.name}-{question}-{found.digest[:_DIGITS]}.tsv"
        return Table(cache_folder() / name, found.holds)

    def _asked(
        self, mistake: Mistake, test: str, time: int, kind: str = ""
    ) -> tuple[Answered, bool]:
        key, table = (mistake.key, test + kind, time), self._table(mistake.question)
        found = table.get(key)
        if found is None:
            with silence():  # Python warns of what some changes make of a line
                own = mistake.answer()
            probe = self.probe(mistake.question)
            names = {**self._namespace, mistake.question: own}
            for other in probe.requests if mistake.has_memory else (test,):
                found = _NOTHING, False
                if own is not None:
                    replies, random = probe.ask(names, other, time)
                    found = (probe.judged if kind else probe.answered)(other, replies), random
                table.put((mistake.key, other + kind, time), *found)
            found = table.get(key)
            assert found is not None
        return found

    @cached_property
    def _namespace(self) -> Mapping[str, Any]:
        own = LocalImplementation.from_file(self._exercise.solution).namespace
        return MappingProxyType(dict(own))


def _has_memory(answer: Callable[..., Any]) -> bool:
    """Whether it keeps things from call to call, in its defaults."""
    defaults = getattr(answer, "__defaults__", None) or ()
    return any(isinstance(value, list | dict | set) for value in defaults)


def _without_memory(answer: Callable[..., Any]) -> Callable[..., Any]:
    """A function as it was when it was defined: some keep things in their defaults."""
    if not isinstance(answer, FunctionType):
        return answer
    own = copy.deepcopy(answer.__defaults__)
    other = FunctionType(answer.__code__, answer.__globals__, None, own, answer.__closure__)
    other.__kwdefaults__ = copy.deepcopy(answer.__kwdefaults__)
    return other
