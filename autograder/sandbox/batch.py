"""Many requests in one frame, and the frames of their replies: one exchange in place of many.

Every exchange of a worker and its grader meets cold caches on both sides, and a submission would
have hundreds of them. What every worker of a run is asked, the fork server holds: it is decoded
once, and a worker is only told which batch it is. `benchmarks/tricks.py` prints what both save.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from ..worker import wire

#: header and data of one reply, as they came
RawReply = tuple[bytes, bytes]
#: how a frame begins that is no reply
_ASKS = b'{"U": ["substitute", '


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests that are asked at once; the same bytes for every worker, known by their digest.

    With `kernels`, right answers need parts of torch that the fork server may not have loaded.
    """

    frame: bytes
    count: int
    digest: str
    kernels: bool = False

    @classmethod
    def of(cls, requests: Sequence[tuple[Any, ...]], kernels: bool = False) -> Batch:
        """Encodes requests, each an operation and its arguments."""
        request = ("several", list(requests))
        frame = b"".join(wire.encode(0, request, layouts=True))
        digest = hashlib.blake2b(frame, digest_size=16).hexdigest()
        return cls(frame, len(requests), digest, kernels)

    def asked(self, frame: int, held: Container[str] = ()) -> bytes:
        """What is sent under this number to a worker whose fork server holds batches by digest."""
        if self.digest in held:
            return b"".join(wire.encode(frame, ("held", self.digest)))
        _, header_size, data_size = wire.HEAD.unpack_from(self.frame)
        return wire.HEAD.pack(frame, header_size, data_size) + self.frame[wire.HEAD.size :]


def reply_in(frame: bytes) -> RawReply:
    """The reply in a frame of our own."""
    _, header_size, _ = wire.HEAD.unpack_from(frame)
    middle = wire.HEAD.size + header_size
    return frame[wire.HEAD.size : middle], frame[middle:]


class RawReplies:
    """Takes the replies to a batch out of what comes; all together are as large as one may be.

    Between them may be what a worker asks of the grader, where that substitutes.
    """

    def __init__(self, frame: int, count: int, limit: int, substitutes: bool = False) -> None:
        self._frame = frame
        self._substitutes = substitutes
        self._count = count
        self._left = limit
        self._buffer = bytearray()
        self.found: list[RawReply] = []

    @property
    def complete(self) -> bool:
        """Whether every request has its reply."""
        return len(self.found) == self._count

    def feed(self, part: bytes) -> list[RawReply]:
        """Takes the next bytes, and returns what is asked in them of the grader.

        Raises `BadFrame` where they can't be replies to this batch.
        """
        self._buffer += part
        asked: list[RawReply] = []
        at = 0
        while not self.complete and len(self._buffer) - at >= wire.HEAD.size:
            frame, header_size, data_size = wire.HEAD.unpack_from(self._buffer, at)
            if frame != self._frame or header_size > wire.MAX_HEADER_BYTES:
                raise wire.BadFrame("a frame that nobody asked for")
            if data_size > self._left:
                raise wire.BadFrame(f"{data_size} bytes; {self._left} are left")
            middle = at + wire.HEAD.size + header_size
            end = middle + data_size
            if len(self._buffer) < end:
                break
            header = bytes(self._buffer[at + wire.HEAD.size : middle])
            to = asked if self._substitutes and header.startswith(_ASKS) else self.found
            to.append((header, bytes(self._buffer[middle:end])))
            self._left -= data_size
            at = end
        del self._buffer[:at]
        if self.complete and self._buffer:
            raise wire.BadFrame("bytes left over")
        return asked
