"""Records a job's CPU time and its place in a submission, to find out what ended the job.

Each step of a job (reading an exercise, judging a question, or naming a mistake) has a limit on CPU
time, and its time is added to the total of its stage. If a step ends the job, it is left out when
the submission is graded again, so that the student loses only that question and not the whole
submission. If a mistake was being named, only the name is lost. Work for all submissions, such as a
table of known mistakes, has no limit.
"""

from __future__ import annotations

import mmap
import struct
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..submission.bounded import lift_cpu_limit, limit_cpu, limit_memory, require_memory


class Stage(StrEnum):
    """The stages of a grading run, in order.

    `START` is everything that no other stage includes, such as starting the fork server. `ASK` is
    the time that workers and their forks use. `JUDGE` includes making plans for judging a single
    question again, which happens when such a plan is first needed. `TABLES` is the time for tables
    of known mistakes, which are made only once on each machine.
    """

    START = "start"
    PLAN = "plan"
    READ = "read"
    ASK = "ask"
    JUDGE = "judge"
    NAME = "name"
    TABLES = "tables"
    WRITE = "write"
    GRADEBOOK = "gradebook"


#: the stages that a job goes through, in order
OF_A_JOB = (Stage.READ, Stage.JUDGE, Stage.NAME, Stage.TABLES)

#: CPU seconds by stage
Costs = Mapping[Stage, float]


def total_costs(*costs: Costs) -> Costs:
    stages = dict.fromkeys(stage for one in costs for stage in one)
    return {stage: sum(one.get(stage, 0.0) for one in costs) for stage in stages}


#: the maximum CPU seconds that the grader may spend on one place; a few tenths are usual
CPU_SECONDS = 30
#: the maximum memory, in bytes, that a job may use in addition to that at its start
_MEMORY = 3 << 30
_SIZE = 4096
#: the shared memory contains the number of places entered so far, the seconds for each stage, the
#: current stage and when it began, and then the place
_COUNT = 8
_SECONDS = struct.Struct(f"<{len(OF_A_JOB)}d")
_NOW = struct.Struct("<bd")
_STAGE = _COUNT + _SECONDS.size
_TEXT = _STAGE + _NOW.size
#: a place is left out after it has ended its job this many times, because the first time may be the
#: machine's fault
_MOST_ENDS = 2


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a submission: an exercise being read, or a question being judged or named."""

    exercise: str
    question: str = ""
    is_naming: bool = False

    @property
    def stage(self) -> Stage:
        if self.is_naming:
            return Stage.NAME
        return Stage.JUDGE if self.question else Stage.READ


class Watch:
    """A job's current place, in memory that the job shares with the process that started it."""

    def __init__(self) -> None:
        #: the places that ended earlier jobs grading this submission
        self.left_out: frozenset[Position] = frozenset()
        self._memory = mmap.mmap(-1, _SIZE)
        self._is_job = False
        self._write_stage(None, 0.0)

    @staticmethod
    def require() -> None:
        """Raises `UserError` if a limit leaves jobs too little memory; called before jobs start."""
        require_memory(_MEMORY)

    def begin(self) -> None:
        """Limits this process's memory; called once in a job."""
        self._is_job = True
        limit_memory(_MEMORY)

    def enter(self, place: Position) -> None:
        """Begins a step, such as judging a question; in a job, also restores the full CPU limit."""
        naming = "named" if place.is_naming else ""
        data = f"{naming}\n{place.exercise}\n{place.question}".encode()[: _SIZE - _TEXT - 1]
        self._write(data + b"\0")
        self._book(place.stage)
        if self._is_job:
            limit_cpu(CPU_SECONDS)

    def enter_tables(self) -> None:
        """Begins work for all submissions, which has no limit and is a separate stage."""
        self._write_count()
        self._book(Stage.TABLES)
        if self._is_job:
            lift_cpu_limit()

    def leave(self) -> None:
        """Begins work outside all steps; if this work ends the job, the grader is at fault."""
        self._write(b"\0")
        self._book(None)
        if self._is_job:
            lift_cpu_limit()

    def place(self) -> Position | None:
        """Returns the job's current place, or its place when it ended; None between two places."""
        text = self._memory[_TEXT:].partition(b"\0")[0].decode("utf-8", "replace")
        naming, _, names = text.partition("\n")
        exercise, _, question = names.partition("\n")
        return Position(exercise, question, bool(naming)) if exercise else None

    @property
    def steps(self) -> int:
        """The number of times that the job has entered or left a place; it grows over time."""
        return int.from_bytes(self._memory[:_COUNT], "little")

    @property
    def costs(self) -> Costs:
        """The CPU seconds for each stage so far, not counting work that is still in progress."""
        return dict(zip(OF_A_JOB, _SECONDS.unpack_from(self._memory, _COUNT), strict=True))

    @property
    def stage(self) -> Stage | None:
        """The job's current stage, or the stage in which it ended."""
        number, _ = _NOW.unpack_from(self._memory, _STAGE)
        return OF_A_JOB[number] if number >= 0 else None

    def book_end(self, seconds: float) -> None:
        """Adds the rest of a finished job's CPU time; `seconds` is the job's total."""
        _, since = _NOW.unpack_from(self._memory, _STAGE)
        self._add(self.stage, max(0.0, seconds - since))
        self._write_stage(None, seconds)

    def _book(self, stage: Stage | None) -> None:
        """Ends a stage, to which the time since the last call is added, and begins a new stage."""
        now = time.thread_time()  # the process's clock lags behind while the process has a limit
        _, since = _NOW.unpack_from(self._memory, _STAGE)
        self._add(self.stage, now - since)
        self._write_stage(stage, now)

    def _add(self, stage: Stage | None, seconds: float) -> None:
        if stage is not None:
            costs = dict(self.costs)
            costs[stage] += seconds
            _SECONDS.pack_into(self._memory, _COUNT, *costs.values())

    def _write_stage(self, stage: Stage | None, now: float) -> None:
        number = OF_A_JOB.index(stage) if stage is not None else -1
        _NOW.pack_into(self._memory, _STAGE, number, now)

    def _write(self, place: bytes) -> None:
        self._memory[_TEXT : _TEXT + len(place)] = place
        self._write_count()

    def _write_count(self) -> None:
        self._memory[:_COUNT] = (self.steps + 1).to_bytes(_COUNT, "little")


@dataclass(slots=True)
class FailureLog:
    """Counts how many jobs ended at each place in a submission, and decides what to leave out."""

    left_out: frozenset[Position] = frozenset()
    _times: Counter[Position] = field(default_factory=Counter)

    def count(self, place: Position | None, out_of_time: bool) -> bool:
        """Counts the end of a job at a place; returns whether to grade the submission again.

        If the job ended because it ran out of time, the place is left out at once.
        """
        if place is None or place in self.left_out:
            return False
        self._times[place] += 1
        if out_of_time or self._times[place] >= _MOST_ENDS:
            self.left_out |= {place}
        return True
