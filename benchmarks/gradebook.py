"""Times recording thousands of results in a gradebook, in SQLite and in PostgreSQL.

    .venv/bin/python benchmarks/gradebook.py [--submissions 5000]

The example class is graded once, and its results are repeated. Recording a submission writes its
autograded notebooks and its database rows; the printed times are for both together, including
start-up, in milliseconds per submission. The CPU time is that of the recording processes, not
counting the database server.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "simplified_attention"
AUTOGRADER = [sys.executable, "-m", "autograder"]


@dataclass(frozen=True, slots=True)
class RecordingTime:
    """The time that recording everything takes, in seconds."""

    wall: float
    cpu: float


def main() -> None:
    """Makes the class, records it in each database, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=5000)
    count = parser.parse_args().submissions
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as folder:
        place = Path(folder)
        _make_class(place, count)
        print(f"{count} submissions of {ASSIGNMENT}, ms each\n")
        print(f"{'database':12}{'':34}{'wall':>8}{'CPU':>8}")
        sqlite = [f"sqlite:///{place / name}" for name in ("one.db", "two.db")]
        _report("SQLite", place, sqlite, count)
        with _postgresql() as addresses:
            if addresses:
                _report("PostgreSQL", place, addresses, count)


def _report(database: str, place: Path, addresses: list[str], count: int) -> None:
    one, two = addresses
    for what, address, writers in (
        ("a new gradebook", one, 1),
        ("again, nothing has changed", one, 1),
        ("a new gradebook, two writers at once", two, 2),
    ):
        if what.startswith("a new"):
            shutil.rmtree(place / "autograded", ignore_errors=True)
        took = _recorded(place, address, writers)
        each = (1000 * seconds / count for seconds in (took.wall, took.cpu))
        print(f"{database:12}{what:34}" + "".join(f"{value:8.2f}" for value in each), flush=True)


def _make_class(place: Path, count: int) -> None:
    """Grades the example class, and copies its submissions and results to `count` students."""
    examples = sorted((ROOT / "examples" / "submitted").glob(f"*/{ASSIGNMENT}"))
    for example in examples:
        shutil.copytree(example, place / "graded" / "submitted" / example.parent.name / ASSIGNMENT)
    _run(["grade", str(place / "graded" / "submitted"), "--jobs", "2", "--no-gradebook"])
    lines = (place / "graded" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    with (place / "results.jsonl").open("w", encoding="utf-8") as results:
        for number in range(count):
            result = json.loads(lines[number % len(lines)])
            source = place / "graded" / "submitted" / result["student"]
            result["student"] += f"-{number:05d}"
            shutil.copytree(source, place / "submitted" / result["student"])
            results.write(json.dumps(result) + "\n")


def _recorded(place: Path, address: str, writers: int) -> RecordingTime:
    command = [*AUTOGRADER, "record", str(place), "--db", address, "--course", str(ROOT)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(writers)
    ]
    for process in processes:
        printed = process.communicate()[0]
        if process.returncode:
            raise SystemExit(f"autograder record failed:\n{printed}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return RecordingTime(time.perf_counter() - start, cpu)


@contextmanager
def _postgresql() -> Iterator[list[str]]:
    """Yields the addresses of two new databases, or none if PostgreSQL is not installed."""
    command = [sys.executable, str(ROOT / "tools" / "postgresql.py"), "one", "two"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with server:
        assert server.stdout is not None
        line = server.stdout.readline()
        yield json.loads(line) if line else []


def _run(arguments: list[str]) -> None:
    done = subprocess.run(
        [*AUTOGRADER, *arguments, "--course", str(ROOT)], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"autograder {arguments[0]} failed:\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    main()
