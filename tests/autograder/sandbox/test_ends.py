"""The reason why a worker ended is reported for every signal, even if the fork server is slow."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator

import pytest

from autograder.errors import AnswerCrashed, AnswerProtocol, SandboxError
from autograder.records import Limits
from autograder.sandbox.clock import Budget
from autograder.sandbox.replies import fault_of
from autograder.sandbox.session import Session
from autograder.worker import confine


class _Status:
    """Replaces the channel of a fork server that takes some time to report."""

    def __init__(self, printed: bytes, patience: float = 10.0) -> None:
        self._printed, self._patience, self._waits = printed, patience, 0.0

    def settimeout(self, seconds: float) -> None:
        self._waits = seconds

    def recv(self, size: int) -> bytes:
        if self._waits < self._patience:
            raise TimeoutError("nothing came")
        return self._printed

    def close(self) -> None:
        """Does nothing."""


@pytest.fixture
def ended() -> Iterator[int]:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    descriptor = os.pidfd_open(pid)
    os.waitpid(pid, 0)
    yield descriptor


def _session(process: int, status: _Status) -> Session:
    session, far = Session.pair(Limits())
    for descriptor in far:
        os.close(descriptor)
    session._status.close()
    session._status, session._pidfd = status, process  # type: ignore[assignment]
    return session


@pytest.mark.parametrize("number", sorted(signal.valid_signals()))
def test_every_signal_that_ends_a_worker_is_named(number: int) -> None:
    fault = fault_of(number, 0.0, Limits())
    assert isinstance(fault, AnswerCrashed)
    assert str(fault)


def test_signals_are_ignored_except_those_that_end_every_worker() -> None:
    assert set(confine._SIGNALS_IGNORED) | confine._SIGNALS_LEFT == signal.valid_signals()


def test_an_ended_worker_is_not_blamed_for_closing_its_channel(
    ended: int,
) -> None:
    session = _session(ended, _Status(json.dumps([int(signal.SIGSEGV), 0.1, 1]).encode()))
    with pytest.raises(AnswerCrashed, match="SIGSEGV"):
        session._ended()
    session.close()


@pytest.mark.parametrize("status", [_Status(b""), _Status(b"", patience=1e9)], ids=["gone", "mute"])
def test_an_unexplained_end_is_not_the_students_fault(ended: int, status: _Status) -> None:
    session = _session(ended, status)
    with pytest.raises(SandboxError):
        session._ended()
    session.close()


def test_a_worker_that_continues_has_closed_its_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.sandbox.session._ENDING_SECONDS", 0.0)
    near, far = socket.socketpair()
    session = _session(os.dup(near.fileno()), _Status(b""))  # no report: still running
    monkeypatch.setattr(session, "_signal", lambda number: None)
    with pytest.raises(AnswerProtocol, match="closed the grader's channel"):
        session._ended()
    session.close()
    near.close()
    far.close()


def test_an_unforked_worker_names_the_limit_to_raise() -> None:
    session, far = Session.pair(Limits())
    os.write(far[1], b"E[Errno 11] no process can be forked")
    for descriptor in far:
        os.close(descriptor)
    with pytest.raises(SandboxError, match=r"no process can be forked; .* \(ulimit -u"):
        session.ask(Budget.of(Limits()), "call", "probe", [])
    session.close()
