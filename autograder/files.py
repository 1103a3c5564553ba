"""Replaces files in one step, so that a reader sees the old or the new file, never part of one.

Also locks a folder, so that only one process at a time changes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import UserError


def replace_file(path: Path, text: str) -> Path:
    """Writes `text` to `path`, unless the file already contains it.

    Raises `UserError` if the file can't be written.
    """
    return replace_bytes(path, text.encode("utf-8", "replace"))


def replace_bytes(path: Path, data: bytes) -> Path:
    """Writes bytes to `path`, unless the file already contains them.

    Raises `UserError` if the file can't be written.
    """
    try:
        if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
            return path
    except OSError as error:
        raise _refused(path, error) from error
    with replacing(path) as file:
        file.write(data)
    return path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yields a temporary file, which replaces `path` at the end of the block.

    An existing file keeps its permissions; a new file gets permissions according to the umask.
    Raises `UserError` if the file can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".writing-{secrets.token_hex(8)}")
        try:
            with open(temporary, "xb") as file:  # its mode obeys the caller's umask
                if (mode := _mode_of(path)) is not None:
                    os.chmod(temporary, mode)
                yield file
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _refused(path, error) from error


def _mode_of(path: Path) -> int | None:
    """Returns the permissions of a regular file, or None if `path` is not a regular file."""
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return stat.S_IMODE(state.st_mode) & 0o777 if stat.S_ISREG(state.st_mode) else None


def _refused(path: Path, error: OSError) -> UserError:
    return UserError(f"{path}: can't be written: {error.strerror or error}")


@contextlib.contextmanager
def running_alone(lock_file: Path, what: str) -> Iterator[None]:
    """Locks the folder that contains `lock_file` during a block; creates the folder if necessary.

    Raises `UserError` at once if another process holds the lock. `what`, such as "collection",
    names the work in the error's message.
    """
    folder = lock_file.parent
    folder.mkdir(parents=True, exist_ok=True)
    with lock_file.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{folder}: another {what} is running there; wait until it has ended"
            ) from None
        yield
