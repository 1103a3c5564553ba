"""Where a run's submissions come from: a list that is there, or lines that come when they come."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import wait
from typing import Protocol

from ..records import Assignment
from ..submission import Submission

Task = tuple[Submission, Assignment]

_PART = 1 << 16


class Source(Protocol):
    """Gives submissions one by one; never waits."""

    def take(self) -> Task | None:
        """The next one that is there; None where there is none, or none yet."""

    @property
    def has_ended(self) -> bool:
        """Whether there will be no other one."""

    def awaited(self) -> Sequence[int]:
        """Descriptors that can be read when there may be another one."""


class Listed:
    """Submissions that are all known."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = deque(tasks)

    def take(self) -> Task | None:
        """The next one."""
        return self._tasks.popleft() if self._tasks else None

    @property
    def has_ended(self) -> bool:
        """Whether all were taken."""
        return not self._tasks

    def awaited(self) -> Sequence[int]:
        """Nothing: what is not there will not come."""
        return ()


class Streamed:
    """Submissions that a descriptor names, a line each; read no further than there is need.

    `task_of` makes a task of a line; it tells by itself why a line names none, and gives None.
    """

    def __init__(self, descriptor: int, task_of: Callable[[bytes], Task | None]) -> None:
        self._descriptor = descriptor
        self._task_of = task_of
        self._buffer = b""
        self._is_open = True

    def take(self) -> Task | None:
        """The task of the next line that names one and is there."""
        while (line := self._line()) is not None:
            if task := self._task_of(line):
                return task
        return None

    @property
    def has_ended(self) -> bool:
        """Whether the other side has closed, and every line was taken."""
        return not self._is_open and not self._buffer

    def awaited(self) -> Sequence[int]:
        """The descriptor, as long as it is open."""
        return [self._descriptor] if self._is_open else ()

    def _line(self) -> bytes | None:
        while b"\n" not in self._buffer and self._is_open and wait([self._descriptor], 0):
            part = os.read(self._descriptor, _PART)
            self._is_open = bool(part)
            self._buffer += part
        if b"\n" not in self._buffer and (self._is_open or not self._buffer):
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line
