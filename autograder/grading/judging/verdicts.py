"""Computes a question's score and verdict from its tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import AnswerFault, AnswerMemory
from ...escaping import printable
from ...records import QuestionResult, TestResult, Verdict
from ...results.wording import readable_test
from ...suite.failures import merge_equal_causes

#: the maximum length of a message: enough for sentences, but not for a large printed tensor
MAX_MESSAGE = 2000
#: verdicts that are more specific than "some tests failed", the most important first
_DOMINANT = (
    Verdict.FORBIDDEN,
    Verdict.OUTPUT_LIMIT,
    Verdict.PROTOCOL,
    Verdict.MEMORY,
    Verdict.CRASHED,
    Verdict.TIMEOUT,
)
#: verdicts that cost all points for a question: a rule was broken, or something other than the
#: answer sent messages to the grader, and may have faked earlier points
_COSTS_ALL = frozenset({Verdict.FORBIDDEN, Verdict.PROTOCOL})


def blamed(raised: BaseException) -> BaseException:
    """Returns the exception of a failed test, or `AnswerMemory` if the test ran out of memory."""
    if isinstance(raised, MemoryError) or "can't allocate memory" in str(raised)[:1000]:
        return AnswerMemory("judging its results takes more memory than is available")
    return raised


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """The outcome of a test: its points, and the exception that made it fail, or None."""

    name: str
    points: float
    failure: BaseException | None

    @property
    def verdict(self) -> Verdict:
        """The verdict that the question would get if this were its only test."""
        if self.failure is None:
            return Verdict.CORRECT
        if isinstance(self.failure, AnswerFault):
            return self.failure.verdict
        return Verdict.WRONG


def judge(question: str, outcomes: Sequence[TestOutcome]) -> QuestionResult:
    """Returns a question's result; a verdict in `_COSTS_ALL` costs all points."""
    verdict = _verdict([outcome.verdict for outcome in outcomes])
    tests = _merge_equal_causes(outcomes)
    earned = 0.0 if verdict in _COSTS_ALL else sum(test.points for test in tests)
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


def _merge_equal_causes(outcomes: Sequence[TestOutcome]) -> tuple[TestResult, ...]:
    """Returns a question's test results; a cause that several tests share is reported only once."""
    tests = [test_result(outcome) for outcome in outcomes]
    failed = [n for n, test in enumerate(tests) if not test.passed]
    causes = [str(getattr(outcomes[n].failure, "cause", "")) for n in failed]
    texts = merge_equal_causes(
        [
            (readable_test(tests[n].name), tests[n].message, cause)
            for n, cause in zip(failed, causes, strict=True)
        ]
    )
    for n, text in zip(failed, texts, strict=True):
        tests[n] = replace(tests[n], message=_shortened(text))
    return tuple(tests)


def test_result(outcome: TestOutcome) -> TestResult:
    passed = outcome.failure is None
    return TestResult(
        name=outcome.name,
        passed=passed,
        points=outcome.points if passed else 0.0,
        max_points=outcome.points,
        message="" if outcome.failure is None else _message(outcome.failure),
    )


def _message(failure: BaseException) -> str:
    if isinstance(failure, AssertionError | AnswerFault):
        text = str(failure)
    else:  # the test could not even read what the answer returned
        text = f"the answer does not have the expected type ({type(failure).__name__}: {failure})"
    return _shortened(printable(text))


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 4] + " ..."
