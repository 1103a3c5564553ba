"""Makes checks treat answers as grading does, and refuse the same operations with the same errors.

Otherwise, an answer that writes a file, opens a connection or starts a process would pass its
checks but get no points. Because the errors are the same, code that handles them works both in
checks and during grading. And as during grading, a default dtype that a file sets affects the
answers, but not the numbers that checks create.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import genericpath
import importlib
import os
import socket
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from types import FrameType, MethodType
from typing import Any

import torch

from ..suite import Implementation
from ..worker.compiler import not_compiling
from ..worker.system_calls import ALLOWED

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: audit events for changes in the file system; their first argument is the path
_CHANGES = frozenset(
    ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir")
    + ("os.symlink", "os.truncate", "os.utime", "shutil.rmtree")
)
#: audit events for processes and connections
_OTHERS = frozenset(
    ("_posixsubprocess.fork_exec", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.posix_spawn")
    + ("os.spawn", "os.startfile", "socket.__new__", "subprocess.Popen")
)
_LISTS = frozenset(("os.listdir", "os.scandir"))
_SEEN = _CHANGES | _OTHERS | _LISTS | {"open", "socket.getaddrinfo", "sqlite3.connect"}
#: the names of Python's own files that import modules, or read source lines for tracebacks
_IMPORTS, _READERS = "<frozen importlib", ("linecache.py", "tokenize.py", "inspect.py")
#: the names of files whose functions check paths on behalf of other code
_PATHS = frozenset((__file__, os.path.__file__, genericpath.__file__))
#: functions without an audit event, with the system call that they make; a function is refused if
#: the sandbox does not allow its system call
_FUNCTIONS = {
    "fcntl.flock": "flock",
    "os.chroot": "chroot",
    "os.copy_file_range": "copy_file_range",
    "os.eventfd": "eventfd2",
    "os.fstatvfs": "fstatfs",
    "os.getpriority": "getpriority",
    "os.getxattr": "getxattr",
    "os.listxattr": "listxattr",
    "os.memfd_create": "memfd_create",
    "os.mkfifo": "mknodat",
    "os.mknod": "mknodat",
    "os.nice": "setpriority",
    "os.pidfd_open": "pidfd_open",
    "os.posix_fallocate": "fallocate",
    "os.removexattr": "removexattr",
    "os.sched_setaffinity": "sched_setaffinity",
    "os.sched_setparam": "sched_setparam",
    "os.sched_setscheduler": "sched_setscheduler",
    "os.sendfile": "sendfile",
    "os.setpgid": "setpgid",
    "os.setpriority": "setpriority",
    "os.setsid": "setsid",
    "os.setxattr": "setxattr",
    "os.splice": "splice",
    "os.statvfs": "statfs",
    "os.umask": "umask",
    "os.wait": "wait4",
    "os.wait3": "wait4",
    "os.wait4": "wait4",
    "os.waitid": "waitid",
    "os.waitpid": "wait4",
}
#: functions that are refused with a different error, because a C library raises it in the sandbox
_WITH_ERRORS: dict[str, Exception] = {
    "resource.setrlimit": ValueError("not allowed to raise maximum limit"),
    "torch.from_file": RuntimeError("unable to open file: No such file or directory (2)"),
    "torch.UntypedStorage._share_fd_cpu_": RuntimeError(
        "unable to open shared memory object in read-write mode: Permission denied (13)"
    ),
    "torch.UntypedStorage._share_filename_cpu_": RuntimeError(
        "unable to open shared memory object in read-write mode: Permission denied (13)"
    ),
}


class _Hook:
    """An audit hook that refuses operations only in `thread`, or nowhere if `thread` is None.

    Python has no way to remove an audit hook.
    """

    def __init__(self) -> None:
        self.thread: int | None = None
        self._is_installed = False

    def install(self) -> None:
        if not self._is_installed:
            self._is_installed = True
            sys.addaudithook(self)

    @property
    def refuses(self) -> bool:
        """Returns whether this thread runs checks; a kernel's other threads talk to Jupyter."""
        return self.thread is not None and threading.get_ident() == self.thread

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.refuses and event in _SEEN and not _is_importing(sys._getframe(1)):
            _refuse(event, arguments)


_hook = _Hook()


@contextlib.contextmanager
def as_in_grading() -> Iterator[None]:
    """Within the block, refuses in this thread the operations that are refused during grading.

    Also disables torch's compiler, which is not available during grading.
    """
    _hook.install()
    replaced = _replaced()
    with not_compiling(), _eager():
        for owner, name, _, new in replaced:
            setattr(owner, name, new)
        _hook.thread = threading.get_ident()
        try:
            yield
        finally:
            _hook.thread = None
            for owner, name, old, _ in replaced:
                setattr(owner, name, old)


