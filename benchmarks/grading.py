"""Times grading: the example class repeated to many students, and nbgrader beside it.

    .venv/bin/python benchmarks/grading.py [--students 200] [--jobs 2] [--no-nbgrader]

Prints wall seconds per submission, start-up included, and the peak memory of all processes of the
run (proportional set size: shared pages count once). nbgrader grades the released notebooks of the
same assignment in its own way, with a kernel per notebook.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "simplified_attention"
#: made-up students whose code runs into the time limit
HANGING = ("ivo",)
NBGRADER_STUDENTS = 3


def main() -> None:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-nbgrader", action="store_true")
    options = parser.parse_args()
    rows: list[tuple[str, int, float, float]] = []
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as folder:
        for label, left_out, extra in (
            ("whole class", (), ["--no-gradebook"]),
            ("whole class, with gradebook", (), ["--gradebook"]),
            ("class without the endless loops", HANGING, ["--no-gradebook"]),
        ):
            place = Path(folder) / label.replace(" ", "-").replace(",", "")
            _repeat(place / "submitted", options.students, left_out)
            command = [
                *(sys.executable, "-m", "autograder", "grade", str(place / "submitted")),
                *("--jobs", str(options.jobs), "--course", str(ROOT), *extra),
            ]
            seconds, peak = _timed(partial(_run, command, ROOT))
            rows.append((label, options.students, seconds, peak))
        if not options.no_nbgrader:
            rows.append(_nbgrader(Path(folder) / "nbgrader"))
    print(f"{ASSIGNMENT}, {options.jobs} jobs (nbgrader: one after the other)\n")
    print(f"{'':34}{'submissions':>12}{'wall s':>9}{'s each':>9}{'peak MiB':>10}")
    for label, count, seconds, peak in rows:
        print(f"{label:34}{count:12d}{seconds:9.1f}{seconds / count:9.3f}{peak / 2**20:10.0f}")


def _repeat(submitted: Path, count: int, left_out: tuple[str, ...]) -> None:
    students = sorted(
        path.parent
        for path in (ROOT / "examples" / "submitted").glob(f"*/{ASSIGNMENT}")
        if path.parent.name not in left_out
    )
    for number in range(count):
        source = students[number % len(students)]
        target = submitted / f"{source.name}-{number:04d}" / ASSIGNMENT
        shutil.copytree(source / ASSIGNMENT, target)


def _nbgrader(place: Path) -> tuple[str, int, float, float]:
    """nbgrader's own autograde, on the released notebooks submitted as they are."""
    subprocess.run(
        [sys.executable, "-m", "autograder", "release", ASSIGNMENT], cwd=ROOT, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    place.mkdir()
    shutil.copytree(ROOT / "build" / "source" / ASSIGNMENT, place / "source" / ASSIGNMENT)
    (place / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.root = '.'\n")
    nbgrader = [sys.executable, "-m", "nbgrader"]
    _run([*nbgrader, "generate_assignment", ASSIGNMENT], place)
    for number in range(NBGRADER_STUDENTS):
        shutil.copytree(
            place / "release" / ASSIGNMENT, place / "submitted" / f"s{number}" / ASSIGNMENT
        )
        shutil.copytree(
            ROOT / "assignments" / ASSIGNMENT / "checks",
            place / "submitted" / f"s{number}" / ASSIGNMENT / "checks",
        )
    seconds, peak = _timed(lambda: _run([*nbgrader, "autograde", ASSIGNMENT], place))
    return "nbgrader autograde, stubs", NBGRADER_STUDENTS, seconds, peak


def _run(command: list[str], folder: Path) -> None:
    # nbgrader starts `alembic` by its name
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")


def _timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds of the work, and the largest memory of this process's descendants meanwhile."""
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.25):
            peak = max(peak, sum(map(_memory, _descendants())))

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    try:
        work()
    finally:
        seconds = time.perf_counter() - start
        done.set()
        watcher.join()
    return seconds, peak


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found: list[int] = []
    own = {os.getpid()}
    while own:
        own = {pid for pid, parent in parents.items() if parent in own}
        found += own
    return found


def _memory(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    main()
