"""Many requests in one frame, and the frames of their replies: one exchange instead of many.

Every exchange between a worker and its grader runs with cold caches on both sides, and a submission
would need hundreds of them. The fork server holds the batches that every worker of a run gets: it
decodes each once, and a worker receives only the batch's digest. `benchmarks/tricks.py` prints how
much time both save.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from ..worker import wire

#: header and data of one reply, not yet decoded
RawReply = tuple[bytes, bytes]
#: the beginning of a frame that is a request to the grader, not a reply
_ASKS = b'{"U": ["substitute", '


@dataclass(frozen=True, slots=True)
class Batch:
    """Requests that are sent at once: the same bytes for every worker, identified by a digest.

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
        """Returns the bytes to send as this frame; `held` are the fork server's batches."""
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
    """Extracts the replies to a batch from received bytes; they share the size limit of one reply.

    If the grader substitutes answers, requests of the worker may come between the replies.
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
        """Return whether every request has its reply."""
        return len(self.found) == self._count

    def feed(self, part: bytes) -> list[RawReply]:
        """Takes the next bytes, and returns the requests to the grader in them.

        Raises `BadFrame` if they can't be replies to this batch.
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
