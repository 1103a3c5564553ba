"""Measures the CPU time that each of the sandbox's tricks saves.

    .venv/bin/python -m benchmarks.tricks [--workers 60] [--repeats 5] [--only WORDS]

A fork server starts workers that answer the planned calls for one exercise, as they would during
grading. Prints the median CPU time of this process and the fork server's process tree: in seconds
for the start, and in milliseconds per worker. Most tricks are switched off by a line of code that
the fork server runs first, so the package itself needs no code to switch them off. A trick that
saves little should be removed.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from autograder.course import load_course
from autograder.errors import AnswerFault
from autograder.grading.judging.plan import rehearse
from autograder.grading.judging.suites import collect_suites
from autograder.records import Limits, Tier
from autograder.sandbox import Budget, ForkServer, fork_server
from autograder.sandbox.replies import Batch

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT, EXERCISE = "simplified_attention", "softmax"
LIMITS = Limits(wall_seconds=20, cpu_seconds=10, memory_bytes=1 << 30, reply_bytes=64 << 20)


@dataclass(frozen=True, slots=True)
class Trick:
    """A way to save time, and how to switch it off."""

    label: str
    #: Python code that the fork server runs first
    first: str = ""
    #: variables to remove from the fork server's environment
    without: tuple[str, ...] = ()
    one_by_one: bool = False
    held: bool = True
    tier: Tier = Tier.A


def _no(module: str, name: str) -> str:
    return _instead(module, name, "lambda *_: None")


def _as_is(module: str, name: str) -> str:
    return _instead(module, name, "lambda value: value")


def _instead(module: str, name: str, value: str) -> str:
    """Returns a line of code that replaces a name in a module, and fails if the name is new."""
    return f"import worker.{module} as m; m.{name}; m.{name} = {value}"


TRICKS = (
    Trick("as it is"),
    Trick("calls asked one by one, not in one frame", one_by_one=True),
    Trick("the batch sent to each worker, not held", held=False),
    Trick("the heap not moved into huge pages", _no("heap", "use_huge_pages")),
    Trick("the heap's holes left open", _no("heap", "close_holes")),
    Trick("what is held not side by side", _as_is("heap", "side_by_side")),
    Trick("torch's code not moved into huge pages", _no("code_pages", "use_huge_pages")),
    Trick("the compiler imported", _no("compiler", "defer")),
    Trick("Python's own allocator", without=("PYTHONMALLOC",)),
    Trick("the worker's code not warmed", _no("warming", "_answer_all")),
    Trick("all arguments sent back", _instead("execution", "changed", "lambda _, a: a")),
    Trick("forked by os.fork", _instead("forking", "_fork", "__import__('os').fork")),
    Trick("small tensors looked at, not copied", _instead("wire", "SMALL_BYTES", "0")),
    Trick("a network of a worker's own", _instead("confine", "_NEWNS", "m._NEWNS | 0x40000000")),
    Trick("garbage not frozen", "import gc; gc.freeze = lambda: None"),
    Trick("tier B: no namespaces of a worker's own", tier=Tier.B),
    Trick("tier C: no namespaces at all", tier=Tier.C),
)


@dataclass(slots=True)
class Cost:
    """The CPU seconds for each start of a fork server, and for each worker."""

    starts: list[float] = field(default_factory=list)
    workers: list[float] = field(default_factory=list)


def main() -> None:
    """Measures all tricks in turn, several times, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="only tricks whose label contains this")
    options = parser.parse_args()
    asked = _asked()
    costs = {t: Cost() for t in TRICKS if t == TRICKS[0] or options.only in t.label}
    for _ in range(options.repeats):
        for trick, cost in costs.items():
            start, worker = _cpu(trick, asked, options.workers)
            cost.starts.append(start)
            cost.workers.append(worker)
    print(f"{options.workers} workers, medians of {options.repeats}\n")
    print(f"{'without the trick':44}{'start, s':>10}{'a worker, ms':>14}")
    for trick, cost in costs.items():
        start, worker = statistics.median(cost.starts), 1000 * statistics.median(cost.workers)
        print(f"{trick.label:44}{start:10.2f}{worker:14.1f}")


@dataclass(frozen=True, slots=True)
class WorkerRequests:
    """The work for a worker: a module's text, and calls, both as a batch and as single requests."""

    text: str
    batch: Batch
    requests: tuple[tuple[Any, ...], ...]


def _asked() -> WorkerRequests:
    assignment = load_course(ROOT).assignment(ASSIGNMENT)
    exercise = next(one for one in assignment.exercises if one.name == EXERCISE)
    suite = exercise.hidden_suite
    rehearsal = rehearse(collect_suites(ROOT, [suite]), suite, 1)
    solution = ROOT / "solutions" / ASSIGNMENT / f"{EXERCISE}.py"
    return WorkerRequests(
        solution.read_text(encoding="utf-8"),
        rehearsal.plan().batch,
        tuple(request for test in rehearsal.requests.values() for request in test),
    )


def _cpu(trick: Trick, asked: WorkerRequests, workers: int) -> tuple[float, float]:
    """Returns the CPU seconds for starting a fork server, and the CPU seconds for each worker."""
    with _switched_off(trick), ForkServer(trick.tier) as server:
        if trick.held:
            server.hold(asked.batch)
        _use_worker(server, asked, trick.one_by_one)
        start = server.cpu_seconds()
        before = start + time.process_time()
        for _ in range(workers):
            _use_worker(server, asked, trick.one_by_one)
        each = (server.cpu_seconds() + time.process_time() - before) / workers
    return start - each, each


def _use_worker(server: ForkServer, asked: WorkerRequests, one_by_one: bool) -> None:
    with contextlib.closing(server.open(LIMITS, 2, [asked.batch.digest])) as session:
        budget = Budget.of(LIMITS)
        session.ask(budget, "load", "module", asked.text, 7)
        if not one_by_one:
            session.ask_several(budget, asked.batch)
            return
        for request in asked.requests:
            with contextlib.suppress(AnswerFault):  # some calls should fail
                session.ask(Budget.of(LIMITS), *request)


@contextlib.contextmanager
def _switched_off(trick: Trick) -> Iterator[None]:
    environment = {k: v for k, v in fork_server._ENVIRONMENT.items() if k not in trick.without}
    boot = fork_server._BOOT.replace("from worker.fork_server import main", trick.first + "\n{0}")
    boot = boot.replace("{0}", "from worker.fork_server import main")
    with patch.multiple(fork_server, _BOOT=boot, _ENVIRONMENT=environment):
        yield


if __name__ == "__main__":
    main()
