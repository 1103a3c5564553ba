"""Saves time by not collecting garbage while torch is being loaded and when the process ends.

torch creates very many objects: at the end of a process, collecting garbage takes a third of the
time that loading torch takes, and freeing the objects one by one takes another tenth.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Iterator


def begin_loading() -> None:
    gc.disable()


def end_loading() -> None:
    """Turns garbage collection back on, but not for existing objects."""
    gc.freeze()
    gc.enable()


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Turns garbage collection off during a block in which a command loads everything it needs."""
    begin_loading()
    try:
        yield
    finally:
        end_loading()


class FastExit:
    """If `code` is set, ends the process with this exit code, without freeing torch's objects.

    Create this object before other functions are registered with `atexit`, so that it ends the
    process after they have run: `atexit` runs functions in reverse order.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        atexit.register(self._end)

    def _end(self) -> None:
        if self.code is not None and "torch" in sys.modules:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)
