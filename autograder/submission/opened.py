"""Opens what a student submitted, as nobody else does: with a limit, and never through a link."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import SubmissionError

#: bytes as they are; where the system knows them: no link, no waiting for a pipe, nothing inherited
_READ = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _READ |= getattr(os, _flag, 0)


def read_bytes(path: Path, limit: int) -> bytes:
    """At most `limit` bytes of a regular file; raises `SubmissionError`, never follows a link."""
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
