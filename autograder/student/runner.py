"""Runs public checks in this process, without printing anything or leaving files behind.

A student's pytest settings (an ini file in a folder above, `PYTEST_ADDOPTS`, a conftest, plugins)
have no effect on these checks.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import pytest
import torch

from ..errors import AnswerFault, GraderError, UserError
from ..inherited import without_pytests_settings
from ..records import Limits
from ..suite import LocalImplementation
from ..suite import plugin as suite_plugin
from ..suite.failures import WrongAnswer
from ..suite.plugin import ANSWERS
from .answers import written_as_power
from .check_results import (
    CheckedQuestion,
    CheckedTest,
    Standing,
    failures_to_show,
    standing_of,
)
from .explaining import AnswerContext, cause_of, explained, is_stub
from .grading_sandbox import as_in_grading, default_dtype, in_own_dtype
from .known_mistakes import Answers, comparable_chance, sentence_of
from .last_call import RecordedCall, Recorder
from .misnamed import read_from_outside
from .quiet_output import LimitedOutput, quiet
from .time_limit import SECONDS, CheckTimeout, limited

_PLUGINS_NOT_NEEDED = (
    "terminal",
    "cacheprovider",
    "junitxml",
    "logging",
    "debugging",
    "doctest",
    "faulthandler",
    "warnings",
    "threadexception",
    "unraisableexception",
    "tmpdir",
)
_SLOW = (
    "right, but slow: these checks took {:.1f} s. Grading makes many more calls, and stops a "
    "question after {:g} s"
)
#: a function that is called with each question when its checks start
OnQuestion = Callable[[str], None]


def run_checks(
    suite: Path,
    implementation: LocalImplementation,
    around: AnswerContext,
    questions: Collection[str] | None = None,
    on_question: OnQuestion = lambda question: None,
) -> tuple[CheckedQuestion, ...]:
    """Runs the checks for some questions in a suite (default: all) against an implementation.

    If Ctrl-C interrupts the checks of a question, the question's standing is `stopped`, and no
    later question is checked. If a check takes more than `SECONDS`, its question is `too_slow`.
    Raises `GraderError` if a checks file can't be used.
    """
    return _run(suite, _Run(suite, implementation, around, questions, on_question)).results()


def answers_in(
    suite: Path, implementation: LocalImplementation, in_all: bool = False
) -> Mapping[str, Answers]:
    """Returns an implementation's results in each check that it fails, keyed by question.

    With `in_all`, also returns the results in the checks that the implementation passes.
    """
    around = AnswerContext(implementation.namespace)
    run = _run(suite, _Run(suite, implementation, around, None, lambda question: None))
    return {
        question: {**found.results_when_right, **found.results} if in_all else found.results
        for question, found in run.answers.items()
    }


def answers_in_turn(
    suite: Path, asked: Sequence[tuple[LocalImplementation, Collection[str]]]
) -> list[Mapping[str, Answers]]:
    """Does the same as `answers_in` for many implementations, each with its own list of questions.

    This function takes only a third of the time that separate calls take, because the checks are
    collected only once and no failure is explained.
    """
    run = _Run(suite, LocalImplementation({}), AnswerContext({}), None, lambda question: None)
    turns = _Turns(run, asked)
    _run(suite, run, turns)
    return turns.answers


def step_to_trace(
    suite: Path, implementation: LocalImplementation, around: AnswerContext, question: str
) -> RecordedCall | None:
    """Returns the call that caused the failure shown first, or the last call if all checks pass.

    Raises `UserError` for an answer that takes too long.
    """
    run = _run(suite, _Run(suite, implementation, around, {question}, lambda name: None))
    if question in run.answers and run.answers[question].is_too_slow:
        raise UserError(
            f"{question} took longer than {SECONDS:g} seconds: is there a loop that never ends?"
        )
    return run.step


def _run(suite: Path, run: _Run, *more: object) -> _Run:
    with (
        tempfile.TemporaryDirectory() as folder,
        quiet(run.output),
        _own_settings(),
        default_dtype(torch.float32),  # whatever the answers' file has set
    ):
        settings = Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n", encoding="utf-8")
        code = pytest.main(
            [
                str(suite),
                # with a root in another folder, pytest derives the module's name from its full
                # path, so that it does not use an imported module with the same name instead
                *("-c", str(settings), f"--rootdir={folder}", "--noconftest"),
                *("--import-mode=importlib", "--assert=plain", "--capture=no"),
                *(f"-pno:{name}" for name in _PLUGINS_NOT_NEEDED),
            ],
            # for `-p`, pytest would first search all installed packages for the plugin
            plugins=[suite_plugin, run, *more],
        )
    if code == pytest.ExitCode.INTERNAL_ERROR:
        raise GraderError(
            f"{suite}: the checks stopped before they were finished. Please report this to your "
            "instructor."
        )
    if code == pytest.ExitCode.INTERRUPTED and not run.stopped and run.problem is None:
        raise KeyboardInterrupt
    if run.problem is not None:
        raise GraderError(
            f"{suite}: the checks can't be run: {run.problem}\n"
            "Replace this file with the one in the course's bundle."
        )
    return run


@dataclass(slots=True)
class _QuestionResults:
    tests: list[CheckedTest] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    #: mistakes, by the name of a check whose error always indicates them
    causes: dict[str, str] = field(default_factory=dict)
    printed: str = ""
    is_too_slow: bool = False
    #: the processor time for all checks
    seconds: float = 0.0
    #: the results in each check that failed, and in each that passed
    results: dict[str, tuple[str, ...]] = field(default_factory=dict)
    results_when_right: dict[str, tuple[str, ...]] = field(default_factory=dict)


class _Run:
    """A pytest plugin that passes the student's answers to the tests, and records the results."""

    def __init__(
        self,
        suite: Path,
        implementation: LocalImplementation,
        around: AnswerContext,
        questions: Collection[str] | None,
        on_question: OnQuestion,
    ) -> None:
        self._checks = suite.parent
        self.output = LimitedOutput(most=Limits().output_bytes)
        self.problem: str | None = None
        self._failed_at: dict[str, RecordedCall | None] = {}
        self._answers = Recorder(in_own_dtype(implementation))
        self._text = implementation.text
        self._around = around
        self._wanted = questions
        self._on_question = on_question
        self._found: dict[str, _QuestionResults] = {}
        self._running: str | None = None
        self._explains = True

    def start_again(self, implementation: LocalImplementation) -> None:
        """Discards all results; starts again with `implementation`, without explaining failures."""
        self._answers = Recorder(in_own_dtype(implementation))
        self._found, self._failed_at = {}, {}
        self._explains = False

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[ANSWERS] = lambda path: self._answers

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problem = str(report.longrepr)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item for item in items if self._wanted is None or _question(item) in self._wanted
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Skips further checks for a question that is too slow, because each may take as long."""
        question = _question(item)
        if question not in self._found:
            self._found[question] = _QuestionResults()
            self._on_question(question)
        return True if self._found[question].is_too_slow else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self._running = question = _question(item)
        self.output.start()
        self._answers.start()
        begin = time.process_time()
        with (
            limited(SECONDS),
            torch.random.fork_rng(devices=[]),
            torch.enable_grad(),  # as in grading, even if the student's file has turned them off
            as_in_grading(),
        ):
            # `torch.manual_seed` would first look for accelerators
            torch.default_generator.manual_seed(0)
            yield
        self._found[question].seconds += time.process_time() - begin
        self._running = None

    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Keeps the exception instead of pytest's rendered traceback, which is slow to produce."""
        failure = call.excinfo.value if call.excinfo is not None else None
        if failure is not None and call.when != "call":
            self.problem = f"{call.when} of {item.name}: {failure!r}"
        elif call.when == "call":
            self._record(item, failure)
        call.excinfo = None
        report = pytest.TestReport.from_item_and_call(item, call)
        report.outcome = "passed" if failure is None else "failed"
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # the next run, perhaps in another folder, must not find this file's module
        for module in {item.module.__name__ for item in session.items if hasattr(item, "module")}:
            sys.modules.pop(module, None)

    @property
    def stopped(self) -> bool:
        return self._running is not None

    @property
    def step(self) -> RecordedCall | None:
        """The call that caused the failure shown first, or the last call if all checks pass."""
        tests = [test for found in self._found.values() for test in found.tests]
        steps = (self._failed_at[test.name] for test in failures_to_show(tests))
        return next((step for step in steps if step is not None), self._answers.last)

    @property
    def answers(self) -> Mapping[str, _QuestionResults]:
        return self._found

    def results(self) -> tuple[CheckedQuestion, ...]:
        return tuple(self._result(question, found) for question, found in self._found.items())

    def _record(self, item: pytest.Item, failure: BaseException | None) -> None:
        found = self._found[_question(item)]
        self._running = None
        # the output of the first failing check is the most useful
        is_first = failure is not None and all(test.passed for test in found.tests)
        before, now = found.printed, self.output.text
        found.printed = (now or before) if is_first else (before or now)
        if failure is None:
            found.tests.append(CheckedTest(item.name, True))
            found.results_when_right[item.name] = tuple(self._answers.results)
            return
        self._failed_at[item.name] = self._answers.last
        found.is_too_slow = isinstance(failure, CheckTimeout)
        by_chance = item.get_closest_marker("by_chance") is not None
        found.results[item.name] = tuple(self._answers.results)
        if by_chance and isinstance(failure, WrongAnswer) and failure.fault is None:
            found.results[item.name] = (comparable_chance(failure.message.differs),)
        step = self._answers.last
        if not self._explains:
            found.tests.append(CheckedTest(item.name, False))
            return
        found.tests.append(explained(item.name, failure, step, self._around, by_chance))
        if cause := cause_of(failure, self._around):
            found.causes[item.name] = cause
        if isinstance(failure, AnswerFault):
            is_other = failure.verdict.value == "not_implemented" and not is_stub(failure)
            found.faults.append("" if is_other else failure.verdict.value)

    def _result(self, question: str, found: _QuestionResults) -> CheckedQuestion:
        tests = tuple(found.tests)
        if question == self._running:
            standing = Standing.STOPPED
        elif found.is_too_slow:
            standing = Standing.TOO_SLOW
        else:
            standing = standing_of(tests, found.faults)
        mistake = self._mistake(question, found) if standing is Standing.FIX else ""
        is_slow = standing is Standing.PASSED and found.seconds > SECONDS / 2
        note = _SLOW.format(found.seconds, SECONDS) if is_slow else ""
        if standing is Standing.FIX:
            note = read_from_outside(question, self._around.namespace)
        return CheckedQuestion(question, standing, tests, found.printed, note, mistake)

    def _mistake(self, question: str, found: _QuestionResults) -> str:
        """Returns sentences about the likely mistake; the first is about `^` if used for a power.

        If an error already indicates the mistake, there is no sentence about `^`.
        """
        power = "" if found.causes else written_as_power(question, self._text)
        return "\n".join(filter(None, (power, self._likely(question, found))))

    def _likely(self, question: str, found: _QuestionResults) -> str:
        """Returns sentences about known mistakes, or about a mistake that all errors indicate.

        If the failure that is shown first does not indicate a mistake, only known mistakes are
        mentioned.
        """
        if known := sentence_of(self._checks, question, found.results, self._text):
            return known
        (cause,) = set(found.causes.values()) if len(set(found.causes.values())) == 1 else ("",)
        shown = failures_to_show(found.tests)[:1]
        if not cause or any(test.name not in found.causes for test in shown):
            return ""
        return f"{cause[:1].upper()}{cause[1:]}."


class _Turns:
    """A pytest plugin that runs the checks once for each of several implementations."""

    def __init__(
        self, run: _Run, asked: Sequence[tuple[LocalImplementation, Collection[str]]]
    ) -> None:
        self._run = run
        self._asked = asked
        self.answers: list[Mapping[str, Answers]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for implementation, questions in self._asked:
            self._run.start_again(implementation)
            items = [item for item in session.items if _question(item) in questions]
            for item, following in zip_longest(items, items[1:]):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            found = self._run.answers
            self.answers.append({question: of.results for question, of in found.items()})
        return True


def _question(item: pytest.Item) -> str:
    marker = item.get_closest_marker("question")
    return str(marker.args[0]) if marker is not None and marker.args else ""


@contextlib.contextmanager
def _own_settings() -> Iterator[None]:
    """Within the block, ignores pytest's variables and other plugins; writes no `__pycache__`."""
    writes_nothing, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with without_pytests_settings():
            yield
    finally:
        sys.dont_write_bytecode = writes_nothing
