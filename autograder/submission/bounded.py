"""Reads students' files in a child process whose time and memory are limited.

Whatever a file contains, the calling process gets either text of limited length or a
`SubmissionError`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from ..errors import GraderError, SubmissionError, UserError

_fork = multiprocessing.get_context("fork")
#: the limits for one call: CPU seconds, wall seconds, and bytes of memory beyond those in use at
#: its start
_CPU_SECONDS, _WALL_SECONDS, _MEMORY = 30, 120.0, 2 << 30
_MOST_TEXT = 64 << 20
#: the index of the number of data pages in /proc/self/statm
_DATA = 5


class BoundedReader:
    """Calls, in a child process, a function that returns text.

    The first call forks a child process; a later call forks a new one if that process has ended.
    The child process ends when `close` is called or the `with` block exits.
    """

    def __init__(self, function: Callable[..., str]) -> None:
        self._function = function
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def __call__(self, *args: Any) -> str:
        """Returns the text that the function returns in the child process.

        Raises `SubmissionError` if the function does, or if it takes too much time or memory.
        Raises `GraderError` if the function raises any other exception.
        """
        pipe = self._pipe or self._start()
        pipe.send(args)
        try:
            if not pipe.poll(_WALL_SECONDS):
                raise TimeoutError
            answer = pipe.recv_bytes(_MOST_TEXT)
        except (OSError, EOFError) as error:  # it was killed, or its reply is too long
            self.close()
            raise SubmissionError("takes too much time or memory to read") from error
        kind, text = answer[:1], answer[1:].decode()
        if kind == b"S":
            raise SubmissionError(text)
        if kind == b"G":
            raise GraderError(text)
        return text

    def close(self) -> None:
        if self._process is not None and self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None

    def __enter__(self) -> BoundedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> Connection:
        require_memory(_MEMORY)
        self._pipe, far = _fork.Pipe()
        self._process = _fork.Process(
            target=_serve, args=(self._function, far, self._pipe), daemon=True
        )
        self._process.start()
        far.close()
        return self._pipe


def require_memory(size: int) -> None:
    """Raises `UserError` if this process's memory limit leaves a child less than `size` bytes."""
    needed, (_, hard) = _in_use() + size, resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UserError(
            f"a process that reads or judges what students wrote needs {needed >> 10} kB of memory "
            f"(ulimit -v); the grader was started with {hard >> 10} kB\n  fix: start it without "
            "this limit, or raise it in the shell, batch system or service that starts the grader"
        )


def limit_memory(size: int) -> None:
    """Lets this process's memory grow by at most `size` bytes, within the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = _in_use() + size
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _in_use() -> int:
    """Returns the size of this process's address space in bytes."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


@contextlib.contextmanager
def memory_limited(size: int) -> Iterator[None]:
    """Within the block, lets this process's data memory grow by at most `size` bytes."""
    with open("/proc/self/statm", "rb") as file:
        used = int(file.read().split()[_DATA]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (soft, used + size) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def limit_cpu(seconds: int) -> None:
    """Makes the kernel end this process after about `seconds` seconds of further CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, hard)
    )


def lift_cpu_limit() -> None:
    """Removes the limit that `limit_cpu` has set."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))


def _serve(function: Callable[..., str], pipe: Connection, near: Connection) -> None:
    near.close()
    limit_memory(_MEMORY)
    while True:
        try:
            args = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        limit_cpu(_CPU_SECONDS)
        try:
            answer = b"T" + function(*args).encode("utf-8", "replace")
        except SubmissionError as error:
            answer = b"S" + str(error).encode("utf-8", "replace")
        except MemoryError:
            answer = b"Stakes too much memory to read"
        except Exception:
            answer = b"G" + traceback.format_exc().encode("utf-8", "replace")
        pipe.send_bytes(answer)
