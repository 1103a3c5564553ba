"""Handles what a machine may refuse any command: standard streams, disk space, memory."""

from __future__ import annotations

import errno
import os
import sys

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
_REMEDIES = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room, or ask for a larger quota",
    errno.EFBIG: "raise the limit of a file's size (ulimit -f)",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close other programs that have many files open",
    errno.ENOMEM: "close other programs that need much memory, or raise the limit (ulimit -v)",
    errno.EAGAIN: "close other programs, or raise the limit of processes (ulimit -u)",
    errno.EROFS: "choose a place that can be written",
    errno.EIO: "look at the disk: it failed",
}


def open_streams() -> None:
    """Opens each standard stream that the caller closed, as the null device.

    Otherwise the next file that is opened would get its number, and would receive what is printed.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 kept
            setattr(sys, name, stream)


def refusal(error: BaseException) -> str | None:
    """Returns what the machine refused and what to do; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _REMEDIES:
        return None
    where = f"{error.filename}: " if error.filename else ""
    return (
        f"{where}{os.strerror(error.errno)}. To fix it, {_REMEDIES[error.errno]}, and call again; "
        "what was graded is in the results, and `grade --resume` continues from there."
    )
