"""The time that a question has, and the clock that takes it while a call runs."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ..records import Limits


@dataclass(slots=True)
class Budget:
    """What is left of a question's wall and CPU seconds; only time inside calls counts."""

    wall: float
    cpu: float
    #: seconds of waiting for a processor that were given back
    waited: float = 0.0

    @classmethod
    def of(cls, limits: Limits) -> Budget:
        """A full budget."""
        return cls(limits.wall_seconds, limits.cpu_seconds)

    @classmethod
    def of_import(cls, limits: Limits) -> Budget:
        """For a module, loaded once for all questions: it may take twice as long as one."""
        return cls(2 * limits.wall_seconds, 2 * limits.cpu_seconds)


#: who waits looks ten times a second: of a longer time between two looks the worker knows nothing,
#: because the grader was stopped, its machine slept, or its clock was set
_LONGEST_LOOK = 1.0


class Clock:
    """Takes wall and CPU time from a budget while a call runs and somebody looks."""

    def __init__(self, budget: Budget, pid: int) -> None:
        self._budget = budget
        self._pid = pid
        self._wall = 0.0
        self._looked = time.monotonic()
        self._cpu_before = self._cpu()

    def spent(self) -> str | None:
        """What is used up, if anything is; called whenever the worker is looked at."""
        self._look()
        if self._left() < 0:
            return "the time limit (wall clock)"
        if self._cpu() - self._cpu_before > self._budget.cpu:
            return "the time limit (CPU)"
        return None

    def extend(self, seconds: float) -> None:
        """Gives so much more time, on both clocks."""
        self._budget.wall += seconds
        self._budget.cpu += seconds

    def stop(self) -> None:
        """Books the time of the call."""
        self._look()
        self._budget.wall = self._left()
        self._budget.cpu -= max(0.0, self._cpu() - self._cpu_before)

    def _left(self) -> float:
        """Wall seconds. What the worker waited for a processor is the machine's, and given back.

        Else a right answer that takes long would be refused where others compute, too.
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
    """CPU seconds that a process has used so far; 0 where it has ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3)
    except OSError:
        return 0.0


def waited_seconds(pid: int) -> float:
    """Seconds that a process could run, and waited for a processor; 0 where nobody counts them."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def cpu_of_tree(pid: int) -> float:
    """CPU seconds of a process, of those below it, and of all that these have waited for."""
    return sum(map(_all_cpu, (pid, *descendants(pid))))


def _all_cpu(pid: int) -> float:
    try:
        # bytes: a process gives itself a name in there, with whatever is in it
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0.0  # it has ended, and counts with whoever waited for it


def descendants(pid: int) -> list[int]:
    """All processes below one; none of what has ended meanwhile."""
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
    """The process that a descriptor stands for, by its number here; its clock goes by that."""
    with open(f"/proc/self/fdinfo/{pidfd}", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"Pid:"))


def threads_of(pid: int) -> int:
    """How many threads a process has; one where it has ended, or /proc is hidden."""
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2
    except OSError:
        return 1
