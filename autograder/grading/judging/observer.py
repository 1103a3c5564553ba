"""What is told of a suite that runs, and may say how its tests run."""

from __future__ import annotations

from typing import Protocol

from .verdicts import TestOutcome


class RunTest(Protocol):
    """Runs a test; with soft assertions it makes all its calls, whatever fails."""

    def __call__(self, *, soft: bool) -> TestOutcome:
        """The outcome, with the first failure."""


class Observer:
    """Is told what comes next while a suite runs; this one does not care."""

    def begin_question(self, question: str) -> None:
        """The next tests judge this question."""

    def begin_test(self, test: str) -> None:
        """The next calls are this test's."""

    def judged(self, run: RunTest) -> TestOutcome:
        """The outcome of the test that has begun; `run` runs it."""
        return run(soft=True)
