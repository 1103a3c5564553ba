"""Measures the CPU time and memory of all processes that a benchmark starts.

The kernel adds a process's CPU time to the total only if its parent waits for it, but bubblewrap
does not wait for the first process in its namespace. The measuring process therefore becomes the
parent of processes that have lost theirs, and waits for them.
"""

from __future__ import annotations

import ctypes
import os
import resource
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
#: how many seconds an orphan may take to end
_SECONDS = 20.0


def adopt_orphans() -> None:
    """Makes this process the parent of descendants that lose their parent (Linux)."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this process can't adopt orphans")


def cpu_of_ended() -> float:
    """Waits for adopted processes to end; returns the CPU seconds of all descendants that ended.

    No other child may be running, because this function waits for every child. Raises
    `TimeoutError` if a child does not end.
    """
    until = time.monotonic() + _SECONDS
    while _wait_for_one():
        if time.monotonic() > until:
            raise TimeoutError("a child process does not end, so its time can't be counted")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for_one() -> bool:
    """Waits briefly for a child to end; returns False if there is no child."""
    try:
        if os.waitpid(-1, os.WNOHANG) == (0, 0):
            time.sleep(0.02)
    except ChildProcessError:
        return False
    return True


def memory(pid: int) -> float:
    """Returns a process's proportional set size in bytes, or 0 if the process has ended."""
    return _rolled_up(pid, "Pss")


def heap(pid: int) -> float:
    """Returns the size of a process's anonymous memory in bytes, or 0 if the process has ended."""
    return _rolled_up(pid, "Anonymous")


def _rolled_up(pid: int, kind: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) * 1024 for line in lines if line.startswith(f"{kind}:"))
