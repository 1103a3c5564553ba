"""Collects hidden suites once, and then runs them for every submission.

pytest finds the tests, rewrites their asserts and expands their parameters only once. Each test is
then called directly with the fixtures that it uses, because running a test with pytest would take
longer than the test itself.
"""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from ...course.points import points_of
from ...errors import ContentError, GraderError
from ...inherited import without_pytests_settings
from ...records import QuestionResult
from ...suite.expect import Expect
from ...suite.implementation import Implementation
from ...suite.plugin import SOLUTIONS, draw_for
from . import grader_plugin
from .verdicts import TestOutcome, blamed, judge


class RunTest(Protocol):
    """Runs a test; if `soft` is true, the test makes all its calls even after a failure."""

    def __call__(self, *, soft: bool) -> TestOutcome:
        """Runs the test, and returns its outcome, with the first failure, if any."""


class Observer:
    """Receives events while a suite runs; by default, ignores these events."""

    def begin_question(self, question: str) -> None:
        """Receives the name of a question before its tests run."""

    def begin_test(self, test: str) -> None:
        """Receives the name of a test before it makes its calls."""

    def judged(self, run: RunTest) -> TestOutcome:
        """Returns the outcome of the current test; by default, calls `run`, which runs the test."""
        return run(soft=True)


_FIXTURES = frozenset({"expect", "draw", "implementation", "solution"})
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


@dataclass(frozen=True, slots=True)
class _Test:
    item: pytest.Function
    function: Callable[..., None]
    question: str
    points: float
    fixtures: tuple[str, ...]
    parameters: Mapping[str, Any]
    #: the test function if each of its cases has its own points; otherwise, this test's own name
    repeats: str

    @classmethod
    def of(cls, item: pytest.Function) -> _Test:
        question, points = question_of(item)
        parameters = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        fixtures = _fixtures_wanted(item, parameters)
        marker = item.get_closest_marker("question")
        is_shared = marker is not None and "shared" in marker.kwargs
        repeats = item.name if is_shared else item.originalname
        return cls(item, item.obj, question, points, fixtures, parameters, repeats)


