"""From the tests of a question to its score and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import AnswerFault
from ..records import QuestionResult, TestResult, Verdict

#: verdicts that say more than "some tests failed", in order of weight
_DOMINANT = (
    Verdict.FORBIDDEN,
    Verdict.OUTPUT_LIMIT,
    Verdict.PROTOCOL,
    Verdict.MEMORY,
    Verdict.CRASHED,
    Verdict.TIMEOUT,
)


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """One test as it ran: its points, and the exception that failed it."""

    name: str
    points: float
    failure: BaseException | None

    @property
    def verdict(self) -> Verdict:
        """What this test alone says about the question."""
        if self.failure is None:
            return Verdict.CORRECT
        if isinstance(self.failure, AnswerFault):
            return self.failure.verdict
        return Verdict.WRONG


def judge(question: str, outcomes: Sequence[TestOutcome]) -> QuestionResult:
    """The question's result. A call that is not allowed costs all of the question's points."""
    verdict = _verdict([outcome.verdict for outcome in outcomes])
    tests = tuple(_test_result(outcome) for outcome in outcomes)
    earned = 0.0 if verdict is Verdict.FORBIDDEN else sum(test.points for test in tests)
    return QuestionResult(
        question=question,
        score=earned,
        max_score=sum(outcome.points for outcome in outcomes),
        verdict=verdict,
        tests=tests,
    )


def _verdict(verdicts: Sequence[Verdict]) -> Verdict:
    if all(verdict is Verdict.CORRECT for verdict in verdicts):
        return Verdict.CORRECT
    for dominant in _DOMINANT:
        if dominant in verdicts:
            return dominant
    if Verdict.CORRECT in verdicts:
        return Verdict.PARTIAL
    return next(verdict for verdict in verdicts if verdict is not Verdict.CORRECT)


def _test_result(outcome: TestOutcome) -> TestResult:
    passed = outcome.failure is None
    return TestResult(
        name=outcome.name,
        passed=passed,
        points=outcome.points if passed else 0.0,
        max_points=outcome.points,
        message="" if passed else str(outcome.failure),
    )
