"""Times grading: a class in which no two answers are equal, next to other ways to grade it.

    .venv/bin/python benchmarks/grading.py [--students 100] [--repeats 5] [--quick]

Prints CPU seconds of the whole process tree for one submission more (start-up apart) and the peak
memory of all processes (proportional set size: shared pages count once), as medians; without
`--quick` writes them to docs/bench.md. Next to the grader: nbgrader as it is, with a kernel for
each notebook; pytest as a process for each submission, without isolation; and the limit, all calls
of the suite in one process, encoded and decoded as they cross to a worker.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import torch

from autograder.course import load_course
from autograder.grading.judging.plan import rehearse
from autograder.grading.judging.suites import collect_suites
from autograder.grading.naming.probe import replies_of
from autograder.sandbox.clock import descendants
from autograder.sandbox.replies import value_of
from autograder.suite.local import load_module
from autograder.worker import compiler, wire
from benchmarks.different import write_class
from benchmarks.processes import adopt_orphans, cpu_of_ended, memory

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "simplified_attention"
#: of the slow ways that many are enough
_FEW = 2
_NBGRADER = (sys.executable, "-m", "nbgrader")


@dataclass(frozen=True, slots=True)
class Row:
    """One way to grade: CPU seconds at start, of each submission, and bytes at the peak."""

    label: str
    start: float
    each: float
    peak: float


def main() -> None:
    """Runs the benchmark, prints its table, and writes it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="once, without nbgrader")
    options = parser.parse_args()
    repeats = 1 if options.quick else options.repeats
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as name:
        folder = Path(name)
        course = load_course(ROOT)
        assignment = course.assignment(ASSIGNMENT)
        for size, place in ((1, "one"), (options.students, "many")):
            write_class(course, assignment, folder / place / "submitted", size)
        ways: list[Callable[[], Row]] = [
            partial(_ours, folder, options.students, jobs) for jobs in (1, 2)
        ]
        ways += [partial(_pytest, folder), partial(_limit, folder)]
        if not options.quick:
            _run([sys.executable, "-m", "autograder", "release", ASSIGNMENT], ROOT)
            ways += [partial(_nbgrader, folder, at_once) for at_once in (1, 2)]
        _ours(folder, options.students, 2)  # known mistakes are looked up once for a suite
        rows = [_median([way() for _ in range(repeats)]) for way in ways]
    text = _table(rows, options.students, repeats)
    print(text)
    if not options.quick:
        (ROOT / "docs" / "bench.md").write_text(text, encoding="utf-8")


def _ours(folder: Path, students: int, jobs: int) -> Row:
    def grade(place: Path) -> None:
        (place / "results.jsonl").unlink(missing_ok=True)
        submitted = str(place / "submitted")
        options = ("--no-gradebook", "--jobs", str(jobs), "--course", str(ROOT))
        _run([sys.executable, "-m", "autograder", "grade", submitted, *options], ROOT)

    one, _ = _measured(lambda: grade(folder / "one"))
    all_of_them, peak = _measured(lambda: grade(folder / "many"))
    each = (all_of_them - one) / (students - 1)
    return Row(f"autograder, {jobs} job{'s' * (jobs > 1)}", one - each, each, peak)


def _pytest(folder: Path) -> Row:
    """A process of pytest for each submission, with the same tests."""
    students = sorted((folder / "many" / "submitted").iterdir())[:_FEW]
    suites = str(ROOT / "tests" / "hidden" / ASSIGNMENT)

    def run() -> None:
        for student in students:
            command = [sys.executable, "-m", "pytest", "--quiet", suites]
            _run([*command, "--implementation", str(student)], ROOT, 1)

    seconds, peak = _measured(run)
    return Row("pytest, a process each, no isolation", 0.0, seconds / _FEW, peak)


def _limit(folder: Path) -> Row:
    """All calls of the suite, encoded and decoded, in this process: CPU seconds of one thread."""
    torch.set_num_threads(1)
    compiler.never_compile()  # as in a worker
    exercises = load_course(ROOT).assignment(ASSIGNMENT).exercises
    runner = collect_suites(ROOT, [exercise.hidden_suite for exercise in exercises])
    plans = [rehearse(runner, e.hidden_suite, 1).plan() for e in exercises]
    students = sorted((folder / "many" / "submitted").iterdir())
    start = time.process_time()
    for student in students:
        for exercise, plan in zip(exercises, plans, strict=True):
            path = student / ASSIGNMENT / f"{exercise.name}.py"
            names = vars(load_module(path, f"_{student.name}_{exercise.name}"))
            for header, data in replies_of(names, plan.batch):
                try:
                    value_of(wire.decode(header, bytearray(data)))
                except Exception:
                    continue  # what an answer raised
    each = (time.process_time() - start) / len(students)
    return Row("the calls alone, in one process", 0.0, each, 0.0)


def _nbgrader(folder: Path, at_once: int) -> Row:
    """nbgrader's own autograde, on the released notebooks submitted as they are."""
    places = [_nbgrader_course(folder / f"nbgrader{number}") for number in range(at_once)]

    def autograde(place: Path) -> None:
        _run([*_NBGRADER, "autograde", ASSIGNMENT], place)

    with ThreadPoolExecutor(at_once) as pool:
        seconds, peak = _measured(lambda: [*pool.map(autograde, places)])
    how = "as it is" if at_once == 1 else f"{at_once} at once"
    label = f"nbgrader {version('nbgrader')} autograde, {how}"
    return Row(label, 0.0, seconds / _FEW / at_once, peak)


def _nbgrader_course(place: Path) -> Path:
    """A course of nbgrader's with some submissions of the assignment."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    shutil.copytree(ROOT / "build" / "source" / ASSIGNMENT, place / "source" / ASSIGNMENT)
    (place / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.root = '.'\n")
    _run([*_NBGRADER, "generate_assignment", ASSIGNMENT], place)
    for number in range(_FEW):
        target = place / "submitted" / f"s{number}" / ASSIGNMENT
        shutil.copytree(place / "release" / ASSIGNMENT, target)
        shutil.copytree(ROOT / "assignments" / ASSIGNMENT / "checks", target / "checks")
    return place


def _table(rows: list[Row], students: int, repeats: int) -> str:
    ours = rows[0].each
    lines = [
        "# What grading costs, next to other ways",
        "",
        f"Written by `make bench`. CPU of the whole process tree: {students} submissions to "
        f"`{ASSIGNMENT}`, three exercises each, of which no two are equal and one exercise in "
        f"three has a wrong answer; medians of {repeats}.",
        "",
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {os.cpu_count()} cores, "
        f"Linux {platform.release()}.",
        "",
        "| | start, s | one submission more, ms | times the first row | peak, MiB |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.label} | {row.start:.1f} | {row.each * 1000:.0f} | {row.each / ours:.1f} | "
        + (f"{row.peak / 2**20:.0f} |" if row.peak else "- |")
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _median(rows: list[Row]) -> Row:
    middle = [statistics.median(getattr(r, n) for r in rows) for n in ("start", "each", "peak")]
    return Row(rows[0].label, *middle)


def _run(command: list[str], folder: Path, allowed: int = 0) -> None:
    # nbgrader starts `alembic` by its name
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    if done.returncode not in (0, allowed):
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")


def _measured(work: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds of the descendants that a work starts, and their largest memory together."""
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.5):
            peak = max(peak, sum(map(memory, descendants(os.getpid()))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = cpu_of_ended()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return cpu_of_ended() - before, peak


if __name__ == "__main__":
    main()
