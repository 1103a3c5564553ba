"""Runs an exercise's tests, except those whose outcome is already known.

A test's outcome is known if the replies agree with the solution's, or if the same replies have been
judged before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from .plan import Plan, PlannedImplementation, RequestNotPlanned
from .suites import Observer, RunTest
from .verdicts import TestOutcome

T = TypeVar("T")

#: the maximum number of entries in each cache; a message has up to 2,000 characters
_MAX_REMEMBERED = 4096


class LimitedCache(Generic[T]):
    """A cache of limited size, which keeps the most recently used entries."""

    def __init__(self, size: int = _MAX_REMEMBERED) -> None:
        self._size = size
        self._known: dict[Hashable, T] = {}

    def get(self, key: Hashable) -> T | None:
        if key not in self._known:
            return None
        value = self._known[key] = self._known.pop(key)
        return value

    def put(self, key: Hashable, value: T) -> None:
        """Stores a value; if there are then too many values, drops the least recently used one."""
        self._known[key] = value
        if len(self._known) > self._size:
            del self._known[next(iter(self._known))]


class Judgement(Observer):
    """Observes a suite while it judges a submission, and skips tests whose outcome is known."""

    def __init__(
        self,
        suite: Path,
        plan: Plan,
        answers: PlannedImplementation,
        known: LimitedCache[TestOutcome],
        begin_question: Callable[[str], None],
    ) -> None:
        """`begin_question` is called to prepare the answers for the next question."""
        self._suite = suite
        self._plan = plan
        self._answers = answers
        self._known = known
        self._begin_question = begin_question
        self._question = self._test = ""

    def begin_question(self, question: str) -> None:
        self._question = question
        self._begin_question(question)

    def begin_test(self, test: str) -> None:
        self._test = test
        self._answers.begin_test(test)

    def judged(self, run: RunTest) -> TestOutcome:
        """Returns the outcome of a test; runs the test only if its outcome is not known yet.

        If the replies to all of the test's requests have been recorded, the test ends at its first
        failure, because only this failure counts and no calls are left to make.
        """
        if passed := self._answers.passed():
            return passed
        digest = self._answers.digest()
        key = self._suite, self._plan.seed, self._question, self._test, digest
        known = self._known.get(key) if digest is not None else None
        if known is not None:
            return known
        try:
            outcome = run(soft=digest is None)
        except RequestNotPlanned:
            self._answers.begin_test(self._test)
            self._answers.leave_plan()
            return run(soft=True)
        if digest is not None:
            self._known.put(key, _without_traces(outcome))
        return outcome


def _without_traces(outcome: TestOutcome) -> TestOutcome:
    """Returns the outcome; its exception keeps the text, but no traceback, context or cause."""
    if outcome.failure is None:
        return outcome
    failure = outcome.failure.with_traceback(None)
    failure.__context__ = failure.__cause__ = None
    return replace(outcome, failure=failure)
