"""Time limits for a job: for a whole submission, and for a sign of progress.

The kernel stops endless computing (`watch`). A job that sleeps, waits or was stopped uses no CPU
time: it is given up when one question's time has passed without progress. A job that makes a table
of known mistakes, or waits for another that does, has more time for it. Only time in which the
grader itself ran counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..records import Assignment
from ..sandbox.clock import cpu_seconds
from .costs import Stage
from .watch import Watch

#: seconds in addition to the limits of the submission or question
_MORE_SECONDS = 60.0
#: seconds for a table: some tens of CPU seconds are usual, but the machine may be busy
_TABLE_SECONDS = 1800.0
#: a grader that looks this much too late was stopped itself, or the clock was set
_LATE_SECONDS = 10.0
#: CPU seconds that count as progress
_COMPUTES = 0.5


@dataclass(slots=True)
class JobTimeout:
    """The time limits of one job's process, which reports its current place to `watch`."""

    watch: Watch
    pid: int
    _end: float = 0.0
    _look: float = 0.0
    _quiet: float = 0.0
    _steps: int = 0
    _seconds: float = 0.0
    _table_end: float | None = None

    def begin(self, assignment: Assignment) -> None:
        """Starts the clock for a submission."""
        self._end = time.monotonic() + whole_seconds(assignment)
        self._quiet = quiet_seconds(assignment)
        self._note()

    @property
    def due(self) -> float:
        """The time at which `is_out` should be called again."""
        return min(self._end, self._look)

    def is_out(self) -> bool:
        """Returns whether the job's time is over, or a question's time passed without progress."""
        now = time.monotonic()
        if now <= self.due:
            return False
        if (late := now - self.due) > _LATE_SECONDS:
            self._forgive(late)
            return False
        if self._is_in_time_for_a_table(now):
            return False
        seconds = cpu_seconds(self.pid) - self._seconds
        if now > self._end or (self.watch.steps == self._steps and seconds < _COMPUTES):
            return True
        self._note()
        return False

    def _forgive(self, seconds: float) -> None:
        """Ignores seconds in which nobody watched the job."""
        self._end += seconds
        if self._table_end is not None:
            self._table_end += seconds
        self._note()

    def _is_in_time_for_a_table(self, now: float) -> bool:
        """Returns whether a table is being made in time; extends the submission's time by that."""
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
    """Returns the seconds for a submission: each question's time twice, for import and calls."""
    questions = sum(len(exercise.questions) for exercise in assignment.exercises)
    return 2 * questions * assignment.limits.wall_seconds + _MORE_SECONDS


def quiet_seconds(assignment: Assignment) -> float:
    """Returns the seconds for one question while the job waits for its worker."""
    return 2 * assignment.limits.wall_seconds + _MORE_SECONDS
