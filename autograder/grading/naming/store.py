"""Keeps tables of known mistakes in the course, with which they are distributed, and in a cache.

A table's key is a digest of everything on which the table's results depend. For each question, the
course contains one table, which is committed with the suite. If there is no table for the current
suite, one is made when it is first needed, and stored both in the course and in the cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from zipfile import BadZipFile

from ...course import TABLES
from ...garbage import garbage_kept
from .table import Table

#: the errors that reading a file may raise if it is missing or not a table
_NO_TABLE = (OSError, EOFError, BadZipFile, zlib.error, ValueError, KeyError, TypeError)
#: the maximum number of tables for a question in a cache, and how many days a table is kept there
_KEPT, _DAYS = 3, 30
_DAY = 86400.0


class Store:
    """Keeps a course's tables of known mistakes."""

    def __init__(self, course: Path) -> None:
        self._course = course / TABLES
        self._cache = cache_folder()

    def get(
        self, question: str, key: str, make: Callable[[], Table], fits: Callable[[Table], bool]
    ) -> Table:
        """Returns a question's table that has this key and suits this machine; makes it if needed.

        Only one process makes the table, while others wait. In the course, the new table replaces a
        table with a different key, but not one with the same key: if that table does not suit this
        machine, it was made on a machine that rounds or draws random numbers differently.
        """
        kept, cached = self._kept(question), self._cache / f"{question}-{key}.npz"

        def found() -> Table | None:
            return next(filter(None, (_read(path, key, fits) for path in (kept, cached))), None)

        if table := found():
            return table
        with _alone(self._cache / f".{question}.lock", self._course):
            if table := found():
                return table
            data = make().to_bytes()
            if _read(kept, key, lambda table: True) is None:
                _keep(kept, key, data)
            if _is_folder(cached.parent):
                _keep(cached, key, data)
                _clear(cached, question)
            return Table.from_bytes(data)  # read it as every other process will

    def renew(
        self, question: str, key: str, make: Callable[[], Table], fits: Callable[[Table], bool]
    ) -> None:
        """Makes sure that the course's table suits this machine; may replace one with the same key.

        The key does not depend on the numbers in inputs, so a table with the same key may contain
        results for earlier inputs.
        """
        if self.is_current(question, key, fits):
            return
        kept = self._kept(question)
        kept.unlink(missing_ok=True)
        self.get(question, key, make, fits)
        if not kept.exists():  # `get` found the table in the cache
            data = (self._cache / f"{question}-{key}.npz").read_bytes()
            _keep(kept, key, data.partition(b"\n")[2])

    def is_current(self, question: str, key: str, fits: Callable[[Table], bool]) -> bool:
        """Returns whether the course contains a table that has this key and suits this machine."""
        return _read(self._kept(question), key, fits) is not None

    def remove_others(self, questions: Iterable[str]) -> None:
        """Removes the course's tables of other questions, such as those that have been renamed."""
        used = {self._kept(question) for question in questions}
        with contextlib.suppress(OSError):  # a course may be read-only
            for path in self._course.glob("*.npz"):
                if path not in used:
                    path.unlink()

    def _kept(self, question: str) -> Path:
        return self._course / f"{question}.npz"


def cache_folder() -> Path:
    """Returns the cache folder: `$XDG_CACHE_HOME/autograder`, by default in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return home / "autograder" / "mistakes"


@garbage_kept()
def _read(path: Path, key: str, fits: Callable[[Table], bool]) -> Table | None:
    """Returns the table in a file, or None if its key differs or it does not suit this machine."""
    with contextlib.suppress(*_NO_TABLE):
        own, _, data = path.read_bytes().partition(b"\n")
        if own == key.encode() and fits(table := Table.from_bytes(data)):
            return table
    return None


def _keep(path: Path, key: str, data: bytes) -> None:
    """Writes a table if possible; ignores errors, such as those of a full disk."""
    if _is_folder(path.parent):
        own = path.with_name(f".{path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            own.write_bytes(key.encode() + b"\n" + data)
            own.replace(path)


def _is_folder(folder: Path) -> bool:
    """Returns whether files can be created in a folder; creates the folder if necessary."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK)
    return False


@contextlib.contextmanager
def _alone(lock: Path, folder: Path) -> Iterator[None]:
    """Lets only one process at a time work on a question, if it is possible to create a lock.

    Without a cache folder, all questions share a lock on the course's folder of tables.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            if _is_folder(lock.parent):
                fcntl.flock(stack.enter_context(lock.open("a")), fcntl.LOCK_EX)
            elif _is_folder(folder):
                fd = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, fd)
                fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def _clear(path: Path, question: str) -> None:
    """Removes old tables from a cache, and all tables for this question except the latest few."""
    with contextlib.suppress(OSError):  # another process may be doing the same
        tables = {other: other.stat().st_mtime for other in path.parent.glob("*.npz")}
        mine = [other for other in tables if other.name.rpartition("-")[0] == question]
        mine.sort(key=lambda other: tables[other], reverse=True)
        unused = {other for other, at in tables.items() if at < time.time() - _DAYS * _DAY}
        for other in unused.union(mine[_KEPT:]) - {path}:
            other.unlink(missing_ok=True)
