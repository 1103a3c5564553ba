"""Creates temporary folders that a later run removes if the run that created them was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "autograder-"
#: the name of the empty file that marks these folders
_MARK = ".temporary-folder-of-autograder"
#: the age in seconds below which a folder may not have been locked yet
_YOUNG_SECONDS = 60.0


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yields a new folder in the system's temporary folder, locked until the block ends.

    First removes marked folders that this user's earlier processes have left behind. Unmarked
    folders are kept, because they may be a person's own, such as a copy of a course.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            Path(name, _MARK).touch()
            # the inner folder has a temporary folder's usual permissions; tier C makes it readable
            # for its workers, without changing the outer folder
            os.chmod(name, 0o711)
            inner = Path(name, "files")
            inner.mkdir(mode=0o700)
            yield inner
        finally:
            os.close(lock)


def _remove_if_left(path: Path) -> None:
    with contextlib.suppress(OSError):  # another user's, no folder, locked, or already gone
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            state = os.fstat(folder)
            if state.st_uid != os.getuid() or time.time() - state.st_mtime < _YOUNG_SECONDS:
                return
            if not stat.S_ISREG(os.lstat(path / _MARK).st_mode):
                return
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(folder)