@cache
def _replaced() -> Sequence[tuple[Any, str, Any, Any]]:
    """Returns the functions to replace, which are those that raise no audit event.

    Each item contains the function's owner, its name, the original function and the replacement.
    """
    errors: dict[str, Exception] = {
        name: PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        for name, call in _FUNCTIONS.items()
        if call not in ALLOWED
    }
    new: dict[str, Callable[[Any], Any]] = {
        name: partial(_refusing, error) for name, error in (errors | _WITH_ERRORS).items()
    }
    new |= {"os.stat": _seeing, "os.lstat": _seeing, "os.access": _allowing}
    new["torch.save"] = lambda save: partial(_saved, save)
    return [(*found, make(found[2])) for name, make in new.items() for found in _found(name)]


def _found(name: str) -> Iterator[tuple[Any, str, Any]]:
    """Yields (owner, name, function) for a dotted name, if this system has such a function."""
    module, *path, last = name.split(".")
    with contextlib.suppress(ImportError, AttributeError):
        owner = functools.reduce(getattr, path, importlib.import_module(module))
        yield owner, last, getattr(owner, last)


def _refusing(error: Exception, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function so that it raises `error` in the thread that runs checks."""

    @functools.wraps(function, updated=())
    def refuse(*args: Any, **kwargs: Any) -> Any:
        if _hook.refuses:
            raise type(error)(*error.args)
        return function(*args, **kwargs)

    return refuse


def _seeing(stat: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    """Wraps `stat` so that checks find only files that also exist during grading."""

    @functools.wraps(stat)
    def see(path: Any, *args: Any, **kwargs: Any) -> os.stat_result:
        if _hook.refuses and not _is_there(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return stat(path, *args, **kwargs)

    return see


def _allowing(access: Callable[..., bool]) -> Callable[..., bool]:
    """Wraps `access` so that checks find only files that also exist during grading."""

    @functools.wraps(access)
    def allow(path: Any, *args: Any, **kwargs: Any) -> bool:
        return not (_hook.refuses and not _is_there(path)) and access(path, *args, **kwargs)

    return allow


def _is_there(path: Any) -> bool:
    """Returns whether a path also exists during grading.

    Only the files of Python and its packages, and the folders above these files or above the
    answer, exist during grading.
    """
    if _is_known(path) or _is_read_by_python():
        return True
    place = os.path.join(os.path.abspath(os.fsdecode(path)), "")
    return any(folder.startswith(place) for folder in (*_KNOWN, os.path.join(os.getcwd(), "")))


@contextlib.contextmanager
def _eager() -> Iterator[None]:
    """Within the block, runs the original Python code of functions that torch has compiled."""
    # not `hasattr`, which would load the compiler if the module is only a placeholder
    if "eval_frame" not in getattr(sys.modules.get("torch._dynamo"), "__dict__", ()):
        yield  # the compiler has never been used, and importing it takes seconds
        return
    with torch.compiler.set_stance("force_eager"):
        yield


def _saved(save: Callable[..., None], thing: object, f: Any, *args: Any, **kwargs: Any) -> None:
    """Saves to file objects, but not to paths, which torch opens in C++, unseen by audit hooks."""
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
    elif event == "sqlite3.connect":
        if ":memory:" not in os.fsdecode(arguments[0] or ":memory:"):
            raise sys.modules["sqlite3"].OperationalError("unable to open database file")
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
    """Returns whether a path belongs to Python, its packages or a device.

    Such paths also exist during grading.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        return path is not None
    place = os.path.abspath(os.fsdecode(path))
    return place.startswith(_KNOWN)


def _folders() -> Iterator[str]:
    yield from {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    yield from (str(Path(torch.__file__).parents[1]), str(Path(__file__).parents[1]), "/dev")


_KNOWN = tuple(folder.rstrip(os.sep) + os.sep for folder in _folders())


def _is_read_by_python() -> bool:
    """Returns whether Python is importing a module, or reading source code to show an error."""
    caller: FrameType | None = sys._getframe()
    while caller is not None and caller.f_code.co_filename in _PATHS:
        caller = caller.f_back
    if caller is not None and os.path.basename(caller.f_code.co_filename) in _READERS:
        return True
    return _is_importing(caller)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTS):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Within the block, sets torch's default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def in_own_dtype(answers: Implementation) -> Implementation:
    """Returns `answers`, which are called in the dtype that is the default when this is called.

    As during grading, this setting affects the answers but not the numbers that checks create.
    """
    made: Any = _InDtype(answers, torch.get_default_dtype())
    return made  # type: ignore[no-any-return]  # it has the methods of `answers`


class _InDtype:
    """Passes calls on to an implementation, or to a layer that the implementation has built."""

    def __init__(self, inner: Any, dtype: torch.dtype) -> None:
        self._inner, self._dtype = inner, dtype

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return partial(self._called, found) if isinstance(found, MethodType) else found

    def _called(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with default_dtype(self._dtype):
            value = function(*args, **kwargs)
        return _InDtype(value, self._dtype) if hasattr(value, "forward") else value
