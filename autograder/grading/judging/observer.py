"""Observes a running suite, and may decide how its tests run."""

from __future__ import annotations

from typing import Protocol

from .verdicts import TestOutcome


class RunTest(Protocol):
    """Runs a test; with soft assertions it makes all its calls even after a failure."""

    def __call__(self, *, soft: bool) -> TestOutcome:
        """Returns the outcome, with the first failure."""


class Observer:
    """Receives events while a suite runs. The default ignores them."""

    def begin_question(self, question: str) -> None:
        """Called before the tests of this question."""

    def begin_test(self, test: str) -> None:
        """Called before the calls of this test."""

    def judged(self, run: RunTest) -> TestOutcome:
        """Returns the outcome of the test that has begun; `run` runs it."""
        return run(soft=True)
