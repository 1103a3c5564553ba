"""What a worker prints: counted, and the end of it kept."""

from __future__ import annotations

import os

_END_BYTES = 2000
_PART_BYTES = 1 << 16


class Output:
    """The reading end of a worker's output. Close it."""

    def __init__(self, descriptor: int, limit: int) -> None:
        """`limit` is the number of bytes after which no more is read."""
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.size = 0
        self.end = b""
        self._limit = limit

    def drain(self) -> bool:
        """Reads what is there, until it is too much; False where the other end is closed."""
        while self.size <= self._limit:
            try:
                part = os.read(self.descriptor, _PART_BYTES)
            except BlockingIOError:
                return True
            if not part:
                return False
            self.size += len(part)
            self.end = (self.end + part)[-_END_BYTES:]
        return True

    def close(self) -> None:
        """Closes the descriptor."""
        os.close(self.descriptor)
