"""Measures how much CPU time per submission a dask cluster adds to grading.

    .venv/bin/python benchmarks/cluster.py [--submissions 120] [--workers 3] [--repeats 3]

A class with different correct answers to `simplified_attention` is graded by ordinary jobs, and by
a local cluster: a scheduler and workers with one thread each, all in separate processes. The
figures are medians of the CPU time of all processes. The cost of one more submission is computed
from the difference between the class and its first half, so that the cost does not include loading
torch on every worker.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.course import load_course
from benchmarks.different import AnswerKind, write_class
from benchmarks.grading import ROOT
from benchmarks.processes import adopt_orphans, cpu_of_ended

ASSIGNMENT = "simplified_attention"
_PYTHON = [sys.executable, "-m"]
_START_SECONDS = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=120)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    adopt_orphans()
    course, count = load_course(ROOT), options.submissions
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as name:
        folder = Path(name)
        whole, half = folder / "whole", folder / "half"
        assignment = course.assignment(ASSIGNMENT)
        write_class(course, assignment, whole / "submitted", count, AnswerKind.ORDINARY)
        for student in sorted((whole / "submitted").iterdir())[: count // 2]:
            shutil.copytree(student, half / "submitted" / student.name)
        print(f"| {options.workers} at once, {count} submissions | CPU s | one more, CPU ms |")
        print("|---|---|---|")
        ways = {
            "plain jobs": lambda place: _grade(place, "--jobs", str(options.workers)),
            "workers of a dask cluster": lambda place: _on_cluster(place, options.workers),
        }
        for label, grade in ways.items():
            totals = _cpu(grade, whole, options.repeats), _cpu(grade, half, options.repeats)
            more = 1000 * (totals[0] - totals[1]) / (count - count // 2)
            print(f"| {label} | {totals[0]:.1f} | {more:.1f} |", flush=True)


def _cpu(grade: Callable[[Path], None], place: Path, repeats: int) -> float:
    """Returns the median CPU seconds for grading a class."""
    took = []
    for _ in range(repeats):
        (place / "results.jsonl").unlink(missing_ok=True)
        before = cpu_of_ended()
        grade(place)
        took.append(cpu_of_ended() - before)
    return statistics.median(took)


def _grade(place: Path, *options: str) -> None:
    command = [*_PYTHON, "autograder", "grade", str(place / "submitted"), "--no-gradebook"]
    done = subprocess.run(
        [*command, "--course", str(ROOT), *options], cwd=place, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"grade failed:\n{done.stdout}\n{done.stderr}")


def _on_cluster(place: Path, workers: int) -> None:
    file = place / "scheduler.json"
    file.unlink(missing_ok=True)
    quiet = ["--no-dashboard", "--scheduler-file", str(file)]
    scheduler = [*_PYTHON, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = [*_PYTHON, "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(_process([*scheduler, *quiet]))
        until = time.monotonic() + _START_SECONDS
        while not file.exists():
            if time.monotonic() > until:
                raise SystemExit("the scheduler does not start: is `distributed` installed?")
            time.sleep(0.05)
        for number in range(workers):
            local = ["--local-directory", str(place / f"worker-{number}")]
            stack.enter_context(_process([*worker, *quiet, *local]))
        _grade(place, "--scheduler", json.loads(file.read_text())["address"])


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[None]:
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
