"""A grading run inside a test: its fork server and its results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from autograder.errors import IsolationUnavailable
from autograder.grading.run_options import SilentEvents
from autograder.records import SubmissionResult
from autograder.sandbox import ForkServer, start_fork_server


class Results(SilentEvents):
    """Keeps what a run graded."""

    def __init__(self) -> None:
        self.results: list[SubmissionResult] = []

    def graded(self, result: SubmissionResult) -> None:
        self.results.append(result)


@contextlib.contextmanager
def started_fork_server() -> Iterator[ForkServer]:
    """Starts a fork server for the block; skips the test if this machine supports no tier."""
    try:
        fork_server = start_fork_server()
    except IsolationUnavailable as error:
        pytest.skip(f"no submission is graded on this machine: {error}")
    with fork_server:
        yield fork_server
