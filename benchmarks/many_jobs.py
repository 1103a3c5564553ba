"""Computes from measured times how many jobs one fork server can serve.

    .venv/bin/python benchmarks/many_jobs.py [--workers 200] [--jobs 1 8 16 32 64 256]

A fork server forks one worker at a time, and a job waits until its worker has been forked. First,
the benchmark grades an exercise with real workers, and measures the CPU time per worker, separately
for the fork server itself and for everything else. Then the benchmark simulates the queue: each job
requests a worker, waits for its turn, and works for a random time with the measured mean (the times
are exponentially distributed, and thus more irregular than those of real answers). Every job has
its own core. Prints a table with the factor by which several jobs are faster than one job, first
with one fork server for all jobs, and then with one fork server for every eight jobs.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import os
import random
import time
from pathlib import Path

from autograder.course import load_course
from autograder.grading.jobs import JOBS_EACH
from autograder.grading.judging.plan import rehearse
from autograder.grading.judging.suites import collect_suites
from autograder.records import Tier
from autograder.sandbox import Budget, ForkServer, Preparation
from autograder.sandbox.clock import descendants
from benchmarks.tricks import LIMITS, ROOT, WorkerRequests

_SEED = 8
#: the number of workers for each simulated job
_EACH = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 8, 16, 32, 64, 256])
    parser.add_argument("--assignment", default="simplified_attention")
    parser.add_argument("--exercise", default="softmax")
    options = parser.parse_args()
    fork, work = _measured(options.assignment, options.exercise, options.workers)
    print(f"{options.exercise}: a fork takes {1000 * fork:.1f} ms, everything else", end=" ")
    print(f"{1000 * work:.1f} ms of CPU time for each worker\n")
    print(f"| jobs | one fork server | one for every {JOBS_EACH} jobs |")
    print("|---|---|---|")
    for jobs in options.jobs:
        groups = [min(JOBS_EACH, jobs - first) for first in range(0, jobs, JOBS_EACH)]
        one = _rate([jobs], fork, work) * (fork + work)
        several = _rate(groups, fork, work) * (fork + work)
        print(f"| {jobs} | {one:.1f} | {several:.1f} |")


def _measured(assignment: str, exercise: str, workers: int) -> tuple[float, float]:
    """Returns the CPU seconds for each worker: those of the fork, and those of everything else."""
    exercises = load_course(ROOT).assignment(assignment).exercises
    own = next(one for one in exercises if one.name == exercise)
    suite = own.hidden_suite
    plan = rehearse(collect_suites(ROOT, [suite]), suite, _SEED).plan()
    asked = WorkerRequests(own.solution.read_text(encoding="utf-8"), plan.batch, ())
    layers = any(question.is_class for question in own.questions)
    ahead = Preparation(second_device=layers, many_workers=True)
    with ForkServer(Tier.A, ahead=ahead) as server:
        server.wait_until_ready()
        server.hold(plan.batch)
        _grade(server, asked, 5)
        lasting = [pid for pid in (server.pid, *descendants(server.pid))]
        own_before, tree_before = sum(map(_cpu, lasting)), server.cpu_seconds()
        here = time.process_time()
        _grade(server, asked, workers)
        fork = sum(map(_cpu, lasting)) - own_before
        everything = server.cpu_seconds() - tree_before + time.process_time() - here
    return fork / workers, (everything - fork) / workers


def _grade(server: ForkServer, asked: WorkerRequests, workers: int) -> None:
    for _ in range(workers):
        with contextlib.closing(server.open(LIMITS, 2, [asked.batch.digest])) as session:
            session.ask(Budget.of(LIMITS), "load", "module", asked.text, _SEED)
            session.ask_several(Budget.of(LIMITS), asked.batch)


def _cpu(pid: int) -> float:
    """Returns a process's CPU seconds without its children, or 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rate(groups: list[int], fork: float, work: float) -> float:
    """Returns how many workers all jobs finish per second, with a fork server per group of jobs."""
    draw = random.Random(_SEED)
    rate = 0.0
    for jobs in groups:
        asks = [(draw.expovariate(1 / work), job) for job in range(jobs)]
        heapq.heapify(asks)
        free = last = 0.0
        for _ in range(_EACH * jobs):
            asked, job = heapq.heappop(asks)
            free = max(free, asked) + fork
            last = max(last, free)
            heapq.heappush(asks, (free + draw.expovariate(1 / work), job))
        rate += _EACH * jobs / last
    return rate


if __name__ == "__main__":
    main()
