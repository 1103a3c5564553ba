"""Makes checks refuse the same operations as the grading sandbox, with the same errors.

Otherwise, an answer that writes a file, opens a connection or starts a process would pass its
checks and get no points. Code that handles the errors works in both.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ..worker.compiler import not_compiling

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: audit events of changes in a file system; the first argument is the path
_CHANGES = frozenset(
    ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir")
    + ("os.symlink", "os.truncate", "os.utime", "shutil.rmtree")
)
#: events of processes and connections
_OTHERS = frozenset(
    ("_posixsubprocess.fork_exec", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.posix_spawn")
    + ("os.spawn", "os.startfile", "socket.__new__", "subprocess.Popen")
)
_LISTS = frozenset(("os.listdir", "os.scandir"))
#: the files of Python's code that imports modules, or reads source for the text of errors
_IMPORTS, _READERS = "<frozen importlib", ("linecache.py", "tokenize.py", "inspect.py")


class _Hook:
    """An audit hook, which Python can't remove; it refuses only in one thread, if that is set."""

    def __init__(self) -> None:
        self.thread: int | None = None
        self._is_installed = False

    def install(self) -> None:
        """Add the hook once for the whole process."""
        if not self._is_installed:
            self._is_installed = True
            sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        # the other threads of a kernel connect to Jupyter
        if self.thread is not None and threading.get_ident() == self.thread:
            _refuse(event, arguments)


_hook = _Hook()


@contextlib.contextmanager
def as_in_grading() -> Iterator[None]:
    """Refuse in this thread the operations that grading refuses; like there, compile nothing."""
    _hook.install()
    save = torch.save
    with not_compiling(), _eager():
        _hook.thread, torch.save = threading.get_ident(), partial(_saved, save)
        try:
            yield
        finally:
            _hook.thread, torch.save = None, save


@contextlib.contextmanager
def _eager() -> Iterator[None]:
    """Run functions that were compiled earlier without their compiled code."""
    if not hasattr(sys.modules.get("torch._dynamo"), "eval_frame"):
        yield  # the compiler has never been used, and importing it takes seconds
        return
    with torch.compiler.set_stance("force_eager"):
        yield


def _saved(save: Callable[..., None], thing: object, f: Any, *args: Any, **kwargs: Any) -> None:
    """Save to memory only, because torch would open a path in C++, unseen by Python."""
    if isinstance(f, str | os.PathLike):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(f))
    save(thing, f, *args, **kwargs)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        _open(*arguments[:3])
    elif event in _CHANGES:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), arguments[0])
    elif event in _LISTS:
        if not (_is_known(arguments[0]) or _is_read_by_python()):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), arguments[0])
    elif event in _OTHERS:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    elif event == "socket.getaddrinfo":
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


def _open(path: Any, mode: str | None, flags: int) -> None:
    if not isinstance(path, str | bytes | os.PathLike) or os.fspath(path) == os.devnull:
        return
    if flags & _WRITES or set(mode or "") & set("wax+"):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
    if not (_is_known(path) or _is_read_by_python()):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _is_known(path: Any) -> bool:
    """Return whether a path belongs to Python, torch or a device, which grading also has."""
    if not isinstance(path, str | bytes | os.PathLike):
        return path is not None
    place = os.path.abspath(os.fsdecode(path))
    return place.startswith(_KNOWN)


def _folders() -> Iterator[str]:
    yield from {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    yield from (str(Path(torch.__file__).parents[1]), str(Path(__file__).parents[1]), "/dev")


_KNOWN = tuple(folder.rstrip(os.sep) + os.sep for folder in _folders())


def _is_read_by_python() -> bool:
    """Return whether Python itself is reading, for an import or for the text of an error."""
    caller: FrameType | None = sys._getframe()
    while caller is not None and caller.f_code.co_filename == __file__:
        caller = caller.f_back
    name = caller.f_code.co_filename if caller is not None else ""
    return name.startswith(_IMPORTS) or os.path.basename(name) in _READERS
