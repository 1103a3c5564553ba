"""Limits the time for each statement while a worker loads a module, and discards output."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType

from .statements import StatementTimeout

#: a statement's limit in real time, as a multiple of its limit in CPU time: for most statements,
#: and for needed ones. It is larger because many processes may share the machine
_PATIENCE, _PATIENCE_IF_NEEDED = 5.0, 1.5
_RINGS_EVERY = 0.1


class Timer:
    """Raises `StatementTimeout` in a statement that exceeds its limit. See `statements.Alarm`.

    The limits are in CPU seconds: `idle` is the limit for a statement that no answer needs, and
    `needed` is the limit for all other statements.
    """

    def __init__(self, idle: float, needed: float) -> None:
        self._idle, self._needed = idle, needed
        self._is_needed: Callable[[], bool] | None = None
        self._cpu = self._wall = 0.0

    @contextlib.contextmanager
    def installed(self) -> Iterator[Timer]:
        """Within the block, installs handlers for two signals, which nothing else uses."""
        signals = (signal.SIGPROF, signal.SIGALRM)
        before = [(number, signal.signal(number, self._ring)) for number in signals]
        try:
            yield self
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def begin(self, is_needed: Callable[[], bool]) -> None:
        self._is_needed = is_needed
        self._cpu, self._wall = time.process_time(), time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, self._idle, _RINGS_EVERY)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE * self._idle, _RINGS_EVERY)

    def end(self) -> None:
        self._is_needed = None
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        """Handles an expired timer's signal, which is repeated until the statement has ended."""
        if self._is_needed is None:
            return
        limit, patience = self._idle, _PATIENCE
        cpu, wall = time.process_time() - self._cpu, time.monotonic() - self._wall
        if max(cpu, wall / patience) >= limit and self._is_needed():
            limit, patience = self._needed, _PATIENCE_IF_NEEDED
        if cpu >= limit or wall >= patience * limit:
            raise StatementTimeout(
                f"takes longer than {limit:g} s when the file is loaded; is there a loop that "
                "never ends?"
            )


@contextlib.contextmanager
def without_output() -> Iterator[None]:
    """Discards output within the block."""
    kept = [(number, os.dup(number)) for number in (1, 2)]
    for number, _ in kept:
        os.dup2(0, number)
    try:
        yield
    finally:
        for file in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                file.flush()
        for number, descriptor in kept:
            os.dup2(descriptor, number)
            os.close(descriptor)
