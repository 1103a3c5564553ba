"""What a worker answered, or how it ended, as a value or an `AnswerFault`. Believes nothing."""

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

#: characters of what is told of a failure, and of a name in it; an honest worker says no more
_MOST_TEXT, _MOST_NAME, _MOST_BASES = 1_500, 100, 12


def value_of(reply: Any) -> Any:
    """The value of a decoded reply; raises the fault that it tells, `BadFrame` where it is none."""
    match reply:
        case ("ok", value):
            return value
        case ("missing", str(name)):
            raise AnswerMissing(f"{name[:_MOST_NAME]} is not defined")
        case ("unloaded", str(text)):  # no answer has raised this: no test may take it for an error
            raise AnswerFault(text[:_MOST_TEXT])
        case ("timeout", str(text)):
            raise AnswerTimeout(text[:500])
        case ("memory", str(text)):
            raise AnswerMemory(f"asked for more memory than the limit: {text[:300]}")
        case ("protocol", str(text)):
            raise AnswerProtocol(text[:500])
        case ("raised", str(kind), str(text), [*bases], str(where)):
            # what is longer would be looked through by every reader of a message
            kind, text, where = kind[:_MOST_NAME], text[:_MOST_TEXT], where[:_MOST_TEXT]
            names = tuple(b[:_MOST_NAME] for b in bases[:_MOST_BASES] if isinstance(b, str))
            if "NotImplementedError" in names:
                raise AnswerNotImplemented(_not_implemented(kind, text, where))
            raise AnswerRaised(f"{kind}: {text}\n{where}".strip(), kind, names)
    raise wire.BadFrame("not of the agreed form")


def _not_implemented(kind: str, text: str, where: str) -> str:
    """That there is a stub; or what torch says that it can't do, or that it misses a `forward`."""
    is_stub = "raise" in where.rpartition("\n")[2]
    return "not implemented yet" if is_stub or not text else f"{kind}: {text}\n{where}".strip()


def report_in(status: socket.socket) -> list[float]:
    """How a worker ended, as the fork server says: wait status, CPU seconds, memory.

    Raises `SandboxError` where it says nothing: then nobody knows whose doing the end was.
    """
    try:
        report = status.recv(4096)
    except OSError as error:
        raise SandboxError(f"the fork server does not say how a worker ended: {error}") from error
    if not report:
        raise SandboxError("the fork server ended before it could say how a worker did")
    found: list[float] = json.loads(report)
    return found


def fault_of(code: int, cpu: float, limits: Limits) -> AnswerFault:
    """How a worker ended, by its wait status and the CPU seconds that it used."""
    if os.WIFEXITED(code):
        status = os.WEXITSTATUS(code)
        return AnswerCrashed(f"the code ended its own process with exit status {status}")
    number = os.WTERMSIG(code)
    if number in (signal.SIGXCPU, signal.SIGKILL) and cpu >= limits.cpu_seconds:
        return AnswerTimeout(f"used {cpu:.0f} s of CPU time")
    if number == signal.SIGXFSZ:
        return AnswerCrashed("wrote a file larger than the limit")
    named = number in set(signal.Signals)  # those for real-time programs have numbers only
    name = signal.Signals(number).name if named else f"signal {number}"
    return AnswerCrashed(f"the process was ended by {name}")
