"""Keeps the files next to a notebook in memory, because workers can't open files.

The notebook can read, import and change these files, and write new ones; all changes are lost when
the worker ends. Files in memory work with Python's own file functions (`open`, `pathlib`, `os.stat`
and so on), and therefore also with numpy, pandas and matplotlib, but not with code in C.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MOST_BYTES = 256 << 20
_real_open, _real_stat, _real_listdir, _real_scandir = io.open, os.stat, os.listdir, os.scandir
_real_remove, _real_mkdir, _real_access = os.remove, os.mkdir, os.access


class Files:
    """Files and folders, keyed by their paths relative to the notebook's folder."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.folders: set[str] = {""}
        self.in_use = False

    def put(self, contents: Mapping[str, bytes]) -> None:
        """Adds files, and the folders that contain them."""
        for name, data in contents.items():
            self.contents[name] = data
            parts = name.split("/")[:-1]
            self.folders.update("/".join(parts[: n + 1]) for n in range(len(parts)))

    def install(self) -> None:
        """Replaces Python's own file functions.

        Call this method before any package stores a reference to one of these functions.
        """
        builtins.open = io.open = self.open
        os.stat = self.stat
        os.lstat = self.stat
        os.listdir = self.listdir  # type: ignore[assignment]
        os.scandir = self.scandir
        os.remove = os.unlink = self.remove
        os.mkdir = self.mkdir
        os.access = self.access

    def open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """Works like the built-in `open`."""
        name = self._name(file)
        writes = bool(set(mode) & set("wax+"))
        if name is None or (name not in self.contents and not (writes and self._may_hold(name))):
            return _real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if "x" in mode and name in self.contents:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file))
        raw = _File(self, name, mode)
        if "b" in mode:
            return raw
        return io.TextIOWrapper(raw, encoding or "utf-8", errors, newline)

    def stat(self, path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        """Works like `os.stat`."""
        name = self._name(path)
        if name is not None and name in self.contents:
            return _status(stat.S_IFREG | 0o644, len(self.contents[name]))
        if name and name in self.folders:
            return _status(stat.S_IFDIR | 0o755, 0)
        return _real_stat(path, *args, **kwargs)

    def listdir(self, path: Any = ".") -> list[str]:
        """Works like `os.listdir`."""
        name = self._name(path)
        if name is None or name not in self.folders:
            return _real_listdir(path)
        inside = f"{name}/" if name else ""
        known = [*self.contents, *self.folders - {""}]
        return sorted({n[len(inside) :].split("/")[0] for n in known if n.startswith(inside)})

    def scandir(self, path: Any = ".") -> Any:
        """Works like `os.scandir`."""
        if self._name(path) not in self.folders:
            return _real_scandir(path)
        return _ScandirIterator([_Entry(os.fspath(path), name) for name in self.listdir(path)])

    def remove(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Works like `os.remove`."""
        name = self._name(path)
        if name is None or name not in self.contents:
            return _real_remove(path, *args, **kwargs)
        del self.contents[name]

    def mkdir(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Works like `os.mkdir`."""
        name = self._name(path)
        if name is None or not self._may_hold(name):
            return _real_mkdir(path, *args, **kwargs)
        self.folders.add(name)

    def access(self, path: Any, mode: int, **kwargs: Any) -> bool:
        """Works like `os.access`."""
        name = self._name(path)
        return name in self.contents or name in self.folders or _real_access(path, mode, **kwargs)

    def store(self, name: str, data: bytes) -> None:
        """Stores a file's contents; raises OSError if all files together would become too large."""
        if sum(map(len, self.contents.values())) + len(data) > _MOST_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        self.contents[name] = data

    def _name(self, path: Any) -> str | None:
        """Returns the path in the notebook's folder, or None if the real functions must be used."""
        if not self.in_use or isinstance(path, int):
            return None
        try:
            text = os.fsdecode(path)
        except TypeError:
            return None
        name = os.path.normpath(os.path.join("/", text)).lstrip("/")
        return "" if name == "." else name

    def _may_hold(self, name: str) -> bool:
        """Returns whether a new file or folder may have this name.

        The name must be in an existing folder, and must not be the name of a folder.
        """
        return os.path.dirname(name) in self.folders - {name} and name not in self.folders


#: this process's files; there is only one such object, because `open` is replaced only once
DATA_FILES = Files()


class _File(io.BytesIO):
    """An open file; written data is stored when it is flushed or closed."""

    def __init__(self, files: Files, name: str, mode: str) -> None:
        super().__init__(b"" if "w" in mode else files.contents.get(name, b""))
        self.name = name
        self._files = files
        self._writes = bool(set(mode) & set("wax+"))
        if "a" in mode:
            self.seek(0, io.SEEK_END)
        if self._writes:
            files.store(name, self.getvalue())

    def writable(self) -> bool:
        return self._writes

    def write(self, data: Any) -> int:
        if not self._writes:
            raise io.UnsupportedOperation("not writable")
        return super().write(data)

    def flush(self) -> None:
        if self._writes and not self.closed:
            self._files.store(self.name, self.getvalue())

    def close(self) -> None:
        self.flush()
        super().close()


class _Entry:
    """Acts like `os.DirEntry`."""

    def __init__(self, folder: str, name: str) -> None:
        self.name = name
        self.path = os.path.join(folder, name)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return os.path.isdir(self.path)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return os.path.isfile(self.path)

    def is_symlink(self) -> bool:
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path)


class _ScandirIterator:
    def __init__(self, entries: Sequence[_Entry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[_Entry]:
        return self._entries

    def __next__(self) -> _Entry:
        return next(self._entries)

    def __enter__(self) -> _ScandirIterator:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def close(self) -> None:
        """Does nothing; see `os.scandir`."""


def _status(mode: int, size: int) -> os.stat_result:
    return os.stat_result((mode, 1, 1, 1, os.getuid(), os.getgid(), size, 0, 0, 0))
