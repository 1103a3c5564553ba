"""Measures how costs grow with the size of a class, up to 20,000 submissions.

    .venv/bin/python benchmarks/growth.py [--submissions 200 2000] [--jobs 2] [--synthetic]

The example class's `simplified_attention` is copied for the requested number of students, with a
unique line in each copy, so that no two files are equal. Then each command runs once. For each
command, the benchmark prints the wall and CPU seconds of all processes, and the CPU milliseconds
per submission; the peak memory of the largest process, and of all processes together (proportional
set size: shared pages count once); how much memory a process gained in the second half of its life;
and the size of the written files.

With `--synthetic`, only the first, smallest class is graded. The larger classes contain copies of
its submissions and results under other names, so that measuring the steps after grading takes only
minutes for a class of any size.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.sandbox.clock import descendants
from benchmarks.processes import adopt_orphans, cpu_of_ended, heap, memory

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "simplified_attention"
#: made-up students whose code takes so long as to exceed its time limit, which would hide growth
HANGING = ("ivo",)
_EVERY_SECONDS = 0.1
#: a process with more samples than this is not a worker, which would end earlier
_SAMPLES = 30
COMMANDS = ("grade", "resume", "record", "feedback", "report", "export csv", "similar", "changes")


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """CPU and wall-clock seconds, and peak memory in bytes.

    `grown` is the largest number of bytes that one process gained in the second half of its life.
    """

    wall: float
    cpu: float
    largest: float
    together: float
    grown: float


def main() -> None:
    """Runs all commands for each class, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--exercise", help="submit only this exercise: memory grows in the same way"
    )
    parser.add_argument("--synthetic", action="store_true", help="grade only the first class")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=COMMANDS)
    options = parser.parse_args()
    adopt_orphans()
    what = f"{ASSIGNMENT}, {options.exercise} alone" if options.exercise else ASSIGNMENT
    print(f"{what}, {options.jobs} jobs, {os.cpu_count()} cores\n")
    print(f"{'':12}{'submissions':>12}{'wall s':>9}{'CPU s':>9}{'CPU ms each':>13}", end="")
    print(f"{'largest MiB':>13}{'all MiB':>9}{'grown MiB':>11}{'wrote MiB':>11}")
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as place:
        graded = Path(place) / str(options.submissions[0])
        for count in options.submissions:
            folder = Path(place) / str(count)
            is_copy = options.synthetic and folder != graded
            if is_copy:
                _copy_class(graded, folder, count)
            else:
                _make_class(folder / "submitted", count, options.exercise or "*")
            commands = [c for c in options.commands if not (is_copy and c == "grade")]
            _measure(folder, count, options.jobs, commands)
            if folder != graded:
                shutil.rmtree(folder)


def _measure(folder: Path, count: int, jobs: int, wanted: Collection[str]) -> None:
    submitted = str(folder / "submitted")
    grade = ["grade", submitted, "--jobs", str(jobs), "--no-gradebook", "--course", str(ROOT)]
    commands = {
        "grade": grade,
        "resume": [*grade, "--resume"],
        "record": ["record", str(folder), "--course", str(ROOT)],
        "feedback": ["feedback", str(folder), "--course", str(ROOT)],
        "report": ["report", str(folder)],
        "export csv": ["export", "csv", str(folder)],
        "similar": ["similar", str(folder), "--course", str(ROOT)],
        "changes": ["changes", str(folder)],
    }
    for name in wanted:
        arguments = commands[name]
        before = _size(folder)
        took = _timed([sys.executable, "-m", "autograder", *arguments])
        sizes = (took.largest, took.together, took.grown, _size(folder) - before)
        each = 1000 * took.cpu / count
        print(f"{name:12}{count:12,}{took.wall:9.1f}{took.cpu:9.1f}{each:13.1f}", end="")
        print("{:13.0f}{:9.0f}{:11.1f}{:11.1f}".format(*(n / 2**20 for n in sizes)), flush=True)


def _make_class(submitted: Path, count: int, exercise: str) -> None:
    """Copies submissions in the example class, and adds a unique line to each module."""
    examples = sorted(
        path
        for path in (ROOT / "examples" / "submitted").glob(f"*/{ASSIGNMENT}")
        if path.parent.name not in HANGING
    )
    for number in range(count):
        example = examples[number % len(examples)]
        place = submitted / f"{example.parent.name}-{number:05d}" / ASSIGNMENT
        place.mkdir(parents=True)
        for file in example.glob(f"{exercise}.*"):
            shutil.copy(file, place)
        for file in place.glob("*.py"):
            with open(file, "a", encoding="utf-8") as text:
                text.write(f"\n# {number}\n")


def _copy_class(graded: Path, folder: Path, count: int) -> None:
    """Makes a class from copies of a graded class's submissions and results."""
    lines = [json.loads(line) for line in (graded / "results.jsonl").read_text().splitlines()]
    (folder / "submitted").mkdir(parents=True)
    shutil.copy(graded / "secret.key", folder)
    with open(folder / "results.jsonl", "w", encoding="utf-8") as results:
        for number in range(count):
            line = lines[number % len(lines)]
            own = f"{line['student']}-{number:05d}"
            source = graded / "submitted" / line["student"]
            shutil.copytree(source, folder / "submitted" / own)
            results.write(json.dumps({**line, "student": own}) + "\n")


def _timed(command: list[str]) -> ResourceUse:
    before, start = cpu_of_ended(), time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        largest = together = 0.0
        heaps: dict[int, list[float]] = {}
        while not _has_ended(process):
            pids = (process.pid, *descendants(process.pid))
            sizes = [memory(pid) for pid in pids]
            largest, together = max(largest, *sizes), max(together, sum(sizes))
            for pid in pids:
                heaps.setdefault(pid, []).append(heap(pid))
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{output.read()}")
    wall = time.perf_counter() - start
    grown = max((_grown(seen) for seen in heaps.values() if len(seen) > _SAMPLES), default=0.0)
    return ResourceUse(wall, cpu_of_ended() - before, largest, together, grown)


def _grown(heaps: Sequence[float]) -> float:
    half = [size for size in heaps if size][len(heaps) // 2 :]  # 0: the process has ended
    return max(half) - half[0] if half else 0.0


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_EVERY_SECONDS)
    return process.returncode is not None


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
