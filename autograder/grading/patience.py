"""How long a job is waited for: for a whole submission, and for a sign that it goes on.

Computing without end is the kernel's to stop (`watch`). A job that sleeps, waits or was stopped
uses no CPU time: it is given up when one question's time has passed and nothing was done. One that
makes a table of known mistakes, or waits for another that does, has more time for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..records import Assignment
from ..sandbox.clock import cpu_seconds
from .costs import Stage
from .watch import Watch

#: seconds beyond the limits of what is waited for
_MORE_SECONDS = 60.0
#: seconds for a table: some tens of CPU seconds are usual, on a machine that may be busy
_TABLE_SECONDS = 1800.0
#: CPU seconds that count as doing something
_COMPUTES = 0.5


@dataclass(slots=True)
class Patience:
    """With the job of one process, which tells `watch` where it is."""

    watch: Watch
    pid: int
    _end: float = 0.0
    _look: float = 0.0
    _quiet: float = 0.0
    _steps: int = 0
    _seconds: float = 0.0
    _table_end: float | None = None

    def begin(self, assignment: Assignment) -> None:
        """A submission begins."""
        self._end = time.monotonic() + whole_seconds(assignment)
        self._quiet = quiet_seconds(assignment)
        self._note()

    @property
    def due(self) -> float:
        """When to ask again whether it is out."""
        return min(self._end, self._look)

    def is_out(self) -> bool:
        """Whether the job has had its time, or has done nothing in that of a question."""
        now = time.monotonic()
        if now <= self.due:
            return False
        if self._is_in_time_for_a_table(now):
            return False
        seconds = cpu_seconds(self.pid) - self._seconds
        if now > self._end or (self.watch.steps == self._steps and seconds < _COMPUTES):
            return True
        self._note()
        return False

    def _is_in_time_for_a_table(self, now: float) -> bool:
        """Whether a table is made, and not for too long; the submission's time waits meanwhile."""
        if self.watch.stage is not Stage.TABLES:
            self._table_end = None
            return False
        self._table_end = self._table_end or now + _TABLE_SECONDS
        self._end = max(self._end, now + self._quiet)
        self._note()
        return now < self._table_end

    def _note(self) -> None:
        self._steps, self._seconds = self.watch.steps, cpu_seconds(self.pid)
        self._look = time.monotonic() + self._quiet


def whole_seconds(assignment: Assignment) -> float:
    """What a submission may take: a question its time twice, for its import and for its calls."""
    questions = sum(len(exercise.questions) for exercise in assignment.exercises)
    return 2 * questions * assignment.limits.wall_seconds + _MORE_SECONDS


def quiet_seconds(assignment: Assignment) -> float:
    """What one question may take while the job waits for its worker."""
    return 2 * assignment.limits.wall_seconds + _MORE_SECONDS
