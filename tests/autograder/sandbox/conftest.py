"""A fork server of each tier that this machine gives, started once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from autograder.records import Limits, Tier
from autograder.sandbox import Budget, ForkServer, examine
from autograder.sandbox.session import Session

LIMITS = Limits(wall_seconds=5, cpu_seconds=1, memory_bytes=512 << 20, reply_bytes=8 << 20)


@pytest.fixture(scope="session", params=[Tier.A, Tier.B, Tier.C], ids=lambda tier: f"tier_{tier}")
def parent(request: pytest.FixtureRequest) -> Iterator[ForkServer]:
    finding = examine(request.param)
    if not finding.works:
        pytest.skip(f"this machine does not give tier {request.param}: {finding.reason[:300]}")
    with ForkServer(request.param) as started:
        yield started


class Student:
    """A student's module in a worker of its own."""

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
    """Hands a module's text to a fresh worker, which may have other CPU seconds than `LIMITS`."""
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
