"""Defines the pytest plugin for all suites: markers for points, and fixtures for answers.

A suite is at `tests/{hidden,public}/<assignment>/test_<exercise>.py`. The fixture `implementation`
is a module in this process (`--implementation FOLDER`) or, through `grading.judging.grader_plugin`,
a sandboxed worker.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .arguments import Draw
from .expect import Expect
from .implementation import Implementation
from .local import LocalImplementation

#: a function that returns the implementation for a suite, given its path
ImplementationOf = Callable[[Path], Implementation]

ANSWERS = pytest.StashKey[ImplementationOf]()
SOLUTIONS = pytest.StashKey[ImplementationOf]()
SEED = pytest.StashKey[Callable[[], int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options for running a suite by hand."""
    group = parser.getgroup("autograder")
    group.addoption(
        "--implementation",
        metavar="FOLDER",
        help="judge the modules <FOLDER>/<assignment>/<exercise>.py (trusted code, such as "
        "solutions) in this process",
    )
    group.addoption("--seed", type=int, default=0, help="seed of the random inputs (default 0)")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and prepare the implementation that the options select."""
    config.addinivalue_line(
        "markers",
        "question(name, points): the question that the test checks, and the points for each case; "
        "question(name, shared): the points for all cases together",
    )
    config.addinivalue_line(
        "markers", "by_chance: even right answers give random results in this test"
    )
    config.stash.setdefault(SEED, lambda: int(config.getoption("--seed")))
    folder = config.getoption("--implementation")
    if folder:
        root = Path(folder).resolve()
        if not root.is_dir():
            raise pytest.UsageError(f"--implementation: {root} is not a folder")
        config.stash[ANSWERS] = from_folder(root)


def exercise_of(suite: Path) -> tuple[str, str]:
    """Return the names of the assignment and the exercise, taken from a suite's path."""
    return suite.parent.name, suite.stem.removeprefix("test_")


def from_folder(root: Path) -> ImplementationOf:
    """Return a function that loads a suite's implementation from a folder on first use."""
    cache: dict[Path, LocalImplementation] = {}

    def answers(suite: Path) -> Implementation:
        if suite not in cache:
            assignment, exercise = exercise_of(suite)
            cache[suite] = LocalImplementation.from_file(root / assignment / f"{exercise}.py")
        return cache[suite]

    return answers


def draw_for(test: pytest.Item, seed: int) -> Draw:
    """Return one test's stream of inputs, which depends only on the seed and the test's name."""
    return Draw(seed, f"{test.path.stem}::{test.name}")


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Return a stream of inputs, which depends only on the run's seed and the test's name."""
    return draw_for(request.node, request.config.stash[SEED]())


@pytest.fixture
def implementation(request: pytest.FixtureRequest) -> Implementation:
    """Return the answers under test."""
    answers = request.config.stash.get(ANSWERS, None)
    if answers is None:
        pytest.fail(
            "say what to judge: --implementation solutions (this process) or "
            "--submission FOLDER (in the sandbox)",
            pytrace=False,
        )
    return answers(request.path)


@pytest.fixture
def solution(request: pytest.FixtureRequest) -> Implementation | None:
    """Return the solution module, or None if there are no solutions (on a student's machine)."""
    solutions = request.config.stash.get(SOLUTIONS, None)
    return solutions(request.path) if solutions else None


@pytest.fixture
def expect(implementation: Implementation, solution: Implementation | None, draw: Draw) -> Expect:
    """Return the object with which a test makes its assertions."""
    return Expect(implementation, solution, draw)
