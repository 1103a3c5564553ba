"""Encodes batches of requests, and extracts the replies without trusting them.

Every exchange between a worker and its grader starts with cold caches on both sides, and a
submission would need hundreds of exchanges. Requests are therefore sent in batches. The fork server
holds the batches that all workers in a run get: it decodes each batch only once, and workers
receive only the batch's digest. `benchmarks/tricks.py` prints how much time batches and digests
save.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
from collections.abc import Container, Sequence
from dataclasses import dataclass
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

#: the maximum length of a failure's text and of a name, and the maximum number of base classes of
#: an exception; an honest worker stays below these limits
_MOST_TEXT, _MOST_NAME, _MOST_BASES = 1_500, 100, 12


def value_of(reply: Any) -> Any:
    """Returns the value in a decoded reply, or raises the fault that the reply reports.

    Raises `BadFrame` if the reply is not valid.
    """
    match reply:
        case ("ok", value):
            return value
        case ("missing", str(name)):
            raise AnswerMissing(f"{name[:_MOST_NAME]} is not defined")
        case ("unloaded", str(text)):  # not raised by an answer, so no test may accept it
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
    raise wire.BadFrame("it does not have the expected form")


def _not_implemented(kind: str, text: str, where: str) -> str:
    """Describes a NotImplementedError from a stub, or from torch if `forward` is missing."""
    is_stub = "raise" in where.rpartition("\n")[2]
    return "not implemented yet" if is_stub or not text else f"{kind}: {text}\n{where}".strip()


def report_in(status: socket.socket) -> list[float]:
    """Reads the fork server's report on how a worker ended: wait status, CPU seconds, memory.

    Raises `SandboxError` if there is no report, because the cause is then unknown.
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
    """Returns the fault that corresponds to a worker's wait status and CPU seconds."""
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
    return AnswerCrashed(f"the process was terminated by {name}")


#: the header and the data of a reply, not yet decoded
RawReply = tuple[bytes, bytes]
#: the maximum size of all headers in one exchange, because a megabyte may take half a second to
#: decode
_MOST_HEADER_BYTES = 16 * wire.MAX_HEADER_BYTES
#: the beginning of a reply with an error
RAISED = b'{"U": ["raised", '
#: the beginning of a frame that contains a request to the grader instead of a reply
_ASKS = b'{"U": ["substitute", '


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests that are sent together, encoded in the same bytes for every worker.

    `digest` identifies the requests.

    `kernels` is true if correct answers need parts of torch that the fork server may not have
    loaded.
    """

    frame: bytes
    count: int
    digest: str
    kernels: bool = False

    @classmethod
    def of(cls, requests: Sequence[tuple[Any, ...]], kernels: bool = False) -> Batch:
        """Encodes requests; each request is an operation and its arguments."""
        request = ("several", list(requests))
        frame = b"".join(wire.encode(0, request, layouts=True))
        digest = hashlib.blake2b(frame, digest_size=16).hexdigest()
        return cls(frame, len(requests), digest, kernels)

    def asked(self, frame: int, held: Container[str] = ()) -> bytes:
        """Returns the bytes that send this batch to a worker, as frame number `frame`.

        If the worker already has the batch, the bytes contain only the batch's digest.
        """
        if self.digest in held:
            return b"".join(wire.encode(frame, ("held", self.digest)))
        _, header_size, data_size = wire.HEAD.unpack_from(self.frame)
        return wire.HEAD.pack(frame, header_size, data_size) + self.frame[wire.HEAD.size :]


def reply_in(frame: bytes) -> RawReply:
    """Returns the reply in a frame that this process encoded itself."""
    _, header_size, _ = wire.HEAD.unpack_from(frame)
    middle = wire.HEAD.size + header_size
    return frame[wire.HEAD.size : middle], frame[middle:]


class RawReplies:
    """Extracts the replies to a batch from received bytes; `limit` is their maximum total size.

    If `substitutes` is true, the worker may also send its own requests to the grader between the
    replies.
    """

    def __init__(self, frame: int, count: int, limit: int, substitutes: bool = False) -> None:
        self._frame = frame
        self._substitutes = substitutes
        self._count = count
        self._left = limit
        self._headers_left = _MOST_HEADER_BYTES
        self._buffer = bytearray()
        self.found: list[RawReply] = []

    @property
    def complete(self) -> bool:
        """Returns whether every request has a reply."""
        return len(self.found) == self._count

    def feed(self, part: bytes) -> list[RawReply]:
        """Adds received bytes; returns the worker's requests that are now complete.

        Raises `BadFrame` if the bytes can't be replies to this batch.
        """
        self._buffer += part
        asked: list[RawReply] = []
        head, found = wire.HEAD, self.found
        received, at, left = len(self._buffer), 0, self._count - len(found)
        while left and received - at >= head.size:
            frame, header_size, data_size = head.unpack_from(self._buffer, at)
            if frame != self._frame or header_size > wire.MAX_HEADER_BYTES:
                raise wire.BadFrame("a frame that was not requested")
            if data_size > self._left:
                raise wire.BadFrame(f"{data_size} bytes; {self._left} are left")
            if header_size > self._headers_left:
                raise wire.BadFrame("the headers of its replies are too large")
            middle = at + head.size + header_size
            end = middle + data_size
            if received < end:
                break
            reply = bytes(self._buffer[at + head.size : middle]), bytes(self._buffer[middle:end])
            if self._substitutes and reply[0].startswith(_ASKS):
                asked.append(reply)
            else:
                found.append(reply)
                left -= 1
            self._left -= data_size
            self._headers_left -= header_size
            at = end
        del self._buffer[:at]
        if self.complete and self._buffer:
            raise wire.BadFrame("bytes left over")
        return asked