class SuiteRunner:
    """The collected suites, which can judge any implementation."""

    def __init__(self, config: pytest.Config, items: Sequence[pytest.Item]) -> None:
        self._solutions = config.stash[SOLUTIONS]
        #: the tests of each suite, by question and name
        self._suites: dict[Path, dict[str, dict[str, _Test]]] = {}
        for item in items:
            assert isinstance(item, pytest.Function)
            test = _Test.of(item)
            questions = self._suites.setdefault(item.path, {})
            questions.setdefault(test.question, {})[item.name] = test

    def has(self, suite: Path) -> bool:
        return suite in self._suites

    def solution(self, suite: Path) -> Implementation:
        """Returns the solution with which a suite compares answers."""
        return self._solutions(suite)

    def points(self, suite: Path) -> dict[str, float]:
        """Returns each question's maximum points, in the order of the suite."""
        return {
            question: sum(test.points for test in tests.values())
            for question, tests in self._suites[suite].items()
        }

    def judge(
        self,
        suite: Path,
        implementation: Implementation,
        seed: int,
        observer: Observer | None = None,
        only: str | None = None,
    ) -> tuple[QuestionResult, ...]:
        """Runs a suite's tests, question by question, against an implementation.

        Raises `GraderError` or `OSError` if a test fails in a way that no answer can cause.
        """
        observer = observer or Observer()
        results: list[QuestionResult] = []
        for question, tests in self._suites[suite].items():
            if only is not None and question != only:
                continue
            observer.begin_question(question)
            outcomes = []
            for test in tests.values():
                observer.begin_test(test.item.name)
                outcomes.append(observer.judged(partial(self._run, test, implementation, seed)))
            results.append(judge(question, outcomes))
        return tuple(results)

    def first_failure(
        self, suite: Path, question: str, implementation: Implementation, seed: int
    ) -> TestOutcome | None:
        """Returns the outcome of a question's first failing test (and stops there), or None."""
        for test in self._suites[suite][question].values():
            outcome = self._run(test, implementation, seed, soft=False)
            if outcome.failure is not None:
                return outcome
        return None

    def tests(self, suite: Path, question: str) -> tuple[str, ...]:
        """Returns the names of a question's tests, in the order of the suite."""
        return tuple(self._suites[suite][question])

    def different_tests(self, suite: Path, question: str) -> frozenset[str]:
        """Returns the names of a question's tests, but only one if tests differ only in numbers.

        Tests differ only in numbers if they are cases of a parametrized test with separate points,
        such as a test of dropout with several rates.
        """
        tests = self._suites[suite][question]
        first: dict[str, str] = {}
        for name, test in tests.items():
            first.setdefault(test.repeats, name)
        return frozenset(first.values())

    def run_test(
        self, suite: Path, question: str, test: str, implementation: Implementation, seed: int
    ) -> TestOutcome:
        return self._run(self._suites[suite][question][test], implementation, seed)

    def _run(
        self, test: _Test, implementation: Implementation, seed: int, soft: bool = True
    ) -> TestOutcome:
        """Calls a test; if `soft` is true, the test makes all its calls even after a failure."""
        solution, draw = self._solutions(test.item.path), draw_for(test.item, seed)
        expect = Expect(implementation, solution, draw, soft)
        made = {
            "implementation": implementation,
            "solution": solution,
            "draw": draw,
            "expect": expect,
        }
        arguments = {name: made[name] for name in test.fixtures} | dict(test.parameters)
        failure: BaseException | None = None
        try:
            test.function(**arguments)
        except (GraderError, OSError):  # the machine's fault, never an answer's
            raise
        except (Exception, pytest.fail.Exception) as raised:
            failure = blamed(raised)
        return TestOutcome(test.item.name, test.points, expect.failures.first or failure)


