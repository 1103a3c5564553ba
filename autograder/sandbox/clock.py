"""Defines a question's time budget, and the clock that charges the budget while a call runs."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ..records import Limits


@dataclass(slots=True)
class Budget:
    """The wall and CPU seconds left for a question; only time inside calls is charged."""

    wall: float
    cpu: float
    #: how many seconds the worker has waited for a processor; these have been refunded
    waited: float = 0.0

    @classmethod
    def of(cls, limits: Limits) -> Budget:
        return cls(limits.wall_seconds, limits.cpu_seconds)

    @classmethod
    def of_import(cls, limits: Limits) -> Budget:
        """Returns a budget for loading a module, which may take twice as long as a question."""
        return cls(2 * limits.wall_seconds, 2 * limits.cpu_seconds)


#: the maximum number of seconds charged between two checks of the clock. The grader checks it ten
#: times a second. A longer gap is not the worker's fault: the grader was stopped, or the machine
#: was suspended
_LONGEST_LOOK = 1.0


class Clock:
    """Charges a budget for the wall and CPU time of a call while the grader watches the call."""

    def __init__(self, budget: Budget, pid: int) -> None:
        self._budget = budget
        self._pid = pid
        self._wall = 0.0
        self._looked = time.monotonic()
        self._cpu_before = self._cpu()

    def spent(self) -> str | None:
        """Returns the name of the limit that has been exceeded, or None if time is left."""
        self._look()
        if self._left() < 0:
            return "the wall-clock time limit"
        if self._cpu() - self._cpu_before > self._budget.cpu:
            return "the CPU time limit"
        return None

    def extend(self, seconds: float) -> None:
        """Adds `seconds` to the remaining wall and CPU time."""
        self._budget.wall += seconds
        self._budget.cpu += seconds

    def stop(self) -> None:
        """Charges the budget for the time that the call has used."""
        self._look()
        self._budget.wall = self._left()
        self._budget.cpu -= max(0.0, self._cpu() - self._cpu_before)

    def _left(self) -> float:
        """Returns the seconds of wall time left, after refunding the wait for a processor.

        Without the refund, a correct but slow answer could fail on a busy machine.
        """
        if self._wall > self._budget.wall:
            waited = waited_seconds(self._pid)
            self._budget.wall += max(0.0, waited - self._budget.waited)
            self._budget.waited = waited
        return self._budget.wall - self._wall

    def _look(self) -> None:
        now = time.monotonic()
        self._wall += min(max(0.0, now - self._looked), _LONGEST_LOOK)
        self._looked = now

    def _cpu(self) -> float:
        return cpu_seconds(self._pid)


def cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds that a process has used so far, or 0 if it has ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3)
    except OSError:
        return 0.0


def waited_seconds(pid: int) -> float:
    """Returns the seconds that a process has waited for a processor, or 0 if that is unknown."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def cpu_of_tree(pid: int) -> float:
    """Returns the CPU seconds used by a process and its descendants, including ended ones."""
    return sum(map(_all_cpu, (pid, *descendants(pid))))


def _all_cpu(pid: int) -> float:
    try:
        # read as bytes, because the process name in this file may contain any byte
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0  # it has ended, and its time counts for its parent


def descendants(pid: int) -> list[int]:
    """Returns the ids of all descendants of a process that have not ended."""
    found = [pid]
    for one in found:
        try:
            tasks = os.listdir(f"/proc/{one}/task")
        except OSError:
            continue
        for task in tasks:
            with contextlib.suppress(OSError):
                children = Path(f"/proc/{one}/task/{task}/children").read_bytes()
                found += map(int, children.split())
    return found[1:]


def pid_of(pidfd: int) -> int:
    """Returns the id of a pidfd's process, as seen in this pid namespace."""
    with open(f"/proc/self/fdinfo/{pidfd}", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"Pid:"))


def threads_of(pid: int) -> int:
    """Returns the number of threads in a process, or 1 if it has ended or /proc is hidden."""
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2
    except OSError:
        return 1
