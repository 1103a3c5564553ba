"""How a command loads torch: what is loaded stays until the process ends.

torch has so many objects that a search for garbage among all of them, at the very end, takes as
long as a third of loading it.
"""

from __future__ import annotations

import contextlib
import gc
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
