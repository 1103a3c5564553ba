"""Turns a worker's reply, or its end, into a value or an `AnswerFault`; trusts nothing in it."""

from __future__ import annotations

import json
import os
import signal
import socket
from typing import Any

from ..errors import (
    AnswerCrashed,
    AnswerFault,
    AnswerMemory,
    AnswerMissing,
    AnswerNotImplemented,
    AnswerProtocol,
    AnswerRaised,
    AnswerTimeout,
    SandboxError,
)
from ..records import Limits
from ..worker import wire

#: the most characters of a failure's text and of a name, and the most bases of an exception; an
#: honest worker sends no more
_MOST_TEXT, _MOST_NAME, _MOST_BASES = 1_500, 100, 12


def value_of(reply: Any) -> Any:
    """Returns the value in a decoded reply; raises the fault that it reports.

    Raises `BadFrame` if it is not a valid reply.
    """
    match reply:
        case ("ok", value):
            return value
        case ("missing", str(name)):
            raise AnswerMissing(f"{name[:_MOST_NAME]} is not defined")
        case ("unloaded", str(text)):  # no answer raised this, so no test may expect it as an error
            raise AnswerFault(text[:_MOST_TEXT])
        case ("timeout", str(text)):
            raise AnswerTimeout(text[:500])
        case ("memory", str(text)):
            raise AnswerMemory(f"asked for more memory than the limit: {text[:300]}")
        case ("protocol", str(text)):
            raise AnswerProtocol(text[:500])
        case ("raised", str(kind), str(text), [*bases], str(where)):
            # a longer text would slow down everything that reads the message
            kind, text, where = kind[:_MOST_NAME], text[:_MOST_TEXT], where[:_MOST_TEXT]
            names = tuple(b[:_MOST_NAME] for b in bases[:_MOST_BASES] if isinstance(b, str))
            if "NotImplementedError" in names:
                raise AnswerNotImplemented(_not_implemented(kind, text, where))
            raise AnswerRaised(f"{kind}: {text}\n{where}".strip(), kind, names)
    raise wire.BadFrame("not of the agreed form")


def _not_implemented(kind: str, text: str, where: str) -> str:
    """Describes a NotImplementedError: of a stub, or of torch, as for a missing `forward`."""
    is_stub = "raise" in where.rpartition("\n")[2]
    return "not implemented yet" if is_stub or not text else f"{kind}: {text}\n{where}".strip()


def report_in(status: socket.socket) -> list[float]:
    """Reads the fork server's report on a worker's end: wait status, CPU seconds, memory.

    Raises `SandboxError` without a report, because the cause of the end is then unknown.
    """
    try:
        report = status.recv(4096)
    except OSError as error:
        raise SandboxError(f"the fork server did not report how a worker ended: {error}") from error
    if not report:
        raise SandboxError("the fork server ended before it could report how a worker ended")
    found: list[float] = json.loads(report)
    return found


def fault_of(code: int, cpu: float, limits: Limits) -> AnswerFault:
    """Returns the fault that matches a worker's wait status and its CPU seconds."""
    if os.WIFEXITED(code):
        status = os.WEXITSTATUS(code)
        return AnswerCrashed(f"the code ended its own process with exit status {status}")
    number = os.WTERMSIG(code)
    if number in (signal.SIGXCPU, signal.SIGKILL) and cpu >= limits.cpu_seconds:
        return AnswerTimeout(f"used {cpu:.0f} s of CPU time")
    if number == signal.SIGXFSZ:
        return AnswerCrashed("wrote a file larger than the limit")
    named = number in set(signal.Signals)  # real-time signals have only numbers
    name = signal.Signals(number).name if named else f"signal {number}"
    return AnswerCrashed(f"the process was ended by {name}")
