"""Provides a fork server and a record of the results for grading runs in tests."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import autograder
from autograder.errors import IsolationUnavailable
from autograder.grading.sources import RunEvents
from autograder.records import SubmissionResult, Tier
from autograder.sandbox import ForkServer, start_fork_server

from .tiers import without_tier


class Results(RunEvents):
    """Keeps the results of a run."""

    def __init__(self) -> None:
        self.results: list[SubmissionResult] = []

    def graded(self, result: SubmissionResult) -> None:
        self.results.append(result)


@contextlib.contextmanager
def started_fork_server(wanted: Tier | None = None) -> Iterator[ForkServer]:
    """Runs a fork server during the block; skips the test if this machine supports no tier."""
    try:
        fork_server = start_fork_server(wanted)
    except IsolationUnavailable as error:
        if wanted is not None:
            without_tier(wanted, str(error))
        pytest.skip(f"no submission is graded on this machine: {error}")
    with fork_server:
        yield fork_server


@contextlib.contextmanager
def executed_files(log: Path) -> Iterator[set[str]]:
    """Collects the grader's files that this process and its forks execute within the block."""
    package, seen = str(Path(autograder.__file__).parent), set()
    found: set[str] = set()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name not in seen and name.startswith(package):
            seen.add(name)
            os.write(descriptor, f"{os.path.relpath(name, package)}\n".encode())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        os.close(descriptor)
        found.update(log.read_text().splitlines())
