"""Runs public checks in this process: quiet, no files written, nothing of a student's set-up used.

A student's own pytest settings (an ini file further up, `PYTEST_ADDOPTS`, a conftest, plugins)
change nothing here.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import warnings
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

from ..errors import AnswerFault, GraderError
from ..suite import Implementation
from ..suite.plugin import ANSWERS
from .results import CheckedQuestion, CheckedTest, Standing, standing_of

_PLUGINS_NOT_NEEDED = (
    "terminal",
    "cacheprovider",
    "junitxml",
    "logging",
    "doctest",
    "faulthandler",
    "warnings",
    "threadexception",
    "unraisableexception",
    "tmpdir",
)
_PRINTED_CHARACTERS = 2000


def run_checks(
    suite: Path, implementation: Implementation, questions: Collection[str] | None = None
) -> tuple[CheckedQuestion, ...]:
    """Runs the checks of some questions of a suite (default: all) against an implementation.

    A question that Ctrl-C ends has the standing `stopped`, and no question after it runs. Raises
    `GraderError` for a checks file that can't be used.
    """
    run = _Run(implementation, questions)
    with tempfile.TemporaryDirectory() as folder, _quiet(run.output), _own_settings():
        settings = Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n", encoding="utf-8")
        code = pytest.main(
            [
                str(suite),
                # a root elsewhere: pytest then names the module by its whole path, so that no
                # other folder's checks of the same name, imported before, take its place
                *("-c", str(settings), f"--rootdir={folder}", "--noconftest"),
                *("--import-mode=importlib", "--assert=plain", "--capture=no"),
                *("-p", "autograder.suite.plugin"),
                *(f"-pno:{name}" for name in _PLUGINS_NOT_NEEDED),
            ],
            plugins=[run],
        )
    if code == pytest.ExitCode.INTERRUPTED and not run.stopped and run.problem is None:
        raise KeyboardInterrupt
    if run.problem is not None:
        raise GraderError(
            f"{suite}: the checks can't be run: {run.problem}\n"
            "Take this file from the course's bundle again."
        )
    return run.results()


class _Run:
    """A pytest plugin: gives the tests their answers and keeps what they say."""

    def __init__(self, implementation: Implementation, questions: Collection[str] | None) -> None:
        self.output = _Head(_PRINTED_CHARACTERS)
        self.problem: str | None = None
        self._implementation = implementation
        self._wanted = questions
        self._found: dict[str, list[CheckedTest]] = {}
        self._faults: dict[str, list[str]] = {}
        self._printed: dict[str, str] = {}
        self._running: str | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[ANSWERS] = lambda path: self._implementation

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problem = str(report.longrepr)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item for item in items if self._wanted is None or _question(item) in self._wanted
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._running = _question(item)
        self._found.setdefault(self._running, [])
        self.output.start()
        result = yield
        self._printed[self._running] = self._printed.get(self._running, "") or self.output.text
        self._running = None
        return result

    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Keeps the exception itself; pytest's rendering of tracebacks is slow and not wanted."""
        failure = call.excinfo.value if call.excinfo is not None else None
        if failure is not None and call.when != "call":
            self.problem = f"{call.when} of {item.name}: {failure!r}"
        elif call.when == "call":
            self._record(item, failure)
        report = pytest.TestReport.from_item_and_call(item, _without_traceback(call))
        report.outcome = "passed" if failure is None else "failed"
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # the next run, of another folder perhaps, must not find this file's module
        for module in {item.module.__name__ for item in session.items if hasattr(item, "module")}:
            sys.modules.pop(module, None)

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C came while a test was running."""
        return self._running is not None

    def results(self) -> tuple[CheckedQuestion, ...]:
        """What was found of each question, in the order of the suite."""
        return tuple(self._result(question) for question in self._found)

    def _record(self, item: pytest.Item, failure: BaseException | None) -> None:
        question = _question(item)
        message = "" if failure is None else _message(failure)
        self._found[question].append(CheckedTest(item.name, failure is None, message))
        if isinstance(failure, AnswerFault):
            self._faults.setdefault(question, []).append(failure.verdict.value)

    def _result(self, question: str) -> CheckedQuestion:
        tests = tuple(self._found[question])
        if question == self._running:
            standing = Standing.STOPPED
        else:
            standing = standing_of(question, tests, self._faults.get(question, []))
        return CheckedQuestion(question, standing, tests, self._printed.get(question, ""))


def _question(item: pytest.Item) -> str:
    marker = item.get_closest_marker("question")
    return str(marker.args[0]) if marker is not None and marker.args else ""


def _without_traceback(call: pytest.CallInfo[None]) -> pytest.CallInfo[None]:
    call.excinfo = None
    return call


def _message(failure: BaseException) -> str:
    if isinstance(failure, AssertionError | AnswerFault):
        return str(failure)
    return f"{type(failure).__name__}: {failure}"


class _Head(io.TextIOBase):
    """Keeps the first characters written since `start`, and lets the rest go."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.text = ""

    def start(self) -> None:
        """Forgets what was written."""
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        room = self._limit - len(self.text)
        if room > 0:
            self.text += text if len(text) <= room else text[:room] + "...\n"
        return len(text)


@contextlib.contextmanager
def _quiet(output: _Head) -> Iterator[None]:
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(_Head(0)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _own_settings() -> Iterator[None]:
    """Without pytest's environment variables, other packages' plugins, and `__pycache__`."""
    ours = {"PYTEST_ADDOPTS": None, "PYTEST_PLUGINS": None, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before = {name: os.environ.get(name) for name in ours}
    writes_nothing, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    _set_environment(ours)
    try:
        yield
    finally:
        _set_environment(before)
        sys.dont_write_bytecode = writes_nothing


def _set_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
