"""What known mistakes answer to the probe: those of the catalogue, and families made of a solution.

The probe's inputs depend on the suite alone, so an answer is found out once and remembered. Chance
is part of some: they are asked several times, each time with other random numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import torch

from ...records import Exercise
from ...suite.local import LocalImplementation
from ...suite.variants import Variant, variants_in
from ..judging.recorder import Recorder
from ..judging.suites import SuiteRunner
from ..judging.verdicts import test_result
from .answered import Answered, answered
from .families import members
from .table import Table, cache_folder

T = TypeVar("T")

_CODE = re.compile(r"`[^`]*?(\w+)[^\w`]*`")


@dataclass(frozen=True, slots=True, eq=False)
class Mistake:
    """A mistake that can be asked: its name, what a student reads, and what answers.

    `code` are the words of code that it speaks of: an answer without them is another mistake. With
    `by_chance` it may have random numbers of its own. A change of a known step is worth more than
    one that any code may have.
    """

    question: str
    name: str
    key: str
    hint: str
    answer: Callable[..., Any]
    code: tuple[str, ...] = ()
    by_chance: bool = True
    is_known_step: bool = True


class KnownMistakes:
    """The mistakes of one exercise, ready to be asked the probe's questions."""

    def __init__(self, runner: SuiteRunner, exercise: Exercise, catalogue: Path) -> None:
        self._runner = runner
        self._exercise = exercise
        self._path = catalogue
        self._table = Table(cache_folder() / f"{exercise.name}-{self._digest()}.jsonl")

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

    def _digest(self) -> str:
        """Of all that an answer in the table depends on."""
        package = Path(__file__).resolve().parents[2]
        files = [self._exercise.hidden_suite, self._exercise.solution, self._path]
        for folder in ("suite", "grading", "worker", "parts"):
            files += sorted((package / folder).rglob("*.py"))
        texts = (path.read_bytes() for path in files if path.is_file())
        return hashlib.sha256(b"\0".join(texts)).hexdigest()[:32]

    @cache  # noqa: B019 - one of these lives as long as the run
    def catalogue(self, question: str) -> tuple[Mistake, ...]:
        """The catalogue's mistakes of a question."""
        return tuple(
            Mistake(
                question,
                variant.name,
                variant.name,
                hint_of(variant),
                variant.implementation,
                tuple(_CODE.findall(variant.confuses)),
            )
            for variant in self.variants
            if variant.question == question
        )

    @cache  # noqa: B019
    def family_members(self, question: str) -> tuple[Mistake, ...]:
        """Mistakes that are made of the solution: one change at a known step each."""
        found = members(self._exercise.solution, question, self._namespace)
        return tuple(
            Mistake(
                question,
                member.name,
                f"{question} {number}",
                member.hint,
                member.answer,
                by_chance=False,
                is_known_step=member.is_known_step,
            )
            for number, member in enumerate(found)
        )

    def answered(self, mistake: Mistake, test: str, time: int = 0) -> Answered:
        """What a mistake answers in one test when it is asked for the `time`-th time."""
        return self._asked(mistake, test, time)[0]

    def is_by_chance(self, mistake: Mistake, test: str) -> bool:
        """Whether chance is part of what a mistake answers in a test."""
        first, random = self._asked(mistake, test, 0)
        return random or not first.equals(self.answered(mistake, test, 1))

    def save(self) -> None:
        """Keeps on disk what was found out."""
        self._table.save()

    def tests(self, question: str) -> Sequence[str]:
        """The names of the tests of a question."""
        return self._runner.tests(self._exercise.hidden_suite, question)

    def _asked(self, mistake: Mistake, test: str, time: int) -> tuple[Answered, bool]:
        key = (mistake.key, test, time)
        found = self._table.get(key)
        if found is None:
            found = self._ask(mistake, test, time)
            self._table.put(key, *found)
        return found

    def _ask(self, mistake: Mistake, test: str, time: int) -> tuple[Answered, bool]:
        own = {**self._namespace, mistake.question: mistake.answer}
        recorder = _RandomnessRecorder(_Answer(own))
        recorder.begin_question(mistake.question)
        recorder.begin_test(test)
        torch.default_generator.manual_seed(zlib.crc32(f"{self.seed} {test} {time}".encode()))
        suite = self._exercise.hidden_suite
        with _silence():
            outcome = self._runner.run_test(suite, mistake.question, test, recorder, self.seed)
        events = recorder.by_test[mistake.question, test]
        return answered(test_result(outcome), events, mistake.by_chance), recorder.random

    @cached_property
    def _namespace(self) -> Mapping[str, Any]:
        own = LocalImplementation.from_file(self._exercise.solution).namespace
        return MappingProxyType(dict(own))


def hint_of(variant: Variant) -> str:
    """What a student reads: what seems to be confused, and a question that leads on."""
    return f"It looks as if this answer confuses {variant.confuses.rstrip('.')}. {variant.hint}"


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
    """A mistake in this process; which operators it uses is no mark of a mistake."""

    def operators(self, name: str, args: Sequence[Any]) -> frozenset[str]:
        return frozenset()


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """What torch says about a mistake is for nobody's eyes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
