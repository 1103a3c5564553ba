"""The only place that opens submitted files: with a size limit, and without following links."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import SubmissionError

#: Read raw bytes and, where the system supports it, refuse links, don't wait for a pipe, and don't
#: pass the descriptor on to children.
_READ = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _READ |= getattr(os, _flag, 0)


def read_bytes(path: Path, limit: int) -> bytes:
    """Returns up to `limit` bytes of a regular file; raises `SubmissionError` otherwise."""
    try:
        descriptor = os.open(path, _READ)
    except (OSError, ValueError) as error:
        if path.is_symlink():
            raise SubmissionError("is not a regular file but a link; submit the file") from error
        raise SubmissionError(f"can't be read ({error}); upload it again") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SubmissionError("is not a regular file; submit the file itself")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(limit)
