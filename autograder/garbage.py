"""Pauses garbage collection while code creates many objects and keeps all of them.

Each collection looks at all new objects again, and it would find nothing to free.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Disables garbage collection during a block or, as a decorator, during a function."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
