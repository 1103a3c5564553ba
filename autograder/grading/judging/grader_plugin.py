"""Defines the pytest plugin that runs hidden suites on solutions, or on sandboxed submissions."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ...course import load_course
from ...errors import AutograderError
from ...records import ExerciseStatus
from ...sandbox import ForkServer, start_fork_server
from ...submission import read_exercise
from ...suite import plugin as suite_plugin
from ...suite.implementation import Implementation
from ...suite.plugin import (
    ANSWERS,
    SOLUTIONS,
    ImplementationOf,
    draw,
    exercise_of,
    expect,
    from_folder,
    implementation,
    solution,
)
from .parts import parts_given
from .remote import RemoteImplementation

__all__ = ["draw", "expect", "implementation", "solution"]

_FORK_SERVER = pytest.StashKey[ForkServer]()
_CLOSE = pytest.StashKey[list[RemoteImplementation]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the command-line options for running a hidden suite by hand."""
    suite_plugin.pytest_addoption(parser)
    parser.getgroup("autograder").addoption(
        "--submission",
        metavar="FOLDER",
        help="judge <FOLDER>/<assignment>/<exercise>.py or .ipynb in the sandbox",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Finds the solutions, and starts the sandbox if `--submission` is given."""
    torch.set_num_threads(1)  # as in a worker, because threads don't pay off for small tensors
    suite_plugin.pytest_configure(config)
    root = Path(config.rootpath)
    if (root / "solutions").is_dir():
        config.stash[SOLUTIONS] = from_folder(root / "solutions")
        # without --submission, the solutions themselves are judged
        config.stash.setdefault(ANSWERS, config.stash[SOLUTIONS])
    folder = config.getoption("--submission")
    if folder:
        if config.getoption("--implementation"):
            raise pytest.UsageError("use --implementation or --submission, not both")
        try:
            config.stash[_FORK_SERVER] = start_fork_server()
        except AutograderError as error:
            raise pytest.UsageError(str(error)) from error
        config.stash[_CLOSE] = []
        config.stash[ANSWERS] = _in_the_sandbox(config, root, Path(folder).resolve())


def pytest_unconfigure(config: pytest.Config) -> None:
    for answers in config.stash.get(_CLOSE, []):
        answers.close()
    fork_server = config.stash.get(_FORK_SERVER, None)
    if fork_server is not None:
        fork_server.close()


def _in_the_sandbox(config: pytest.Config, root: Path, folder: Path) -> ImplementationOf:
    course = load_course(root, must_be_whole=False)
    cache: dict[Path, RemoteImplementation] = {}

    def answers(suite: Path) -> Implementation:
        if suite not in cache:
            name, exercise_name = exercise_of(suite)
            assignment = course.assignment(name)
            exercise = assignment.exercise(exercise_name)
            place = folder / name if (folder / name).is_dir() else folder
            read = read_exercise(place, exercise)
            if read.status is not ExerciseStatus.GRADED:
                pytest.fail("; ".join(read.notes), pytrace=False)
            cache[suite] = RemoteImplementation(
                lambda: config.stash[_FORK_SERVER].open(assignment.limits, len(exercise.questions)),
                read,
                assignment.limits,
                seed=int(config.getoption("--seed")),
                given=parts_given(exercise.solution.read_text(encoding="utf-8")),
            )
            config.stash[_CLOSE].append(cache[suite])
        cache[suite].begin_question("")
        return cache[suite]

    return answers
