"""Disturbs grading runs at random moments, and checks that no other submission loses points.

A victim (the grader, a job, the workers' parent or a worker) is killed, interrupted or stopped, or
the grader's clocks jump. If the victim is a worker, the submission that runs in it may lose points,
because the submission's own code could have had the same effect. No other submission may lose
points.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.records import Tier
from tools.soak_class import ClassFolder, UndisturbedRun, children, disturb, ended

#: how many seconds to stop a grader, and how many seconds to look for a victim
_STOPPED_SECONDS, _LOOK_SECONDS = 5.0, 3.0


@dataclass(frozen=True, slots=True)
class ProcessDisturbance:
    """A disturbance and its victim."""

    victim: str
    signal: signal.Signals | None

    def __str__(self) -> str:
        return f"{self.signal.name} of a {self.victim}" if self.signal else "jump of the clocks"

    def __call__(self, place: ClassFolder, whole: UndisturbedRun, chance: random.Random) -> str:
        """Disturbs a run and completes the class; returns the problem, or ""."""
        delay = chance.uniform(0, whole.seconds)
        grader = place.grader(jump=None if self.signal else delay)
        hit = self.signal is None or self._strike(grader, delay, place.tier)
        code = ended(grader)
        if self.victim != "grader" and code not in (0, 2):
            problem = f"the run ended with exit code {code}"
        else:
            problem = place.completed(whole, int(hit and self.victim == "worker"))
        return problem and f"after {delay:.1f} s: {problem}"

    def _strike(self, grader: subprocess.Popen[bytes], delay: float, tier: Tier) -> bool:
        """Sends the signal to a victim after a delay; returns whether there was a victim."""
        assert self.signal is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            grader.wait(delay)
        end = time.monotonic() + _LOOK_SECONDS
        while grader.poll() is None and time.monotonic() < end:
            for pid in _victims(grader.pid, self.victim, tier):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, self.signal)
                    if self.signal is signal.SIGSTOP and self.victim == "grader":
                        time.sleep(_STOPPED_SECONDS)
                        os.kill(pid, signal.SIGCONT)
                    return True
            time.sleep(0.005)
        return False


BLOWS = (
    *(
        ProcessDisturbance("grader", s)
        for s in (signal.SIGKILL, signal.SIGINT, signal.SIGSTOP, signal.SIGTERM)
    ),
    ProcessDisturbance("grader", None),
    *(
        ProcessDisturbance(victim, s)
        for victim in ("job", "parent", "worker")
        for s in (signal.SIGKILL, signal.SIGINT, signal.SIGSTOP)
    ),
)


def kill(count: int, seed: int, first: int = 0) -> int:
    """Disturbs `count` grading runs, numbered from `first`; returns how many runs have failed."""
    return disturb("kill", {str(blow): blow for blow in BLOWS}, count, seed, first)


def _victims(grader: int, kind: str, tier: Tier) -> Iterator[int]:
    """Yields the processes of the given kind, beginning with those that are probably busy."""
    below = children(grader)
    jobs = [pid for pid in below if _command_of(pid) == _command_of(grader)]
    parents = [pid for pid in below if pid not in jobs]
    if kind == "grader":
        yield grader
    elif kind == "job":
        yield from jobs
    elif kind == "parent":
        yield from parents
    else:  # in A and B, some processes below the parent are not workers
        waiting = {Tier.A: 4, Tier.B: 2}.get(tier, 0)
        every = [pid for parent in parents for pid in _below(parent)]
        yield from reversed(sorted(every)[waiting:])


def _below(pid: int) -> list[int]:
    return [found for child in children(pid) for found in (child, *_below(child))]


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
