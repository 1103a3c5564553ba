"""Provides a fork server for each tier that this machine supports."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from autograder.errors import IsolationUnavailable
from autograder.records import Limits, Tier
from autograder.sandbox import Budget, ForkServer, start_fork_server
from autograder.sandbox.session import Session

from ..tiers import without_tier

LIMITS = Limits(wall_seconds=5, cpu_seconds=1, memory_bytes=512 << 20, reply_bytes=8 << 20)


@pytest.fixture(scope="session")
def parent_of() -> Iterator[Callable[[Tier], ForkServer]]:
    """Returns a function that returns a tier's fork server, which it starts on the first call."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def started(tier: Tier) -> ForkServer | IsolationUnavailable:
            try:
                return stack.enter_context(start_fork_server(tier))
            except IsolationUnavailable as error:
                return error

        def parent_of(tier: Tier) -> ForkServer:
            parent = started(tier)
            if isinstance(parent, IsolationUnavailable):
                without_tier(tier, str(parent))
            return parent

        yield parent_of


@pytest.fixture(scope="module", params=[Tier.A, Tier.B, Tier.C], ids=lambda tier: f"tier_{tier}")
def parent(request: pytest.FixtureRequest, parent_of: Callable[[Tier], ForkServer]) -> ForkServer:
    return parent_of(request.param)


class Student:
    """A student's module in a worker."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self.session = session
        self.limits = limits

    def ask(self, operation: str, *request: object) -> Any:
        return self.session.ask(Budget.of(self.limits), operation, *request)

    def call(self, name: str, *args: object) -> Any:
        value, _ = self.ask("call", name, list(args))
        return value


@pytest.fixture
def student(parent: ForkServer) -> Iterator[Callable[..., Student]]:
    """Yields a function that loads a module's text in a new worker with a given CPU time limit."""
    sessions: list[Session] = []

    def open_worker(text: str, cpu_seconds: float = LIMITS.cpu_seconds) -> Student:
        more = cpu_seconds / LIMITS.cpu_seconds
        wall_seconds = LIMITS.wall_seconds * more
        limits = replace(LIMITS, cpu_seconds=cpu_seconds, wall_seconds=wall_seconds)
        sessions.append(parent.open(limits, questions=3))
        made = Student(sessions[-1], limits)
        made.ask("load", "module", text, 7)
        return made

    yield open_worker
    for session in sessions:
        session.close()
