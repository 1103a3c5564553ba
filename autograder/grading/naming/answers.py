"""What was answered, test by test: by a student, or by a known mistake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .answered import Answered


class Answers(Protocol):
    """What was answered in each test; `judged` with what is compared of stochastic answers."""

    def answered(self, test: str) -> Answered:
        """The record of one test."""

    def judged(self, test: str) -> Answered:
        """The same with what the test says, and shares."""

    def errors(self, test: str) -> Sequence[str]:
        """What each request of a test raised, if that is known."""
