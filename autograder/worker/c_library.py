"""Looks up the C library functions that workers call, so that no worker has to look them up."""

from __future__ import annotations

import ctypes
import os
from typing import Any

_LIBRARY = ctypes.CDLL(None, use_errno=True)


def _function(name: str) -> Any:
    """Returns a C library function, or None if the system lacks it."""
    return getattr(_LIBRARY, name, None)


mount, prctl, setns = _function("mount"), _function("prctl"), _function("setns")
syscall, unshare = _function("syscall"), _function("unshare")


def check(result: int, what: str) -> None:
    """Raises OSError if `result`, the return value of a C function, is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
