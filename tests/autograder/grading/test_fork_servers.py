"""Each job of a large run uses one of several fork servers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from autograder.grading import job as jobs
from autograder.grading.job import Job
from autograder.grading.jobs import for_jobs
from autograder.records import Limits, Tier
from autograder.sandbox.fork_servers import ForkServers


class _Server:
    """Records its calls instead of starting processes."""

    tier, passed_over = Tier.A, ()

    def __init__(self, others: list[_Server], ends: bool = False) -> None:
        self.others, self.ends, self.calls = others, ends, list[str]()
        others.append(self)

    def another(self) -> _Server:
        return _Server(self.others, ends=True)

    def has_ended(self, seconds: float) -> bool:
        return self.ends

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append(name)


@pytest.fixture
def servers() -> list[Any]:
    """Returns a list with one server; each server that is started later is added to the list."""
    started: list[Any] = []
    _Server(started)
    return started


def test_eight_jobs_share_one_server_and_the_ninth_needs_another(servers: list[Any]) -> None:
    with for_jobs(servers[0], 8) as eight:
        assert eight is servers[0]
    assert len(servers) == 1
    with for_jobs(servers[0], 17) as many:
        assert many.count == len(servers) == 3


def test_a_job_gets_workers_from_its_server_only(servers: list[Any]) -> None:
    with for_jobs(servers[0], 17) as many:
        many.choose(2)
        many.open(Limits(), 1)
    assert [server.calls for server in servers] == [[], ["close"], ["open", "close"]]


def test_all_servers_are_replaced_if_one_has_ended(servers: list[Any]) -> None:
    with for_jobs(servers[0], 9) as both:
        assert both.has_ended()
        both.restart()
    assert [server.calls for server in servers] == [["restart"], ["restart", "close"]]


def test_jobs_are_spread_over_the_servers(
    servers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = SimpleNamespace(start=lambda: None, pid=1)
    pipes = (SimpleNamespace(), SimpleNamespace(close=lambda: None))
    fork = SimpleNamespace(Process=lambda **options: ended, Pipe=lambda: pipes)
    monkeypatch.setattr(jobs, "_fork", fork)
    grader: Any = SimpleNamespace(fork_server=ForkServers(servers[0], 2))
    running: list[Job] = []
    for _ in range(5):
        running.append(Job.start(grader, frozenset(), running))
    assert [job.fork_server for job in running] == [0, 1, 0, 1, 0]
