"""Runs hidden suites again and again in one pytest session.

pytest collects once (0.3 s and more); after that, judging an exercise costs its tests only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, Literal, TypeVar

import pytest
from _pytest.runner import runtestprotocol

from ..errors import ContentError, GraderError
from ..records import QuestionResult
from ..suite.implementation import Implementation
from ..suite.plugin import ANSWERS, SEED
from .verdicts import TestOutcome, judge

T = TypeVar("T")


_PLUGINS_NOT_NEEDED = (
    "terminal",
    "cacheprovider",
    "junitxml",
    "logging",
    "doctest",
    "tmpdir",
    "skipping",
    "threadexception",
    "unraisableexception",
    "faulthandler",
)


class Observer:
    """Is told what comes next while a suite runs; this one does not care."""

    def begin_question(self, question: str) -> None:
        """The next tests judge this question."""

    def begin_test(self, test: str) -> None:
        """The next calls are this test's."""


class SuiteRunner:
    """The collected suites, ready to judge any implementation."""

    def __init__(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        self._config = config
        self._by_suite: dict[Path, list[pytest.Function]] = {}
        for item in items:
            assert isinstance(item, pytest.Function)
            self._by_suite.setdefault(item.path, []).append(item)
        self._failure: BaseException | None = None
        self._standing: Path | None = None

    def points(self, suite: Path) -> dict[str, float]:
        """Full marks of each question, in the order of the suite."""
        points: dict[str, float] = {}
        for item in self._by_suite[suite]:
            question, worth = question_of(item)
            points[question] = points.get(question, 0.0) + worth
        return points

    def judge(
        self,
        suite: Path,
        implementation: Implementation,
        seed: int,
        observer: Observer | None = None,
        only: str | None = None,
    ) -> tuple[QuestionResult, ...]:
        """Runs a suite's tests, question by question, against an implementation.

        Raises `GraderError` when a test fails in a way that no answer can cause.
        """
        observer = observer or Observer()
        results: list[QuestionResult] = []
        for question, items in self._by_question(suite).items():
            if only is not None and question != only:
                continue
            observer.begin_question(question)
            outcomes = []
            for item in items:
                observer.begin_test(item.name)
                outcomes.append(self._run(item, implementation, seed))
            results.append(judge(question, outcomes))
        return tuple(results)

    def run_test(
        self, suite: Path, question: str, test: str, implementation: Implementation, seed: int
    ) -> TestOutcome:
        """Runs one test of a suite."""
        item = next(item for item in self._by_question(suite)[question] if item.name == test)
        return self._run(item, implementation, seed)

    def _leave_other_suites(self, suite: Path) -> None:
        """Tears down what the last suite left standing, if this is another one."""
        if suite != self._standing and self._standing is not None:
            session = self._by_suite[suite][0].session
            session._setupstate.teardown_exact(None)
        self._standing = suite

    def _by_question(self, suite: Path) -> dict[str, list[pytest.Function]]:
        groups: dict[str, list[pytest.Function]] = {}
        for item in self._by_suite[suite]:
            groups.setdefault(question_of(item)[0], []).append(item)
        return groups

    def _run(self, item: pytest.Function, implementation: Implementation, seed: int) -> TestOutcome:
        self._leave_other_suites(item.path)
        self._config.stash[ANSWERS] = lambda path: implementation
        self._config.stash[SEED] = lambda: seed
        self._failure = None
        item._initrequest()  # a fresh set of fixtures: pytest's own way to run an item again
        # the module as "next item": only the test itself is torn down, fixtures of wider scope stay
        runtestprotocol(item, log=False, nextitem=item.parent)  # type: ignore[arg-type]
        failure = self._failure
        if isinstance(failure, GraderError) or not isinstance(failure, Exception | None):
            raise failure
        return TestOutcome(item.name, question_of(item)[1], failure)

    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Keeps the exception itself; skips pytest's rendering of tracebacks, which is slow."""
        if call.excinfo is not None:
            raised = call.excinfo.value
            if call.when != "call" and isinstance(raised, Exception):
                raised = GraderError(f"{item.nodeid}: {call.when} failed: {raised!r}")
            self._failure = raised
        assert call.when != "collect"
        outcome: Literal["passed", "failed"] = "passed" if call.excinfo is None else "failed"
        return pytest.TestReport(
            item.nodeid, item.location, {}, outcome, None, call.when, (), call.duration
        )


def question_of(item: pytest.Item) -> tuple[str, float]:
    """Question and points in a test's marker; raises `ContentError` where there is none."""
    marker = item.get_closest_marker("question")
    if marker is None or len(marker.args) != 1 or "points" not in marker.kwargs:
        raise ContentError(
            item.path,
            None,
            f"{item.name} does not say what it judges",
            'mark it: @pytest.mark.question("<name>", points=<number>)',
        )
    return str(marker.args[0]), float(marker.kwargs["points"])


class _Loop(Generic[T]):
    """Takes the place of pytest's own test loop."""

    def __init__(self, work: Callable[[SuiteRunner], T]) -> None:
        self._work = work
        self.result: list[T] = []
        self.error: BaseException | None = None
        self.collect_errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.collect_errors.append(str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self.collect_errors:
            return True
        runner = SuiteRunner(session.config, session.items)
        session.config.pluginmanager.register(runner, "autograder-runner")
        try:
            self.result.append(self._work(runner))
        except BaseException as error:
            self.error = error
        return True


def with_suites(root: Path, suites: Sequence[Path], work: Callable[[SuiteRunner], T]) -> T:
    """Collects hidden suites once and does `work` with them; returns what it returns."""
    loop = _Loop(work)
    arguments = [
        *(str(suite) for suite in suites),
        f"--rootdir={root}",
        "--override-ini=addopts=",
        "--import-mode=importlib",
        "--capture=no",
        *("-p", "autograder.grading.plugin"),
        "--disable-plugin-autoload",
        *(f"-pno:{name}" for name in _PLUGINS_NOT_NEEDED),
    ]
    code = pytest.main(arguments, plugins=[loop])
    if loop.error is not None:
        raise loop.error
    if loop.collect_errors or code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        details = "\n".join(loop.collect_errors) or f"pytest ended with code {int(code)}"
        raise GraderError(f"the hidden suites can't be collected:\n{details}")
    return loop.result[0]
