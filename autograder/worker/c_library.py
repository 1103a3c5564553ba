"""What the worker calls of the C library; looked up once, for a fork would do it again."""

from __future__ import annotations

import ctypes
import os
from typing import Any

_LIBRARY = ctypes.CDLL(None, use_errno=True)


def _function(name: str) -> Any:
    """None on a system that has no such call, and so no tier."""
    return getattr(_LIBRARY, name, None)


mount, prctl, setns = _function("mount"), _function("prctl"), _function("setns")
syscall, unshare = _function("syscall"), _function("unshare")


def check(result: int, what: str) -> None:
    """Raises OSError where a call failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
