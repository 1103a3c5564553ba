"""How a command loads torch: what is loaded stays until the process ends.

torch has so many objects that a search for garbage among all of them, at the very end, takes as
long as a third of loading it, and taking them apart one by one a tenth.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Iterator


def begin_loading() -> None:
    """From now on nobody searches for garbage."""
    gc.disable()


def end_loading() -> None:
    """Garbage is searched for again, but not in what is there by now."""
    gc.freeze()
    gc.enable()


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """For a command that loads all it needs in one place."""
    begin_loading()
    try:
        yield
    finally:
        end_loading()


class QuickEnd:
    """Ends a process that has loaded torch, once its exit `code` is known and all else is done.

    What is registered later for the end of the process is done before: make one of these first.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        atexit.register(self._end)

    def _end(self) -> None:
        if self.code is not None and "torch" in sys.modules:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)
