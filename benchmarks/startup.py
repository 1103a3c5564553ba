"""Measures the CPU time that commands take to start, compared with `import torch`.

    .venv/bin/python benchmarks/startup.py [--repeats 7]

The commands run in turn, so that other load on the machine affects all of them equally. The first
round fills caches and is not counted. Prints the median CPU time of each command in seconds, and as
a multiple of the time for `import torch`.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import adopt_orphans, cpu_of_ended

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT, EXERCISE = "simplified_attention", "scores"
#: an exercise with a layer, which is tested on a second device and needs more of torch
LAYERS, LAYER = "causal_attention", "causal_attention"
_TORCH = "import torch"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    adopt_orphans()
    compileall.compile_dir(ROOT / "autograder", quiet=1)  # as in an installed package
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as place:
        commands = _commands(Path(place))
        took: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(options.repeats + 1):
            for name, command in commands.items():
                seconds = _cpu(command, Path(place))
                if number:
                    took[name].append(seconds)
    medians = {name: statistics.median(seconds) for name, seconds in took.items()}
    print(f"medians of {options.repeats}, {os.cpu_count()} cores\n")
    print(f"{'':32}{'CPU s':>8}{'of import torch':>18}")
    for name, seconds in medians.items():
        print(f"{name:32}{seconds:8.2f}{seconds / medians[_TORCH]:18.2f}")


def _commands(place: Path) -> dict[str, list[str]]:
    """Writes a student's folder and two one-student classes; returns the commands to measure."""
    folder = place / "student" / ASSIGNMENT
    shutil.copytree(ROOT / "assignments" / ASSIGNMENT, folder)
    shutil.copy(_solution(ASSIGNMENT, EXERCISE), folder)
    for name, assignment, exercise in (
        ("functions", ASSIGNMENT, EXERCISE),
        ("layers", LAYERS, LAYER),
    ):
        (place / name / "ada" / assignment).mkdir(parents=True)
        shutil.copy(_solution(assignment, exercise), place / name / "ada" / assignment)
    own = [sys.executable, "-m", "autograder"]
    check = [*own, "check", EXERCISE, "--folder", str(folder)]
    grade = [*own, "grade", "--no-gradebook", "--course", str(ROOT)]
    return {
        "python": [sys.executable, "-c", "pass"],
        _TORCH: [sys.executable, "-c", _TORCH],
        "--help": [*own, "--help"],
        "check of one exercise": check,
        "grade of one submission": [*grade, str(place / "functions")],
        "the same, with layers": [*grade, str(place / "layers")],
    }


def _solution(assignment: str, exercise: str) -> Path:
    return ROOT / "solutions" / assignment / f"{exercise}.py"


def _cpu(command: list[str], place: Path) -> float:
    (place / "results.jsonl").unlink(missing_ok=True)
    before = cpu_of_ended()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return cpu_of_ended() - before


if __name__ == "__main__":
    main()