def _fixtures_wanted(item: pytest.Function, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the fixtures among a test's arguments; raises `ContentError` for an unknown one."""
    wanted = set(item.fixturenames) - parameters.keys()
    for name in sorted(wanted - _FIXTURES - {"request"}):
        raise ContentError(
            item.path,
            None,
            f"{item.name} uses the fixture {name!r}",
            f"a hidden test may use only these fixtures: {', '.join(sorted(_FIXTURES))}",
        )
    return tuple(wanted & set(item._fixtureinfo.argnames))


def question_of(item: pytest.Item) -> tuple[str, float]:
    """Returns the question and points in a test's marker; raises `ContentError` if there is none.

    If points are `shared`, they are divided among the cases of a parametrized test.
    """
    marker = item.get_closest_marker("question")
    worth = {} if marker is None else marker.kwargs
    if marker is None or len(marker.args) != 1 or len(worth.keys() & {"points", "shared"}) != 1:
        raise ContentError(
            item.path,
            None,
            f"{item.name} does not say what it judges",
            'mark it: @pytest.mark.question("<name>", points=<number>)',
        )
    if "points" in worth:
        return str(marker.args[0]), float(worth["points"])
    cases = math.prod(len(mark.args[1]) for mark in item.iter_markers("parametrize"))
    return str(marker.args[0]), float(worth["shared"]) / cases


class _Collector:
    """Keeps the tests that pytest collects, and prevents pytest from running them."""

    def __init__(self) -> None:
        self.runner: SuiteRunner | None = None
        self.error: ContentError | None = None

    def pytest_exception_interact(
        self, node: pytest.Collector, call: pytest.CallInfo[object]
    ) -> None:
        if call.excinfo is not None and self.error is None:
            self.error = _not_imported(node.path, call.excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self.error is None:
            try:
                self.runner = SuiteRunner(session.config, session.items)
            except ContentError as error:
                self.error = error
        return True


def _not_imported(suite: Path, error: BaseException) -> ContentError:
    """Returns the reason why a suite can't be imported: its place and message, without frames.

    If a different file of the course is wrong, such as `rules.toml`, the error is about that file.
    """
    if isinstance(error, pytest.Collector.CollectError):
        error = error.__cause__ or error
    if isinstance(error, ContentError):
        return error
    if isinstance(error, SyntaxError) and (path := Path(error.filename or suite)).is_file():
        return ContentError(path, error.lineno, f"not valid Python: {error.msg}", "fix the line")
    frames = traceback.extract_tb(error.__traceback__)
    line = next((f.lineno for f in reversed(frames) if f.filename == str(suite)), None)
    problem = f"can't be imported: {type(error).__name__}: {error}"
    if line is not None and frames[-1].filename != str(suite):
        problem += f" (raised in {frames[-1].filename}:{frames[-1].lineno})"
    return ContentError(suite, line, problem, "fix the suite")


def failed_by_solution(test: str, failure: Exception) -> ContentError:
    """Returns the error for a test that no answer can pass, because the solution fails it.

    The error refers to the traceback's last line that is not in an installed package.
    """
    places = traceback.extract_tb(failure.__traceback__)
    own = [place for place in places if "site-packages" not in place.filename]
    place = (own or places)[-1]
    return ContentError(
        Path(place.filename),
        place.lineno,
        f"{test} fails even for the solution: {type(failure).__name__}: {failure}",
        "correct the test, or the code that it calls",
    )


def _check_points(suite: Path, collected: Mapping[str, float]) -> None:
    """Raises `GraderError` if pytest left out tests, because nobody could earn points for these."""
    marked = points_of(suite)
    if wrong := [name for name in marked if not math.isclose(marked[name], collected.get(name, 0))]:
        counts = "; ".join(f"{n}: {collected.get(n, 0):g} of {marked[n]:g} points" for n in wrong)
        raise GraderError(
            f"{suite}: pytest did not collect all tests ({counts}). A pytest setting or a plugin "
            "leaves tests out; nothing was graded"
        )


def collect_suites(root: Path, suites: Sequence[Path]) -> SuiteRunner:
    """Collects hidden suites with pytest, which has ended when this function returns.

    Raises `ContentError` for a suite that is missing or unusable, and `GraderError` if pytest
    fails.
    """
    make_fresh(suites)
    collector = _Collector()
    arguments = [
        *(str(suite) for suite in suites),
        f"--rootdir={root}",
        "--override-ini=addopts=",
        "--import-mode=importlib",
        "--capture=no",
        "--disable-plugin-autoload",
        *(f"-pno:{name}" for name in _PLUGINS_NOT_NEEDED),
    ]
    with without_pytests_settings():
        code = pytest.main(arguments, plugins=[grader_plugin, collector])
    if collector.error is not None:
        raise collector.error
    if collector.runner is None:
        raise GraderError(f"the hidden suites can't be collected: pytest exited with code {code}")
    for suite in suites:
        if not collector.runner.has(suite):
            raise ContentError(suite, None, "the suite has no tests", "write one for each question")
        _check_points(suite, collector.runner.points(suite))
    return collector.runner


def make_fresh(suites: Sequence[Path]) -> None:
    """Forgets imported suites, so that a long-running process imports edited suites again.

    Also forgets other courses' suites if their modules have the same names. Raises `ContentError`
    for a missing suite.
    """
    for suite in suites:
        if not suite.is_file():
            raise ContentError(suite, None, "no hidden suite", "write it (see docs/authoring.md)")
    paths = set(map(str, suites))
    # pytest names a suite's module after its path below the root, such as
    # tests.hidden.masks.test_masking
    parts = [suite.with_suffix("").parts for suite in suites]
    names = {".".join(own[-length:]) for own in parts for length in range(1, len(own))}
    for name, module in list(sys.modules.items()):
        if name in names or getattr(module, "__dict__", {}).get("__file__") in paths:
            del sys.modules[name]
