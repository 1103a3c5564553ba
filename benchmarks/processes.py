"""CPU time and memory of all processes that a piece of work starts.

bubblewrap leaves the first process of its namespace without waiting for it, and the kernel adds up
times of those only that somebody waited for. So the one who measures takes such orphans in.
"""

from __future__ import annotations

import ctypes
import os
import resource
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
#: what an orphan may take to end
_SECONDS = 20.0


def adopt_orphans() -> None:
    """From now on what loses its parent below this process becomes its child (Linux)."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this process can't take orphans in")


def cpu_of_ended() -> float:
    """CPU seconds of all that has ended below this process; waits for the orphans first.

    Nothing else may be running: every child is waited for. `TimeoutError` tells of one that stays.
    """
    until = time.monotonic() + _SECONDS
    while _wait_for_one():
        if time.monotonic() > until:
            raise TimeoutError("a process that was started goes on; its time can't be counted")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for_one() -> bool:
    """Whether there was a child."""
    try:
        if os.waitpid(-1, os.WNOHANG) == (0, 0):
            time.sleep(0.02)
    except ChildProcessError:
        return False
    return True


def memory(pid: int) -> float:
    """Bytes of a process (proportional set size: shared pages count once); 0 where it has ended."""
    return _rolled_up(pid, "Pss")


def heap(pid: int) -> float:
    """Bytes of a process that are no file's, shared with forks or not; 0 where it has ended."""
    return _rolled_up(pid, "Anonymous")


def _rolled_up(pid: int, kind: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) * 1024 for line in lines if line.startswith(f"{kind}:"))
