"""Interrupts slow code from another thread, as Ctrl-C would, on every operating system."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

#: the time limit for a check, and for loading a file; normal code takes milliseconds, and a loop
#: over every number takes a tenth of a second
SECONDS = 10.0
#: code may exceed this limit by this factor if it gets less than half of the processor time
_LONGEST = 3


class CheckTimeout(Exception):
    """Raised if a check exceeds its time limit; the cause shows where the check was interrupted."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `CheckTimeout` if the block takes too long; does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _Watch(seconds)
    # a shell makes programs in the background ignore Ctrl-C, so they would never end
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    watch.start()
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if not watch.fired:
            raise
        raise CheckTimeout(f"took longer than {seconds:g} seconds") from interrupt
    finally:
        watch.end()
        if before is not None:  # None if it was not installed by Python
            signal.signal(signal.SIGINT, before)


class _Watch(threading.Thread):
    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self._seconds = seconds
        self._ended = threading.Event()
        self.fired = False

    def run(self) -> None:
        begin = time.process_time()
        for _ in range(_LONGEST):
            if self._ended.wait(self._seconds):
                return
            # on a busy machine, even good code may have had little processor time so far
            if time.process_time() - begin > self._seconds / 2:
                break
        self.fired = True
        _interrupt()

    def end(self) -> None:
        """Stops this thread and waits for it to end, so that no interrupt arrives afterwards."""
        self._ended.set()
        self.join()


def _interrupt() -> None:
    """Interrupts the main thread as Ctrl-C does; on Unix, this even ends `sleep` or `input`."""
    if os.name == "nt":
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)
