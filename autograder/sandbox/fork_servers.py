"""Runs several fork servers, because each of them forks only one worker at a time.

A fork takes 1 ms, and a short exercise about 18 ms of CPU time. With only one fork server and more
than about 16 jobs, some jobs would therefore have to wait (`benchmarks/many_jobs.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..records import Limits
from .fork_server import ForkServer

if TYPE_CHECKING:  # these import torch
    from .replies import Batch
    from .session import Session


class ForkServers(ForkServer):
    """Several fork servers in the same tier; each job uses one of them (see `choose`)."""

    def __init__(self, first: ForkServer, count: int) -> None:
        self.tier, self.passed_over = first.tier, first.passed_over
        self._servers = [first, *(first.another() for _ in range(count - 1))]
        self._own = first

    @property
    def count(self) -> int:
        """See `ForkServer.count`."""
        return len(self._servers)

    def choose(self, number: int) -> None:
        """See `ForkServer.choose`."""
        self._own = self._servers[number]

    def restart(self) -> None:
        """Restarts all servers; see `ForkServer.restart`."""
        for server in self._servers:
            server.restart()

    def has_ended(self, seconds: float = 1.0) -> bool:
        """Returns whether one of the servers has ended, or ends within `seconds`."""
        each = seconds / len(self._servers)
        return any(server.has_ended(each) for server in self._servers)

    def wait_until_ready(self) -> None:
        """See `ForkServer.wait_until_ready`."""
        for server in self._servers:
            server.wait_until_ready()

    def hold(self, batch: Batch) -> None:
        """See `ForkServer.hold`."""
        for server in self._servers:
            server.hold(batch)

    def cpu_seconds(self) -> float:
        """Returns the sum over all servers; see `ForkServer.cpu_seconds`."""
        return sum(server.cpu_seconds() for server in self._servers)

    def open(self, limits: Limits, questions: int, batches: Collection[str] = ()) -> Session:
        """See `ForkServer.open`."""
        return self._own.open(limits, questions, batches)

    def close(self) -> None:
        """Closes all servers except the first one, which its own context manager closes."""
        for server in self._servers[1:]:
            server.close()
