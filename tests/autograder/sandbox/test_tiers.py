"""A tier is tried again if its fork server was killed, but not if the server says why it failed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder.course import load_course
from autograder.errors import IsolationUnavailable, SandboxError, SandboxKilled, UserError
from autograder.grading.engine import Scope
from autograder.grading.jobs import Jobs
from autograder.grading.run import refuse_weaker_tier
from autograder.grading.sources import ListedSubmissions
from autograder.grading.suite_engine import SuiteEngine
from autograder.records import Limits, SubmissionResult, Tier
from autograder.results.file import ResultsFile
from autograder.sandbox import ForkServer, clock, doctor, start_fork_server
from autograder.sandbox.clock import Budget
from autograder.sandbox.fork_server import _START_SECONDS
from autograder.sandbox.session import Session

from .. import tiers

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def best(fork_server: ForkServer) -> Tier:
    """Returns the strongest tier that works on this machine."""
    return fork_server.tier


def _outermost(server: ForkServer) -> int:
    return server.pid


def _innermost(server: ForkServer) -> int:
    return [server.pid, *clock.descendants(server.pid)][-1]


class Starts:
    """Starts a server of the class `changed` if `is_changed`; otherwise returns a shared server.

    A start takes two CPU seconds, so the servers that work are those of all tests. They must not be
    closed. `is_changed` is called with the tier and the number of the start.
    """

    def __init__(
        self,
        changed: type[ForkServer],
        parent_of: Callable[[Tier], ForkServer],
        is_changed: Callable[[Tier, int], bool] = lambda tier, number: number == 1,
    ) -> None:
        self.classes: list[type[ForkServer]] = []
        self._changed, self._parent_of, self._is_changed = changed, parent_of, is_changed

    def best(self, wanted: Tier | None = None) -> ForkServer:
        """Does what `start_fork_server` does, with these servers."""
        return doctor._best(wanted, self._start)

    def _start(self, tier: Tier) -> ForkServer:
        is_changed = self._is_changed(tier, len(self.classes) + 1)
        self.classes.append(self._changed if is_changed else ForkServer)
        return self._changed(tier) if is_changed else self._parent_of(tier)


@pytest.mark.parametrize(
    ("tier", "number", "whom", "when"),
    [
        (Tier.A, signal.SIGKILL, _outermost, "at once"),
        (Tier.A, signal.SIGTERM, _innermost, "at once"),
        (Tier.A, signal.SIGKILL, _innermost, "when it is ready"),
        (Tier.B, signal.SIGTERM, _outermost, "when it is ready"),
        (Tier.B, signal.SIGKILL, _innermost, "at once"),
        (Tier.C, signal.SIGKILL, _outermost, "at once"),
        (Tier.C, signal.SIGTERM, _outermost, "when it is ready"),
    ],
)
def test_a_tier_that_was_killed_while_starting_is_tried_again(
    tier: Tier,
    number: signal.Signals,
    whom: Callable[[ForkServer], int],
    when: str,
    parent_of: Callable[[Tier], ForkServer],
) -> None:
    second = parent_of(tier)  # skips the test if the machine does not support the tier

    class KilledForkServer(ForkServer):
        def _start(self) -> None:
            super()._start()
            if when != "at once":
                self.wait_until_ready()
            os.kill(whom(self), number)

    starts = Starts(KilledForkServer, parent_of)
    server = starts.best(tier)
    assert (server.tier, server.passed_over) == (tier, ())
    if server is not second:  # the first one was ready before the signal arrived
        server.close()
        assert number is signal.SIGTERM and starts.classes == [KilledForkServer]


@pytest.mark.parametrize("is_confined", [False, True])
def test_a_tier_whose_first_worker_was_killed_is_tried_again(
    best: Tier, is_confined: bool, parent_of: Callable[[Tier], ForkServer]
) -> None:
    class KilledForkServer(ForkServer):
        def open(self, *args: Any, **options: Any) -> Session:
            session = super().open(*args, **options)
            if is_confined:
                session.ask(Budget.of(Limits()), "load", "empty", "", 0)
            os.kill(_innermost(self), signal.SIGKILL)
            return session

    second = parent_of(best)
    starts = Starts(KilledForkServer, parent_of)
    assert starts.best(best) is second
    assert (second.tier, second.passed_over) == (best, ())
    assert starts.classes == [KilledForkServer, ForkServer]


def test_a_repeatedly_killed_tier_is_skipped_with_the_reason(
    best: Tier, parent_of: Callable[[Tier], ForkServer]
) -> None:
    class KilledForkServer(ForkServer):
        def _start(self) -> None:
            super()._start()
            os.kill(self.pid, signal.SIGKILL)

    starts = Starts(KilledForkServer, parent_of, lambda tier, _: tier is best)
    if best is Tier.C:
        with pytest.raises(IsolationUnavailable, match="tried twice"):
            starts.best()
        return
    server = starts.best()
    reasons, server.passed_over = server.passed_over, ()
    assert server.tier is not best
    assert any(f"tier {best}" in text and "tried twice" in text for text in reasons)


def test_nothing_waits_for_the_child_of_a_killed_tier(tmp_path: Path) -> None:
    """A shell script imitates a bubblewrap that was killed early: its child waits forever."""
    child = tmp_path / "child"

    class KilledForkServer(ForkServer):
        def _command(self, environment: Any, control: int, file: int) -> list[str]:
            return ["sh", "-c", f"sleep 1000 & echo $! >{child}; kill -KILL $$"]

    began = time.monotonic()
    with pytest.raises(SandboxKilled):
        KilledForkServer(Tier.C).wait_until_ready()
    assert time.monotonic() - began < _START_SECONDS / 2
    stat = Path(f"/proc/{child.read_text().strip()}/stat")
    with suppress(FileNotFoundError, ProcessLookupError):  # the child's entry may already be gone
        while stat.read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() - began < _START_SECONDS / 2
            time.sleep(0.02)


def test_a_tier_that_says_why_it_fails_is_not_retried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Tier] = []

    class UnavailableForkServer(ForkServer):
        def _start(self) -> None:
            tried.append(self.tier)
            raise SandboxError("bubblewrap is not installed")

    monkeypatch.setattr(doctor, "ForkServer", UnavailableForkServer)
    with pytest.raises(IsolationUnavailable):
        start_fork_server()
    assert tried == [Tier.A, Tier.B, Tier.C]


def test_a_tier_without_namespaces_is_skipped_with_what_it_printed(
    parent_of: Callable[[Tier], ForkServer],
) -> None:
    """A script imitates bubblewrap on a system where ordinary users may not create namespaces."""

    class RefusedForkServer(ForkServer):
        def _command(self, environment: Any, control: int, file: int) -> list[str]:
            return ["sh", "-c", "echo bwrap: No permissions to create a new namespace >&2; exit 1"]

    last = parent_of(Tier.C)  # skips the test if the machine does not support the tier
    starts = Starts(RefusedForkServer, parent_of, lambda tier, _: tier is not Tier.C)
    assert starts.best() is last
    reasons, last.passed_over = last.passed_over, ()
    assert len(reasons) == 2
    assert all("No permissions" in reason for reason in reasons)


@pytest.mark.parametrize("reason", ["the worker was allowed: chmod", "it ended with an error"])
def test_the_tests_of_a_broken_tier_fail(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_broken = "allowed" in reason
    monkeypatch.setattr(tiers, "_can_have", lambda tier: is_broken)
    with pytest.raises(pytest.fail.Exception if is_broken else pytest.skip.Exception):
        tiers.without_tier(Tier.C, reason)
    monkeypatch.setattr(tiers, "_can_have", lambda tier: True)
    with pytest.raises(pytest.fail.Exception):
        tiers.without_tier(Tier.C, reason)


def test_a_class_is_not_graded_in_a_weaker_tier_unasked(
    tmp_path: Path, make_result: Callable[..., SubmissionResult]
) -> None:
    results = tmp_path / "results.jsonl"
    with ResultsFile(results) as file:
        file.append(replace(make_result("ada"), isolation=Tier.B))
    why = ["  tier A: the fork server did not start"]
    refuse_weaker_tier(results, Tier.B, why)
    with pytest.raises(UserError, match="has results from tier B.*\n.*did not start\n.*--tier C"):
        refuse_weaker_tier(results, Tier.C, why)


def test_a_run_learns_that_an_unrequested_weaker_tier_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, parent_of: Callable[[Tier], ForkServer]
) -> None:
    skipped: list[tuple[Tier, Sequence[str]]] = []

    class Stop(Exception): ...

    def weaker(tier: Tier, why: Sequence[str]) -> None:
        skipped.append((tier, why))
        raise Stop

    server = parent_of(Tier.C)
    monkeypatch.setattr(server, "passed_over", ["  tier A: it was killed (tried twice)"])
    engine = SuiteEngine(load_course(ROOT), lambda tier: nullcontext(server))
    scope = Scope.of(engine, [engine.assignment("simplified_attention")])
    with pytest.raises(Stop):
        Jobs(weaker=weaker).grade(
            scope, ListedSubmissions([]), lambda result: None, lambda tier: None
        )
    assert skipped == [(Tier.C, ["  tier A: it was killed (tried twice)"])]
