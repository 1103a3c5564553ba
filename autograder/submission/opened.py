"""The only place that opens submitted files: with a size limit, and without following links.

Also notices whether files change while they are graded.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
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


#: what is known of each file without reading it: None if it does not exist
Stamps = tuple[tuple[int, ...] | None, ...]


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Returns values that change when one of the files is written, replaced, moved or renamed.

    A digest does not show that a file was replaced for a moment and put back.
    """
    return tuple(map(_stamp, paths))


def require_unchanged(folder: Path, before: object, after: object) -> None:
    """Raises `SubmissionError` if the files of a submission have changed."""
    if before != after:
        raise SubmissionError(
            f"{folder}: files were changed or moved while they were graded; grade again with "
            "--resume when nothing is writing to them"
        )


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        state = os.lstat(path)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
